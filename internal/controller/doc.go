// Package controller keeps workloads and bindings in step. Two reconcilers do it: one, keyed by workload, projects all of
// a workload's bindings in one patch; the other, keyed by binding, only looks at what is there and writes conditions, and
// lets a deleted binding go once its projections are gone.
//
// Each loads from memory (package watch), decides by a pure function, and applies; nothing here reads from the API server
// on the way, and nothing is written that is already so.
package controller
