// Package extensions plays scenarios about the early draft's API and everything that makes Secrets: files that people read,
// on a real API server, with the controller and admission as they run in a cluster. It has tests only.
//
// A scenario is a txtar file below testdata. Its comment says what it shows; its sections are played in their order. The
// first word of a section's name says what is done with it, what follows only tells it from others:
//
//	given*.yaml    objects that are created, in a namespace that is called like the file
//	change*.yaml   merge patches of objects
//	delete*.yaml   objects that are deleted
//	refused*.yaml  an object that must be refused, created or changed; refused*.txt, which follows, is the answer
//	as*.txt        who does what comes next: a user name, or admin
//	want*.yaml     what must come to be: objects in part. Conditions go by their type, other lists by their order; the
//	               stringData and data of a Secret are all of it
//	absent*.yaml   objects that must come not to be
//	sees*.txt      what containers come to see of bindings, computed as the kubelet would
//
// In the end every binding is deleted: then the workloads must be as they were, and no Secret be left that was made. At no
// time may a value of a Secret stand in a workload, a status, an event or, if it is a password, the log.
package extensions
