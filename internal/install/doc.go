// Package install puts Bowline into a cluster and takes it out again.
//
// It promises that installing twice is installing once, that what the running controller fills in (certificate
// authorities, the rules of the workloads webhook) survives a second installation, and that taking Bowline out ends in
// bounded time. It refuses to remove the API while bindings exist, unless forced, because a workload whose binding
// vanishes with its kind stays bound for ever; and it touches nothing that does not bear Bowline's label. What is
// installed is in package config; this package decides the order, and what is left out.
package install
