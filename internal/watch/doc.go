// Package watch keeps, in memory, what bindings have to do with: the bindings themselves, the mappings, and, of each kind
// that a binding names, the objects, trimmed to what a projection needs. It answers questions from memory and reports
// which binding or workload a change concerns. It decides nothing and writes nothing, and it starts no informer for a kind
// that no binding names or that Bowline may not watch. Of Secrets it asks the API server for metadata only,
// and not even that of those that carry credentials of the platform: for the rest of Bowline these do not exist.
package watch
