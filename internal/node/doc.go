// Package node gives a process on this machine what the kubelet would give a container: the files of its volumes and
// its environment.
//
// Planning is pure: NewPlan reads a workload as the API server returns it and the data of the Secrets it names, and
// says which files and variables its container gets. Writing lays the files out below a directory of the caller's, in
// the kubelet's form (links to links to a directory of their own).
//
// This is the simple version: it knows Secrets, annotations and labels, which is all that a projected binding needs,
// and writes once. What it does not know it refuses with an UnsupportedError instead of leaving it out; it does not
// follow later changes, start processes or ask an API server for anything. A later change completes it.
package node
