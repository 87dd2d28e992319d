// Package convert rewrites the service bindings of the early draft's API as those of the specification.
//
// It promises that what it rewrites projects the same entries and variables into the same containers, and it proves so before it
// hands anything out. What it cannot say faithfully it keeps as it is, with a remark that names the field and what to do. It reads
// the objects it is given and nothing else, changes none of them, and quotes no value of a Secret.
package convert
