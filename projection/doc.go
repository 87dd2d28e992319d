// Package projection decides how a workload looks once services are bound to it, and how it looked before.
//
// It promises that removing what was projected restores the workload exactly, that projecting twice is projecting
// once, that the order of bindings does not matter, and that what people wrote themselves stays as and where it is. It
// refuses to read or write anything: it has no client, no clock and no log, and it never sees a secret value, only the
// names of Secrets.
//
// A projection of a binding consists of a volume, a mount and environment variables in each bound container,
// annotations of the pod template, and two annotations of the workload: the mapping it was made with, and a record of
// what could not be told from the workload alone when the projection is removed.
package projection

import "fmt"

// Workload is any resource that services can be bound to, as decoded from JSON: map[string]any, []any, string, int64,
// float64, bool and nil.
type Workload = map[string]any

// Binding is what projection needs to know of one ServiceBinding.
type Binding struct {
	// UID of the ServiceBinding; it names everything that is projected.
	UID string
	// Name is the directory below $SERVICE_BINDING_ROOT.
	Name string
	// Secret is the name of the Secret that holds the entries.
	Secret string
	// Type replaces the Secret's entry "type", unless it is empty.
	Type string
	// Provider replaces the Secret's entry "provider", unless it is empty.
	Provider string
	// Containers limits the binding to containers of these names, and to those at ContainerIndexes; both empty means all. Names
	// tell nothing of containers that the mapping has no names for: those get the binding where any name is given.
	Containers []string
	// ContainerIndexes are positions of containers, from 0. Counted is what the mapping finds, in its order, without what
	// lies in a list called initContainers: in a pod template the positions are those in .containers. A position where
	// nothing is does no harm.
	ContainerIndexes []int
	// Env lists the entries that become environment variables as well.
	Env []Env
}

// Env projects one entry as an environment variable.
type Env struct {
	// Name of the environment variable.
	Name string
	// Key of the entry.
	Key string
}

// The reasons for which a binding cannot be projected into a workload.
const (
	// NameCollision: a directory or an environment variable is already someone else's.
	NameCollision = "NameCollision"
	// BindingRootNotLiteral: a container's SERVICE_BINDING_ROOT cannot be known beforehand, or is no absolute path.
	BindingRootNotLiteral = "BindingRootNotLiteral"
	// MappingMismatch: the mapping does not fit the workload.
	MappingMismatch = "MappingMismatch"
	// InvalidBinding: the binding itself lacks what a projection needs.
	InvalidBinding = "InvalidBinding"
)

// Refusal says why one binding cannot be projected into a workload. It is an error.
//
//nolint:errname // it is an answer first, and an error where a caller wants all or nothing
type Refusal struct {
	// UID of the binding.
	UID string
	// Reason is one of the constants of this package.
	Reason string
	// Message says what is wrong, where, and what to do.
	Message string
}

// Error is the message with the reason before it.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: %s", r.Reason, r.Message)
}

func refuse(uid, reason, format string, args ...any) *Refusal {
	return &Refusal{UID: uid, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
