package binding_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/internal/binding"
)

// valid returns a binding that breaks no rule, changed as asked.
func valid(change func(*bindingv1.ServiceBinding)) *bindingv1.ServiceBinding {
	b := &bindingv1.ServiceBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "orders-db", Namespace: "shop"},
		Spec: bindingv1.ServiceBindingSpec{
			Workload: bindingv1.ServiceBindingWorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "orders"},
			Service:  bindingv1.ServiceBindingServiceReference{APIVersion: "example.com/v1", Kind: "Postgres", Name: "db"},
		},
	}
	if change != nil {
		change(b)
	}
	return b
}

func selecting(selector *metav1.LabelSelector) func(*bindingv1.ServiceBinding) {
	return func(b *bindingv1.ServiceBinding) {
		b.Spec.Workload.Name, b.Spec.Workload.Selector = "", selector
	}
}

// broken writes errors as "Type field", which is what a client acts on.
func broken(errs field.ErrorList) []string {
	var list []string
	for _, err := range errs {
		list = append(list, string(err.Type)+" "+err.Field)
	}
	return list
}

const (
	required  = string(field.ErrorTypeRequired) + " "
	invalid   = string(field.ErrorTypeInvalid) + " "
	forbidden = string(field.ErrorTypeForbidden) + " "
	duplicate = string(field.ErrorTypeDuplicate) + " "
	tooLong   = string(field.ErrorTypeTooLong) + " "
)

type bindingCase struct {
	reason string
	change func(*bindingv1.ServiceBinding)
	want   []string
}

func TestValidate(t *testing.T) {
	t.Parallel()
	cases := merge(
		directoryCases(), overrideCases(), selectorCases(), workloadCases(), serviceCases(), envCases(),
	)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			errs := binding.Validate(valid(c.change))
			if diff := cmp.Diff(c.want, broken(errs)); diff != "" {
				t.Errorf("%s: errors (-want +got):\n%s\n%v", c.reason, diff, errs.ToAggregate())
			}
			for _, err := range errs {
				if err.Type != field.ErrorTypeDuplicate && err.Detail == "" {
					t.Errorf("%s says neither the rule nor what to do", err)
				}
			}
		})
	}
}

func directoryCases() map[string]bindingCase {
	named := func(name string) func(*bindingv1.ServiceBinding) {
		return func(b *bindingv1.ServiceBinding) { b.Spec.Name = name }
	}
	return map[string]bindingCase{
		"minimal":   {reason: "nothing optional is needed"},
		"directory": {reason: "digits, dots and dashes are fine", change: named("0.a-b.c")},
		"longest":   {reason: "253 characters are the most", change: named(strings.Repeat("a", 253))},
		"too long": {
			reason: "254 are too many", change: named(strings.Repeat("a", 254)), want: []string{invalid + "spec.name"},
		},
		"upper case":     {reason: "case matters", change: named("Orders"), want: []string{invalid + "spec.name"}},
		"slash":          {reason: "it is one directory", change: named("a/b"), want: []string{invalid + "spec.name"}},
		"line break":     {reason: "the whole name counts", change: named("a\n"), want: []string{invalid + "spec.name"}},
		"this directory": {reason: "it would hide all bindings", change: named("."), want: []string{invalid + "spec.name"}},
		"the one above":  {reason: "it would leave the root", change: named(".."), want: []string{invalid + "spec.name"}},
		"three dots":     {reason: "it is a name like others", change: named("...")},
		"bad default": {
			reason: "the object's name stands in",
			change: func(b *bindingv1.ServiceBinding) { b.Name = "Orders" },
			want:   []string{invalid + "metadata.name"},
		},
		"default not used": {
			reason: "the object's name does not matter beside spec.name",
			change: func(b *bindingv1.ServiceBinding) { b.Name, b.Spec.Name = "Orders", "orders" },
		},
		"name to be made": {
			reason: "the API server has yet to choose",
			change: func(b *bindingv1.ServiceBinding) { b.Name, b.GenerateName = "", "orders-" },
		},
		"no name": {
			reason: "nothing says what the directory is called",
			change: func(b *bindingv1.ServiceBinding) { b.Name = "" },
			want:   []string{invalid + "metadata.name"},
		},
	}
}

func overrideCases() map[string]bindingCase {
	return map[string]bindingCase{
		"overrides": {
			reason: "any printable text will do",
			change: func(b *bindingv1.ServiceBinding) { b.Spec.Type, b.Spec.Provider = "my sql", "Übung & Söhne" },
		},
		"control characters": {
			reason: "they have no place in an annotation",
			change: func(b *bindingv1.ServiceBinding) { b.Spec.Type, b.Spec.Provider = "a\nb", "\x00" },
			want:   []string{invalid + "spec.type", invalid + "spec.provider"},
		},
		"long override": {
			reason: "annotations share little room",
			change: func(b *bindingv1.ServiceBinding) { b.Spec.Type = strings.Repeat("a", 1025) },
			want:   []string{tooLong + "spec.type"},
		},
	}
}

func selectorCases() map[string]bindingCase {
	requirement := func(r metav1.LabelSelectorRequirement) func(*bindingv1.ServiceBinding) {
		return selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}})
	}
	return map[string]bindingCase{
		"selector": {
			reason: "labels select",
			change: selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "orders"}}),
		},
		"empty selector": {
			reason: "it would bind everything",
			change: selecting(&metav1.LabelSelector{}),
			want:   []string{required + "spec.workload.selector"},
		},
		"unknown operator": {
			reason: "operators are four",
			change: requirement(metav1.LabelSelectorRequirement{Key: "app", Operator: "Like", Values: []string{"x"}}),
			want:   []string{invalid + "spec.workload.selector.matchExpressions[0].operator"},
		},
		"In without values": {
			reason: "In needs values",
			change: requirement(metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpIn}),
			want:   []string{required + "spec.workload.selector.matchExpressions[0].values"},
		},
		"Exists with values": {
			reason: "Exists takes none",
			change: requirement(metav1.LabelSelectorRequirement{
				Key: "app", Operator: metav1.LabelSelectorOpExists, Values: []string{"x"},
			}),
			want: []string{forbidden + "spec.workload.selector.matchExpressions[0].values"},
		},
		"bad label": {
			reason: "labels have rules",
			change: selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "a b"}}),
			want:   []string{invalid + "spec.workload.selector.matchLabels"},
		},
		"name and selector": {
			reason: "the specification forbids both",
			change: func(b *bindingv1.ServiceBinding) {
				b.Spec.Workload.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "orders"}}
			},
			want: []string{forbidden + "spec.workload.selector"},
		},
	}
}

func workloadCases() map[string]bindingCase {
	workload := func(w bindingv1.ServiceBindingWorkloadReference) func(*bindingv1.ServiceBinding) {
		return func(b *bindingv1.ServiceBinding) { b.Spec.Workload = w }
	}
	return map[string]bindingCase{
		"neither": {reason: "one is needed", change: selecting(nil), want: []string{required + "spec.workload.name"}},
		"no kind": {
			reason: "the kind is needed in full",
			change: workload(bindingv1.ServiceBindingWorkloadReference{Name: "x"}),
			want:   []string{required + "spec.workload.apiVersion", required + "spec.workload.kind"},
		},
		"kind with a comma": {
			reason: "no kind has one, and the list of kinds is separated by it",
			change: workload(bindingv1.ServiceBindingWorkloadReference{APIVersion: "v1", Kind: "A,B", Name: "x"}),
			want:   []string{invalid + "spec.workload.kind"},
		},
		"core group": {
			reason: "it has no name",
			change: workload(bindingv1.ServiceBindingWorkloadReference{APIVersion: "v1", Kind: "Pod", Name: "x"}),
		},
		"webhooks as workload": {
			reason: "a binding must not write what governs the cluster",
			change: workload(bindingv1.ServiceBindingWorkloadReference{
				APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration", Name: "x",
			}),
			want: []string{forbidden + "spec.workload.apiVersion"},
		},
		"path as name": {
			reason: "it would leave the collection",
			change: workload(bindingv1.ServiceBindingWorkloadReference{APIVersion: "v1", Kind: "Pod", Name: "../x"}),
			want:   []string{invalid + "spec.workload.name"},
		},
		"empty container": {
			reason: "no container is called nothing",
			change: func(b *bindingv1.ServiceBinding) { b.Spec.Workload.Containers = []string{"app", ""} },
			want:   []string{required + "spec.workload.containers[1]"},
		},
	}
}

func serviceCases() map[string]bindingCase {
	service := func(apiVersion, kind, name string) func(*bindingv1.ServiceBinding) {
		return func(b *bindingv1.ServiceBinding) {
			b.Spec.Service = bindingv1.ServiceBindingServiceReference{APIVersion: apiVersion, Kind: kind, Name: name}
		}
	}
	at := "spec.service."
	version := []string{invalid + at + "apiVersion"}
	return map[string]bindingCase{
		"secret": {reason: "a Secret is a service", change: service("v1", "Secret", "db")},
		"no service": {
			reason: "all three are needed", change: service("", "", ""),
			want: []string{required + at + "apiVersion", required + at + "kind", required + at + "name"},
		},
		"no version": {reason: "the version is needed", change: service("apps/", "X", "x"), want: version},
		"no group":   {reason: "a slash wants a group", change: service("/v1", "X", "x"), want: version},
		"two groups": {reason: "there is one slash", change: service("a/b/v1", "X", "x"), want: version},
		"odd name":   {reason: "roles have such names", change: service("example.com/v1", "X", "system:x")},
		"name with a slash": {
			reason: "it would leave the collection", change: service("v1", "Secret", "a/b"), want: []string{invalid + at + "name"},
		},
		"role": {
			reason: "roles are not services",
			change: service("rbac.authorization.k8s.io/v1", "Role", "x"), want: []string{forbidden + at + "apiVersion"},
		},
		"definition": {
			reason: "definitions are not services",
			change: service("apiextensions.k8s.io/v1", "CustomResourceDefinition", "x"),
			want:   []string{forbidden + at + "apiVersion"},
		},
	}
}

func envCases() map[string]bindingCase {
	env := func(pairs ...string) func(*bindingv1.ServiceBinding) {
		return func(b *bindingv1.ServiceBinding) {
			for i := 0; i < len(pairs); i += 2 {
				b.Spec.Env = append(b.Spec.Env, bindingv1.EnvMapping{Name: pairs[i], Key: pairs[i+1]})
			}
		}
	}
	return map[string]bindingCase{
		"env": {reason: "one entry may have two names", change: env("DB_HOST", "host", "db.host", "host")},
		"env unnamed": {
			reason: "both are needed", change: env("", ""),
			want: []string{required + "spec.env[0].name", required + "spec.env[0].key"},
		},
		"env twice": {
			reason: "one would win by chance", change: env("A", "a", "A", "b"), want: []string{duplicate + "spec.env[1].name"},
		},
		"env assignment": {reason: "'=' ends a name", change: env("A=B", "a"), want: []string{invalid + "spec.env[0].name"}},
		"env digit":      {reason: "containers accept it", change: env("1-of 2", "a")},
		"env root": {
			reason: "the root is not an entry", change: env("SERVICE_BINDING_ROOT", "a"),
			want: []string{invalid + "spec.env[0].name"},
		},
		"env key": {reason: "no Secret holds it", change: env("A", "a/b"), want: []string{invalid + "spec.env[0].key"}},
	}
}

func TestValidateSaysWhatToDo(t *testing.T) {
	t.Parallel()
	errs := binding.Validate(valid(func(b *bindingv1.ServiceBinding) {
		b.Spec.Workload.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "orders"}}
	}))
	want := `spec.workload.selector: Forbidden: must not be set together with name: got name "orders" and ` +
		`selector "app=orders"; remove one of them`
	if diff := cmp.Diff(want, errs.ToAggregate().Error()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestValidateUpdate(t *testing.T) {
	t.Parallel()
	both := func(app string) func(*bindingv1.ServiceBinding) {
		return func(b *bindingv1.ServiceBinding) {
			b.Spec.Workload.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		}
	}
	exists := func(values ...string) func(*bindingv1.ServiceBinding) {
		return selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpExists, Values: values},
		}})
	}
	typed := func(value string) func(*bindingv1.ServiceBinding) {
		return func(b *bindingv1.ServiceBinding) { b.Spec.Type = value }
	}
	for name, c := range map[string]struct {
		reason       string
		old, updated func(*bindingv1.ServiceBinding)
		want         []string
	}{
		"newly broken": {reason: "it was well before", updated: typed("\n"), want: []string{invalid + "spec.type"}},
		"as broken":    {reason: "the field is unchanged", old: typed("\n"), updated: typed("\n")},
		"otherwise broken": {
			reason: "the value changed", old: typed("\n"), updated: typed("\n\n"), want: []string{invalid + "spec.type"},
		},
		"mended":          {reason: "it is well now", old: typed("\n"), updated: typed("x")},
		"both, as before": {reason: "name and selector are unchanged", old: both("a"), updated: both("a")},
		"both, changed": {
			reason: "the selector changed", old: both("a"), updated: both("b"),
			want: []string{forbidden + "spec.workload.selector"},
		},
		"values, as before": {reason: "the selector is unchanged", old: exists("a"), updated: exists("a")},
		"values, changed": {
			reason: "an unprinted value counts too", old: exists("a"), updated: exists("b"),
			want: []string{forbidden + "spec.workload.selector.matchExpressions[0].values"},
		},
		"too long, changed": {
			reason: "an omitted value counts too",
			old:    typed(strings.Repeat("a", 2000)), updated: typed(strings.Repeat("b", 2000)),
			want: []string{tooLong + "spec.type"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := broken(binding.NewErrors(binding.Validate(valid(c.updated)), binding.Validate(valid(c.old))))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: errors (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func merge(tables ...map[string]bindingCase) map[string]bindingCase {
	all := map[string]bindingCase{}
	for _, table := range tables {
		maps.Copy(all, table)
	}
	return all
}
