// Package bindings reads the service bindings of a program: what the Service Binding Specification for Kubernetes lays below
// $SERVICE_BINDING_ROOT, one directory a binding, one file an entry.
//
//	set, err := bindings.FromEnv()
//	db, err := set.One("postgresql")
//	url, err := db.PostgresURL()
//	pool, err := pgxpool.New(ctx, url.Text())
//
// It reads the volumes of a kubelet, whose files are replaced all at once by moving one link: a binding is read before the
// move or after it, never half and half. Directories of plain files, sub-path mounts, and one volume for all bindings are read,
// too. What is no binding is passed over: directories without the entry type, hidden files, plain files beside the bindings.
//
// It refuses to guess. Where several bindings fit, or none, or a value is not what its entry is for, there is an error of a
// type of its own, which says what to do and which never holds a value. Values do not print either: not with any verb of fmt,
// not as JSON, not in a log. They are shown where a program asks for them, by [Value.Bytes] and [Value.Text].
//
// It depends on the standard library alone, writes nothing, and talks to nobody: not to the services, nor to Kubernetes.
package bindings
