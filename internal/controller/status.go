package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/projection"
)

// Most that one condition's message tells of; further workloads are counted.
const (
	maxWorkloadsTold = 5
	maxMessage       = 8 << 10
)

// observation is what was seen of a binding.
type observation struct {
	// binding is what the rest was seen of.
	binding *binding.Binding
	// projection is the binding as it is projected; its Secret is empty while that is not known.
	projection projection.Binding
	// service is why the service is not available; nil when it is.
	service *Problem
	// kind is why no workload can be looked at; nil when they can.
	kind *Problem
	// workloads are those that the binding names or selects, sorted by name.
	workloads []sighting
}

// sighting is what was seen of a binding on one workload.
type sighting struct {
	name      string
	projected bool
	problem   *Problem
}

// verdict is the value of one condition.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

func no(p *Problem) verdict              { return verdict{metav1.ConditionFalse, p.Reason, p.Message} }
func yes(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }

// pending says whether all that is missing is a projection that is under way.
func (o observation) pending() bool {
	return o.binding.Fault == nil && o.service == nil && o.projected().status == metav1.ConditionUnknown
}

// serviceAvailable decides the condition of that name.
func (o observation) serviceAvailable() verdict {
	switch {
	case o.binding.Fault != nil:
		return verdict{metav1.ConditionUnknown, ReasonInvalidSpec, "not looked for until the spec is valid"}
	case o.service != nil:
		return no(o.service)
	}
	text := fmt.Sprintf("Secret %q", o.projection.Secret)
	if ref := o.binding.Service; ref.GroupVersionKind != binding.SecretKind {
		text += fmt.Sprintf(" of %s %q", ref.Kind, ref.Name)
	}
	return yes(service.ReasonResolved, text)
}

// projected decides the condition WorkloadProjected.
func (o observation) projected() verdict {
	if o.binding.Fault != nil {
		return verdict{metav1.ConditionUnknown, ReasonInvalidSpec, "not looked for until the spec is valid"}
	}
	if o.kind != nil {
		return no(o.kind)
	}
	if len(o.workloads) == 0 {
		return o.noWorkload()
	}
	problems, missing := o.lacking()
	switch {
	case len(problems) > 0:
		return no(&Problem{Reason: problems[0].problem.Reason, Message: o.summary(problems)})
	case len(missing) > 0 && o.service != nil:
		return no(&Problem{Reason: ReasonWaiting, Message: o.names(missing) + " will be projected into once the service is available"})
	case len(missing) > 0:
		return verdict{metav1.ConditionUnknown, ReasonProjecting, o.names(missing) + " is being projected into"}
	}
	return yes(ReasonWorkloadProjected, "projected into "+o.names(o.workloads))
}

// lacking returns the workloads with a problem, and those that merely have no projection.
func (o observation) lacking() (problems, missing []sighting) {
	for _, w := range o.workloads {
		switch {
		case w.problem != nil:
			problems = append(problems, w)
		case !w.projected:
			missing = append(missing, w)
		}
	}
	return problems, missing
}

func (o observation) noWorkload() verdict {
	kind := o.binding.Workload.Kind
	if o.binding.Workload.Selector != nil {
		return yes(ReasonNoneSelected, fmt.Sprintf("no %s in this namespace matches %s.selector", kind, o.binding.Key.API.WorkloadField()))
	}
	return no(&Problem{Reason: ReasonWorkloadNotFound, Message: fmt.Sprintf(
		"%s %q does not exist in this namespace; create it, or correct %s", kind, o.binding.Workload.Name, o.binding.Key.API.WorkloadField())})
}

// ready sums up.
func (o observation) ready() verdict {
	available, projected := o.serviceAvailable(), o.projected()
	switch {
	case o.binding.Fault != nil:
		return no(&Problem{Reason: ReasonInvalidSpec, Message: o.binding.Fault.Error() + "; correct the spec"})
	case available.status != metav1.ConditionTrue:
		return available
	case projected.status != metav1.ConditionTrue:
		return projected
	case projected.reason == ReasonNoneSelected:
		return projected
	}
	return yes(ReasonProjected, projected.message)
}

// summary tells of the workloads that have a problem.
func (o observation) summary(problems []sighting) string {
	var text strings.Builder
	if len(o.workloads) > 1 {
		fmt.Fprintf(&text, "%d of %d workloads: ", len(problems), len(o.workloads))
	}
	for i, w := range problems {
		if i == maxWorkloadsTold {
			fmt.Fprintf(&text, "; and %d more", len(problems)-i)
			break
		}
		if i > 0 {
			text.WriteString("; ")
		}
		fmt.Fprintf(&text, "%s %q: %s", o.binding.Workload.Kind, w.name, w.problem.Message)
	}
	return text.String()
}

// names lists workloads.
func (o observation) names(workloads []sighting) string {
	var names []string
	for i, w := range workloads {
		if i == maxWorkloadsTold {
			names = append(names, fmt.Sprintf("and %d more", len(workloads)-i))
			break
		}
		names = append(names, fmt.Sprintf("%q", w.name))
	}
	return o.binding.Workload.Kind + " " + strings.Join(names, ", ")
}

// status returns the status that says what was seen, and whether it differs from the one the binding has. A condition that
// keeps its status keeps its time.
func (o observation) status(now time.Time) (next bindingv1.ServiceBindingStatus, changed bool) {
	before := o.binding.Status
	next = *before.DeepCopy()
	next.ObservedGeneration = o.binding.Generation
	if o.projection.Secret != "" && o.service == nil {
		next.Binding = &bindingv1.ServiceBindingSecretReference{Name: o.projection.Secret}
	}
	for _, c := range []struct {
		name    string
		verdict verdict
	}{
		{ConditionReady, o.ready()},
		{ConditionServiceAvailable, o.serviceAvailable()},
		{ConditionWorkloadProjected, o.projected()},
	} {
		next.Conditions = setCondition(next.Conditions, metav1.Condition{
			Type: c.name, Status: c.verdict.status, Reason: c.verdict.reason, Message: clip(c.verdict.message, maxMessage),
			ObservedGeneration: o.binding.Generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		})
	}
	return next, !equality.Semantic.DeepEqual(before, next)
}

// setCondition replaces the condition of a type in a list that is kept sorted by type.
func setCondition(conditions []metav1.Condition, c metav1.Condition) []metav1.Condition {
	for i := range conditions {
		if conditions[i].Type != c.Type {
			continue
		}
		if conditions[i].Status == c.Status {
			c.LastTransitionTime = conditions[i].LastTransitionTime
		}
		conditions[i] = c
		return conditions
	}
	conditions = append(conditions, c)
	slices.SortFunc(conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	return conditions
}

// clip shortens a text to at most size bytes.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	const mark = " …"
	return strings.ToValidUTF8(text[:size-len(mark)], "") + mark
}
