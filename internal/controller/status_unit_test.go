package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/service"
	"github.com/bowline-dev/bowline/projection"
)

// seen returns what is observed of a binding when all is well, changed as asked.
func seen(change func(*observation)) observation {
	o := observation{
		binding: &binding.Binding{
			Key:        binding.KeyOf(binding.Specification, "shop", "orders-db"),
			Generation: 2,
			Service: binding.Reference{
				GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Postgres"}, Name: "db",
			},
			Workload: binding.WorkloadReference{
				GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Name: "orders",
			},
			Projection: projection.Binding{UID: "u1", Name: "orders-db"},
		},
		projection: projection.Binding{UID: "u1", Name: "orders-db", Secret: "db-a"},
		workloads:  []sighting{{name: "orders", projected: true}},
	}
	if change != nil {
		change(&o)
	}
	return o
}

func selecting(workloads ...sighting) func(*observation) {
	return func(o *observation) {
		o.binding.Workload.Name, o.binding.Workload.Selector = "", labels.Everything()
		o.workloads = workloads
	}
}

func missingService(o *observation) {
	o.service = &Problem{Reason: service.ReasonNotFound, Message: "no Postgres"}
}

// written writes conditions as "Type=Status Reason: message", which is what people act on.
func written(conditions []metav1.Condition) []string {
	var list []string
	for _, c := range conditions {
		list = append(list, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return list
}

type statusCase struct {
	reason string
	change func(*observation)
	want   []string
}

// available is how the condition of an available service is written.
const available = `ServiceAvailable=True ResolvedBindingSecret: Secret "db-a" of Postgres "db"`

func statusCases() []statusCase {
	return append(workloadCases(), []statusCase{
		{reason: "all is well", want: []string{
			`Ready=True Projected: projected into Deployment "orders"`,
			available,
			`WorkloadProjected=True WorkloadProjected: projected into Deployment "orders"`,
		}},
		{reason: "the spec breaks a rule", change: func(o *observation) { o.binding.Fault = errors.New("spec.service.name is empty") }, want: []string{
			"Ready=False InvalidSpec: spec.service.name is empty; correct the spec",
			"ServiceAvailable=Unknown InvalidSpec: not looked for until the spec is valid",
			"WorkloadProjected=Unknown InvalidSpec: not looked for until the spec is valid",
		}},
		{reason: "no service, a workload not projected into", change: func(o *observation) {
			missingService(o)
			o.workloads[0].projected = false
		}, want: []string{
			"Ready=False ServiceNotFound: no Postgres",
			"ServiceAvailable=False ServiceNotFound: no Postgres",
			`WorkloadProjected=False WaitingForService: Deployment "orders" will be projected into once the service is available`,
		}},
		{reason: "the service went, the projection stays", change: missingService, want: []string{
			"Ready=False ServiceNotFound: no Postgres",
			"ServiceAvailable=False ServiceNotFound: no Postgres",
			`WorkloadProjected=True WorkloadProjected: projected into Deployment "orders"`,
		}},
	}...)
}

// workloadCases are those in which the service is available.
func workloadCases() []statusCase {
	rejected := &Problem{Reason: ReasonWorkloadRejected, Message: "no"}
	immutable := &Problem{Reason: ReasonWorkloadImmutable, Message: "never"}
	return []statusCase{
		{reason: "the workload's kind cannot be looked at", change: func(o *observation) {
			o.workloads, o.kind = nil, &Problem{Reason: ReasonWorkloadKindUnknown, Message: "no such kind"}
		}, want: []string{
			"Ready=False WorkloadKindUnknown: no such kind",
			available,
			"WorkloadProjected=False WorkloadKindUnknown: no such kind",
		}},
		{reason: "no workload of the name", change: func(o *observation) { o.workloads = nil }, want: []string{
			`Ready=False WorkloadNotFound: Deployment "orders" does not exist in this namespace; create it, or correct spec.workload`,
			available,
			`WorkloadProjected=False WorkloadNotFound: Deployment "orders" does not exist in this namespace; create it, or correct spec.workload`,
		}},
		{reason: "a selector that matches nothing is no error", change: selecting(), want: []string{
			"Ready=True NoWorkloadSelected: no Deployment in this namespace matches spec.workload.selector",
			available,
			"WorkloadProjected=True NoWorkloadSelected: no Deployment in this namespace matches spec.workload.selector",
		}},
		{reason: "a projection is under way", change: func(o *observation) { o.workloads[0].projected = false }, want: []string{
			`Ready=Unknown Projecting: Deployment "orders" is being projected into`,
			available,
			`WorkloadProjected=Unknown Projecting: Deployment "orders" is being projected into`,
		}},
		{reason: "the projection is refused", change: func(o *observation) {
			o.workloads = []sighting{{name: "orders", problem: rejected}}
		}, want: []string{
			`Ready=False WorkloadRejected: Deployment "orders": no`,
			available,
			`WorkloadProjected=False WorkloadRejected: Deployment "orders": no`,
		}},
		{
			reason: "problems come before what is under way, the first names the reason",
			change: selecting(
				sighting{name: "a"}, sighting{name: "b", problem: immutable}, sighting{name: "c", problem: rejected}, sighting{name: "d", projected: true},
			),
			want: []string{
				`Ready=False WorkloadImmutable: 2 of 4 workloads: Deployment "b": never; Deployment "c": no`,
				available,
				`WorkloadProjected=False WorkloadImmutable: 2 of 4 workloads: Deployment "b": never; Deployment "c": no`,
			},
		},
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, test := range statusCases() {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			o := seen(test.change)
			next, changed := o.status(time.Unix(5, 7))
			if !changed {
				t.Error("a first status changes nothing")
			}
			if diff := cmp.Diff(test.want, written(next.Conditions)); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			for _, c := range next.Conditions {
				if c.ObservedGeneration != 2 || !c.LastTransitionTime.Time.Equal(time.Unix(5, 0)) {
					t.Errorf("%s is of generation %d since %s", c.Type, c.ObservedGeneration, c.LastTransitionTime)
				}
			}
			if next.ObservedGeneration != 2 {
				t.Errorf("the status is of generation %d", next.ObservedGeneration)
			}
			o.binding.Status = next
			if again, changed := o.status(time.Unix(99, 0)); changed {
				t.Errorf("the same once more changes it (-before +after):\n%s", cmp.Diff(next, again))
			}
		})
	}
}

// TestPendingIsOnlyWhatIsUnderWay: what is pending is told late, so nothing else may be, least of all a spec that breaks a
// rule, about which nothing will come.
func TestPendingIsOnlyWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	for _, test := range statusCases() {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			if got, want := seen(test.change).pending(), test.reason == "a projection is under way"; got != want {
				t.Errorf("pending() = %v, want %v", got, want)
			}
		})
	}
}

func TestStatusNamesTheSecret(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		before *bindingv1.ServiceBindingSecretReference
		change func(*observation)
		want   *bindingv1.ServiceBindingSecretReference
	}{
		{reason: "once it is known", want: &bindingv1.ServiceBindingSecretReference{Name: "db-a"}},
		{
			reason: "another one when the service names another",
			before: &bindingv1.ServiceBindingSecretReference{Name: "old"},
			want:   &bindingv1.ServiceBindingSecretReference{Name: "db-a"},
		},
		{reason: "none before the service is there", change: func(o *observation) { missingService(o); o.projection.Secret = "" }},
		{reason: "none while the Secret is missing", change: missingService},
		{
			reason: "the one projected while the service is away", change: missingService,
			before: &bindingv1.ServiceBindingSecretReference{Name: "old"},
			want:   &bindingv1.ServiceBindingSecretReference{Name: "old"},
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			o := seen(test.change)
			o.binding.Status.Binding = test.before
			next, _ := o.status(time.Unix(5, 0))
			if diff := cmp.Diff(test.want, next.Binding); diff != "" {
				t.Errorf("binding (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusKeepsTimesAndWhatOthersWrote(t *testing.T) {
	t.Parallel()
	foreign := metav1.Condition{Type: "Audited", Status: metav1.ConditionTrue, Reason: "ByHand", Message: "yes"}
	o := seen(func(o *observation) { o.workloads[0].projected = false })
	o.binding.Status.Conditions = []metav1.Condition{foreign}
	first, _ := o.status(time.Unix(1, 0))
	before := first.DeepCopy()

	o = seen(func(o *observation) { o.projection.Secret = "db-b" })
	o.binding.Status, o.binding.Generation = first, 3
	second, changed := o.status(time.Unix(9, 0))
	if !changed {
		t.Error("another Secret and another state change nothing")
	}
	if diff := cmp.Diff(before, &first); diff != "" {
		t.Errorf("the status in memory was changed (-before +after):\n%s", diff)
	}
	since := map[string]int64{}
	for _, c := range second.Conditions {
		since[c.Type] = c.LastTransitionTime.Unix()
	}
	want := map[string]int64{
		"Audited":                  foreign.LastTransitionTime.Unix(),
		ConditionReady:             9, // from Unknown to True
		ConditionServiceAvailable:  1, // True before and after, though of another Secret
		ConditionWorkloadProjected: 9,
	}
	if diff := cmp.Diff(want, since); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(foreign, second.Conditions[0]); diff != "" {
		t.Errorf("the condition of others (-want +got):\n%s", diff)
	}
}

func TestStatusTellsOfFewWorkloads(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", maxMessage)
	var many, bad []sighting
	for i := range 8 {
		many = append(many, sighting{name: fmt.Sprintf("w%d", i), projected: true})
		bad = append(bad, sighting{name: fmt.Sprintf("w%d", i), problem: &Problem{Reason: ReasonWorkloadRejected, Message: "no"}})
	}
	tests := []struct {
		reason string
		change func(*observation)
		want   string
	}{
		{
			reason: "many projected into", change: selecting(many...),
			want: `projected into Deployment "w0", "w1", "w2", "w3", "w4", and 3 more`,
		},
		{
			reason: "many with a problem", change: selecting(bad...),
			want: `8 of 8 workloads: Deployment "w0": no; Deployment "w1": no; Deployment "w2": no; ` +
				`Deployment "w3": no; Deployment "w4": no; and 3 more`,
		},
		{
			reason: "a message without end",
			change: selecting(sighting{name: "w", problem: &Problem{Reason: ReasonWorkloadRejected, Message: long}}),
			want:   clip(`Deployment "w": `+long, maxMessage),
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			next, _ := seen(test.change).status(time.Unix(1, 0))
			for _, c := range next.Conditions {
				if c.Type == ConditionServiceAvailable {
					continue
				}
				if diff := cmp.Diff(test.want, c.Message); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.Type, diff)
				}
			}
		})
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason, text string
		size         int
		want         string
	}{
		{reason: "what fits stays", text: "short", size: 5, want: "short"},
		{reason: "what does not is marked", text: "0123456789", size: 8, want: "0123 …"},
		{reason: "a letter is not cut in two", text: "üüüüü", size: 9, want: "üü …"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := clip(test.text, test.size)
			if got != test.want || len(got) > test.size || !utf8.ValidString(got) {
				t.Errorf("clip(%q, %d) = %q, want %q", test.text, test.size, got, test.want)
			}
		})
	}
}
