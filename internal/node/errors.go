package node

import "fmt"

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
