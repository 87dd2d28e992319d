// Package e2e tests the whole of it on a real node: pods, their files and variables, from the first rollout to unbinding,
// and what Kubernetes itself promises about Secrets on a node.
//
// It promises to leave the machine as it was. It refuses to run unasked, since it makes a node of the machine: run
// "make e2e" as root on Linux. Anywhere else it says loudly why it does nothing.
package e2e
