package admission

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/feature"
)

const (
	// maxNamespaces is how many namespaces a webhook names; beyond that it asks for all.
	maxNamespaces = 100

	// A workload waits less long for Bowline than an object of our own, since it can do without.
	workloadTimeout = 3
	ownTimeout      = 5

	conditionNotSelf     = "not-bowline-itself"
	conditionNotDeleting = "not-being-deleted"
	conditionNotLeaving  = "not-just-on-its-way-out"

	// notLeaving lets the last steps of a deletion pass, but for a change of what is asked for or of who asked.
	notLeaving = `!has(object.metadata.deletionTimestamp) || object.?spec != oldObject.?spec || ` +
		`object.metadata.?annotations[?"` + binding.RequesterAnnotation + `"] != ` +
		`oldObject.metadata.?annotations[?"` + binding.RequesterAnnotation + `"]`
)

// Scope says which workloads the API server is to ask about. With no resources or no namespaces it asks about none.
type Scope struct {
	// Resources are the kinds of workload that bindings name.
	Resources []schema.GroupVersionResource
	// Namespaces are those that hold bindings.
	Namespaces []string
}

// normal returns the scope sorted, each item once, and empty altogether where it asks about nothing.
func (s Scope) normal() Scope {
	if len(s.Resources) == 0 || len(s.Namespaces) == 0 {
		return Scope{}
	}
	resources, namespaces := slices.Clone(s.Resources), slices.Clone(s.Namespaces)
	slices.SortFunc(resources, func(a, b schema.GroupVersionResource) int {
		return cmp.Or(
			strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Resource, b.Resource))
	})
	slices.Sort(namespaces)
	return Scope{Resources: slices.Compact(resources), Namespaces: slices.Compact(namespaces)}
}

// rules returns one rule for each group and version of a normal scope.
func (s Scope) rules() []admissionregistrationv1.RuleWithOperations {
	var rules []admissionregistrationv1.RuleWithOperations
	for i, resource := range s.Resources {
		if i > 0 && s.Resources[i-1].GroupVersion() == resource.GroupVersion() {
			last := &rules[len(rules)-1]
			last.Resources = append(last.Resources, resource.Resource)
			continue
		}
		rules = append(rules, rule(resource, admissionregistrationv1.NamespacedScope))
	}
	return rules
}

// selector returns what limits the webhook to the namespaces of a normal scope.
func (s Scope) selector() *metav1.LabelSelector {
	if len(s.Namespaces) == 0 || len(s.Namespaces) > maxNamespaces {
		return &metav1.LabelSelector{}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: s.Namespaces,
	}}}
}

// covers says whether a webhook made from a normal scope is asked about a resource in a namespace.
func (s Scope) covers(resource schema.GroupVersionResource, namespace string) bool {
	return slices.Contains(s.Resources, resource) &&
		(len(s.Namespaces) > maxNamespaces || slices.Contains(s.Namespaces, namespace))
}

// Endpoint is where the API server reaches the handlers: a Service, or a URL for a controller outside the cluster.
type Endpoint struct {
	// Namespace and Service name the Service.
	Namespace, Service string
	// Port of the Service; 443 when zero.
	Port int32
	// URL is what the paths of the handlers are appended to. When set, the Service does not count.
	URL string
}

// client describes how one handler is called. Each field that the API server would fill in is set, so that what was
// written compares equal to what is wanted.
func (e Endpoint) client(path string, bundle []byte) admissionregistrationv1.WebhookClientConfig {
	if e.URL != "" {
		url := strings.TrimRight(e.URL, "/") + path
		return admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle}
	}
	port := cmp.Or(e.Port, 443)
	return admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{
			Namespace: e.Namespace, Name: e.Service, Path: &path, Port: &port,
		},
		CABundle: bundle,
	}
}

// wanted is all that the webhook configurations depend on.
type wanted struct {
	endpoint Endpoint
	bundle   []byte
	user     string
	scope    Scope
	features feature.Set
}

// off says whether a webhook belongs to a feature that is not on.
func (w wanted) off(webhook string) bool {
	needed, ok := feature.OfWebhook(webhook)
	return ok && !w.features.Has(needed)
}

// mutating returns the configuration as it must be. Of a webhook that is there already only the run-time parts are set
// (how it is called, whom it leaves alone, which workloads it is asked about): the rest belongs to who installed it.
// A missing one is made whole, and one of a feature that is not on goes. Webhooks of other names stay as they are.
func (w wanted) mutating(
	current *admissionregistrationv1.MutatingWebhookConfiguration,
) *admissionregistrationv1.MutatingWebhookConfiguration {
	desired := current.DeepCopy()
	desired.Webhooks = slices.DeleteFunc(desired.Webhooks, func(hook admissionregistrationv1.MutatingWebhook) bool {
		return w.off(hook.Name)
	})
	for _, kind := range w.ownKinds() {
		hook := mutatingHook(desired, kind.webhook, func() admissionregistrationv1.MutatingWebhook {
			return newMutating(kind.webhook, ownTimeout, []admissionregistrationv1.RuleWithOperations{kind.rule()})
		})
		w.dress(&hook.ClientConfig, &hook.MatchConditions, kind.mutatePath)
	}
	scope := w.scope.normal()
	present := slices.ContainsFunc(desired.Webhooks, isMutating(WebhookWorkloads))
	if len(scope.Resources) == 0 && !present {
		return desired
	}
	hook := mutatingHook(desired, WebhookWorkloads, newWorkloads)
	hook.Rules, hook.NamespaceSelector = scope.rules(), scope.selector()
	w.dress(&hook.ClientConfig, &hook.MatchConditions, PathMutateWorkload)
	return desired
}

// validating does for the validating configuration what mutating does for the other.
func (w wanted) validating(
	current *admissionregistrationv1.ValidatingWebhookConfiguration,
) *admissionregistrationv1.ValidatingWebhookConfiguration {
	desired := current.DeepCopy()
	desired.Webhooks = slices.DeleteFunc(desired.Webhooks, func(hook admissionregistrationv1.ValidatingWebhook) bool {
		return w.off(hook.Name)
	})
	for _, kind := range w.ownKinds() {
		at := slices.IndexFunc(desired.Webhooks, func(hook admissionregistrationv1.ValidatingWebhook) bool {
			return hook.Name == kind.webhook
		})
		if at < 0 {
			at = len(desired.Webhooks)
			desired.Webhooks = append(desired.Webhooks, newValidating(kind))
		}
		hook := &desired.Webhooks[at]
		w.dress(&hook.ClientConfig, &hook.MatchConditions, kind.validatePath)
	}
	return desired
}

// dress sets the run-time parts that all webhooks have.
func (w wanted) dress(
	client *admissionregistrationv1.WebhookClientConfig, conditions *[]admissionregistrationv1.MatchCondition, path string,
) {
	*client = w.endpoint.client(path, w.bundle)
	if w.user == "" {
		return
	}
	notSelf := admissionregistrationv1.MatchCondition{
		Name: conditionNotSelf, Expression: "request.userInfo.username != " + strconv.Quote(w.user),
	}
	at := slices.IndexFunc(*conditions, func(c admissionregistrationv1.MatchCondition) bool {
		return c.Name == conditionNotSelf
	})
	if at < 0 {
		*conditions = slices.Insert(*conditions, 0, notSelf)
		return
	}
	(*conditions)[at] = notSelf
}

func rule(
	resource schema.GroupVersionResource, scope admissionregistrationv1.ScopeType,
) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups:   []string{resource.Group},
			APIVersions: []string{resource.Version},
			Resources:   []string{resource.Resource},
			Scope:       &scope,
		},
	}
}

// mutatingHook returns the webhook of a name, made where it is missing.
func mutatingHook(
	in *admissionregistrationv1.MutatingWebhookConfiguration, name string,
	create func() admissionregistrationv1.MutatingWebhook,
) *admissionregistrationv1.MutatingWebhook {
	at := slices.IndexFunc(in.Webhooks, isMutating(name))
	if at < 0 {
		at = len(in.Webhooks)
		in.Webhooks = append(in.Webhooks, create())
	}
	return &in.Webhooks[at]
}

func isMutating(name string) func(admissionregistrationv1.MutatingWebhook) bool {
	return func(hook admissionregistrationv1.MutatingWebhook) bool { return hook.Name == name }
}

// newMutating ignores failures: while Bowline is away objects pass, and the controller repairs them afterwards.
func newMutating(
	name string, timeout int32, rules []admissionregistrationv1.RuleWithOperations,
) admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name:                    name,
		Rules:                   rules,
		FailurePolicy:           new(admissionregistrationv1.Ignore),
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		NamespaceSelector:       &metav1.LabelSelector{},
		ObjectSelector:          &metav1.LabelSelector{},
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          &timeout,
		AdmissionReviewVersions: []string{"v1"},
		ReinvocationPolicy:      new(admissionregistrationv1.NeverReinvocationPolicy),
		MatchConditions: []admissionregistrationv1.MatchCondition{
			{Name: conditionNotDeleting, Expression: "!has(object.metadata.deletionTimestamp)"},
		},
	}
}

// newWorkloads is asked again when a webhook after it changed the workload, since that may have added a container.
func newWorkloads() admissionregistrationv1.MutatingWebhook {
	hook := newMutating(WebhookWorkloads, workloadTimeout, nil)
	hook.ReinvocationPolicy = new(admissionregistrationv1.IfNeededReinvocationPolicy)
	return hook
}

// newValidating refuses on failure, which is harmless: only our own kinds are concerned.
func newValidating(kind ownKind) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    kind.webhook,
		Rules:                   []admissionregistrationv1.RuleWithOperations{kind.rule()},
		FailurePolicy:           new(admissionregistrationv1.Fail),
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		NamespaceSelector:       &metav1.LabelSelector{},
		ObjectSelector:          &metav1.LabelSelector{},
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          new(int32(ownTimeout)),
		AdmissionReviewVersions: []string{"v1"},
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name:       conditionNotLeaving,
			Expression: notLeaving,
		}},
	}
}
