// Package bindingstest lays out service bindings as programs find them, for tests of whatever reads them: the volume that a
// kubelet fills, with its links and the one move that replaces all files at once; plain directories; sub-path mounts.
//
//	root := bindingstest.New(t)
//	root.Add("orders-db", bindingstest.Entries{"type": "postgresql", "host": "db", "password": "one"})
//	t.Setenv("SERVICE_BINDING_ROOT", root.Path())
//	…
//	root.Rotate("orders-db", bindingstest.Entries{"type": "postgresql", "host": "db", "password": "two"})
//
// [Fixtures] is the kit for authors of libraries: layouts that have tripped readers, each with what a reader is to find in it.
//
// It knows nothing of any reader, needs no cluster and no privileges, and depends on the standard library alone.
package bindingstest
