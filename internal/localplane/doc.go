// Package localplane keeps a Kubernetes control plane in one data directory: etcd, kube-apiserver and, when asked,
// kube-controller-manager, run as child processes of whoever starts it and found again by whoever comes later.
//
// It promises that Start ends in a working control plane whatever happened to the last one: killed components are
// started again, half-written keys and certificates are made anew, ports taken by others are replaced, and nothing
// written to the API is lost. Nobody but the owner of the data directory can talk to etcd or sign in to the API
// server, and both listen on the loopback address alone.
//
// It refuses to end a process that it cannot prove to have started: a process counts only while its start time is the
// recorded one. It runs no node, and it installs nothing into the control plane it brings up.
package localplane
