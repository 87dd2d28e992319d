// Package run gives a program on this machine what a container of a workload has: files, variables and a security context,
// and keeps the files as the cluster has them while the program runs.
//
// It promises that a program starts with all of it or not at all, and that nothing stays behind. It refuses to show a value:
// what it says to people are names, paths and modes.
package run
