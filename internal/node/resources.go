package node

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// purpose is what a resource field is for. The kubelet takes the limits of the whole pod into account for variables, but
// not for files.
type purpose int

const (
	forVariable purpose = iota
	forFile
)

// resourceField resolves what a container may use: a limit that it has not is that of the machine, a request that it has
// not is its limit, and without one 0. The number is how many times the divisor fits, rounded up.
func (r resolver) resourceField(ref *corev1.ResourceFieldSelector, use purpose, where string) (string, error) {
	c := r.container
	if ref.ContainerName != "" || use == forFile {
		var err error
		if c, err = r.pod.container(ref.ContainerName); err != nil {
			return "", &MissingError{Where: where + ".containerName", What: fmt.Sprintf("container %q", ref.ContainerName)}
		}
	}
	list, name, _ := strings.Cut(ref.Resource, ".")
	if (list != "limits" && list != "requests") || !known(corev1.ResourceName(name)) {
		return "", &UnsupportedError{Where: where, What: fmt.Sprintf("resource %q", ref.Resource)}
	}
	quantity := r.request(c, corev1.ResourceName(name))
	if list == "limits" {
		quantity = r.limit(c, corev1.ResourceName(name), use)
	}
	return divide(corev1.ResourceName(name), quantity, ref.Divisor), nil
}

// known says which resources the downward API has.
func known(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	default:
		return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	}
}

func (r resolver) request(c *corev1.Container, name corev1.ResourceName) resource.Quantity {
	if quantity, ok := c.Resources.Requests[name]; ok {
		return quantity
	}
	return c.Resources.Limits[name]
}

func (r resolver) limit(c *corev1.Container, name corev1.ResourceName, use purpose) resource.Quantity {
	quantity := c.Resources.Limits[name]
	if !quantity.IsZero() {
		return quantity
	}
	if use == forVariable {
		quantity = r.podLimit(name)
	}
	if !quantity.IsZero() {
		return quantity
	}
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(r.machine.MilliCPU, resource.DecimalSI)
	case corev1.ResourceMemory:
		return *resource.NewQuantity(r.machine.MemoryBytes, resource.BinarySI)
	case corev1.ResourceEphemeralStorage:
		return *resource.NewQuantity(r.machine.EphemeralBytes, resource.BinarySI)
	default: // huge pages are never shared out, so who asks for none has none
		return resource.Quantity{}
	}
}

// podLimit is what all containers of the pod may use together, for resources that can be limited so.
func (r resolver) podLimit(name corev1.ResourceName) resource.Quantity {
	whole := r.pod.template.Spec.Resources
	if whole == nil || (name != corev1.ResourceCPU && name != corev1.ResourceMemory) {
		return resource.Quantity{}
	}
	return whole.Limits[name]
}

// divide counts CPUs in thousandths and all else in whole units, with the kubelet's arithmetic.
func divide(name corev1.ResourceName, quantity, divisor resource.Quantity) string {
	if divisor.IsZero() {
		divisor = *resource.NewQuantity(1, resource.DecimalSI)
	}
	n, d := quantity.Value(), divisor.Value()
	if name == corev1.ResourceCPU {
		n, d = quantity.MilliValue(), divisor.MilliValue()
	}
	return strconv.FormatInt(int64(math.Ceil(float64(n)/float64(d))), 10)
}
