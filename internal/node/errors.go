package node

import (
	"fmt"
	"strings"
)

// UnsupportedError says that a container wants something that this package does not give.
type UnsupportedError struct {
	// Where is the path of the field in the pod.
	Where string
	// What is there.
	What string
}

// Error names the field and what stands there.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: %s is not supported on this machine: run the workload in a cluster, or remove the field",
		e.Where, e.What)
}

// MissingError says that something the container refers to is not there.
type MissingError struct {
	// Where is the path of the field in the pod.
	Where string
	// What is not there.
	What string
}

// Error names the field and what it refers to.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: %s does not exist: create it, or correct the reference", e.Where, e.What)
}

// InvalidError says that a field holds what Kubernetes would refuse, too. A workload that comes from an API server has
// none of these; one that comes from a file may.
type InvalidError struct {
	// Where is the path of the field in the pod.
	Where string
	// What is there. It is never a secret value.
	What string
	// Rule is what holds instead.
	Rule string
}

// Error names the field, what stands there and the rule.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Where, e.What, e.Rule)
}

// AmbiguousError says that a workload has several containers and none was named.
type AmbiguousError struct {
	// Containers are the names to choose from.
	Containers []string
}

// Error lists the containers.
func (e *AmbiguousError) Error() string {
	return "the workload has several containers: name one of " + strings.Join(e.Containers, ", ")
}

// CycleError says that variables refer to each other in a circle. A cluster would leave one of the references as text.
type CycleError struct {
	// Where is the path of the first variable in the pod.
	Where string
	// Names are the variables, each referring to the next and the last to the first.
	Names []string
}

// Error shows the circle.
func (e *CycleError) Error() string {
	circle := append(append([]string{}, e.Names...), e.Names[0])
	return fmt.Sprintf("%s: variable $(%s) refers to itself: refer to variables before it only, or write $$(%s) for the text",
		e.Where, strings.Join(circle, ") -> $("), e.Names[0])
}

// TooLargeError says that an object holds more than the API server would take.
type TooLargeError struct {
	// Kind is Secret or ConfigMap.
	Kind string
	// Name of the object.
	Name string
	// Size is the sum of its values, in bytes.
	Size int64
	// Limit is how much it may hold.
	Limit int64
}

// Error names the object and both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s %q holds %d bytes and may hold %d: split it, or keep large files elsewhere",
		e.Kind, e.Name, e.Size, e.Limit)
}

// PathError says that a file cannot lie where a volume wants it.
type PathError struct {
	// Path is relative to the volume.
	Path string
	// Rule is what holds for such paths.
	Rule string
}

// Error names the path and the rule.
func (e *PathError) Error() string {
	return fmt.Sprintf("file %q: %s", e.Path, e.Rule)
}
