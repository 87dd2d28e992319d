// Package machine changes this machine as a node for pods needs it: a bridge, a control group, kernel settings.
//
// It promises that each change can be undone, by a process that did not make it too and from any half-made state, and
// that undoing what is undone already is no error. It refuses to touch what does not carry the name that its caller
// gave: other bridges, groups, mounts and processes stay as they are.
package machine
