package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/projection"
)

const workloadSpec = `"spec":{"service":{"apiVersion":"v1","kind":"Secret","name":"db"},` +
	`"workload":{"apiVersion":"apps/v1","kind":"Deployment","name":"orders"}}`

// bindingJSON writes a binding with the given metadata.
func bindingJSON(metadata string) string {
	return `{"metadata":` + metadata + `,` + workloadSpec + `}`
}

func request(kind, object, old string) ctrladmission.Request {
	req := ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Kind:      metav1.GroupVersionKind{Group: "servicebinding.io", Version: "v1beta1", Kind: kind},
		Name:      "orders-db",
		Namespace: "shop",
		Operation: admissionv1.Create,
		Object:    runtime.RawExtension{Raw: []byte(object)},
	}}
	if old != "" {
		req.Operation, req.OldObject = admissionv1.Update, runtime.RawExtension{Raw: []byte(old)}
	}
	return req
}

// patchOf returns the patch of an answer that allows, one operation a line.
func patchOf(t *testing.T, response ctrladmission.Response) []string {
	t.Helper()
	if !response.Allowed {
		t.Fatalf("refused: %v", response.Result)
	}
	if len(response.Patch) == 0 {
		return nil
	}
	if response.PatchType == nil || *response.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Fatalf("a patch needs its type, got %v", response.PatchType)
	}
	var operations []struct {
		Op    string          `json:"op"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(response.Patch, &operations); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, o := range operations {
		list = append(list, o.Op+" "+o.Path+" "+string(o.Value))
	}
	return list
}

func TestBindingMutator(t *testing.T) {
	t.Parallel()
	const (
		done      = `{"finalizers":["bowline.dev/unbind"],"annotations":{"bowline.dev/workload-kinds":"Deployment.v1.apps"}}`
		finalizer = `add /metadata/finalizers ["bowline.dev/unbind"]`
		path      = "add /metadata/annotations/bowline.dev~1workload-kinds "
	)
	job := strings.NewReplacer("apps/v1", "batch/v1", "Deployment", "Job").Replace
	for name, c := range map[string]struct {
		reason, object, old string
		want                []string
	}{
		"bare": {
			reason: "it gets both", object: bindingJSON(`{"name":"b"}`),
			want: []string{finalizer, `add /metadata/annotations {"bowline.dev/workload-kinds":"Deployment.v1.apps"}`},
		},
		"others' marks": {
			reason: "they stay", object: bindingJSON(`{"finalizers":["x/y"],"annotations":{"a":"b"}}`),
			want: []string{`add /metadata/finalizers/- "bowline.dev/unbind"`, path + `"Deployment.v1.apps"`},
		},
		"claimed kinds": {
			reason: "what is written there by hand does not count",
			object: bindingJSON(`{"finalizers":["bowline.dev/unbind"],"annotations":{"bowline.dev/workload-kinds":"Node.v1."}}`),
			want:   []string{path + `"Deployment.v1.apps"`},
		},
		"done": {reason: "nothing is missing", object: bindingJSON(done), old: bindingJSON(done)},
		"edited": {
			reason: "the former kind is kept",
			object: job(bindingJSON(`{"finalizers":["bowline.dev/unbind"]}`)), old: bindingJSON(`{}`),
			want: []string{`add /metadata/annotations {"bowline.dev/workload-kinds":"Deployment.v1.apps,Job.v1.batch"}`},
		},
		"forgotten": {
			reason: "kinds of long ago are kept", object: bindingJSON(done),
			old:  bindingJSON(`{"annotations":{"bowline.dev/workload-kinds":"Pod.v1."}}`),
			want: []string{path + `"Pod.v1.,Deployment.v1.apps"`},
		},
		"deleting": {
			reason: "no finalizer may be added",
			object: bindingJSON(`{"deletionTimestamp":"2030-01-01T00:00:00Z",` +
				`"annotations":{"bowline.dev/workload-kinds":"Deployment.v1.apps"}}`),
			old: bindingJSON(done),
		},
		"no kind": {
			reason: "validation will refuse it", object: `{"spec":{"workload":{"apiVersion":"a/b/c","kind":"A,B"}}}`,
			want: []string{finalizer},
		},
		"unreadable": {reason: "the schema will refuse it", object: `{"spec":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := patchOf(t, admission.Mutator{Kind: admission.Bindings()}.Handle(t.Context(), request("ServiceBinding", c.object, c.old)))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: patch (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestMappingMutator(t *testing.T) {
	t.Parallel()
	object := `{"spec":{"versions":[{"version":"v1"},{"version":"v2","annotations":".a","volumes":".v"},` +
		`{"version":"*","volumes":".v"}]}}`
	got := patchOf(t, admission.MappingMutator{}.Handle(t.Context(), request("ClusterWorkloadResourceMapping", object, "")))
	want := []string{
		`add /spec/versions/0/annotations ".spec.template.metadata.annotations"`,
		`add /spec/versions/0/volumes ".spec.template.spec.volumes"`,
		`add /spec/versions/2/annotations ".spec.template.metadata.annotations"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

func TestValidators(t *testing.T) {
	t.Parallel()
	broken := strings.Replace(bindingJSON(`{"name":"b"}`), `"service":`, `"name":"../x","service":`, 1)
	brokenMapping := `{"metadata":{"name":"jobs.batch"},"spec":{"versions":[{"version":"v1","volumes":".a[*]"}]}}`
	for name, c := range map[string]struct {
		reason, kind, object, old string
		handler                   ctrladmission.Handler
		want                      []string
	}{
		"binding": {
			reason: "it is well", handler: admission.Validator{Kind: admission.Bindings(), Authority: allowing{}}, kind: "ServiceBinding",
			object: bindingJSON(`{"name":"b"}`),
		},
		"broken binding": {
			reason: "the name leaves the root", handler: admission.Validator{Kind: admission.Bindings(), Authority: allowing{}}, kind: "ServiceBinding",
			object: broken, want: []string{"spec.name"},
		},
		"newly broken binding": {
			reason: "it was well before", handler: admission.Validator{Kind: admission.Bindings(), Authority: allowing{}}, kind: "ServiceBinding",
			object: broken, old: bindingJSON(`{"name":"b"}`), want: []string{"spec.name"},
		},
		"binding as broken": {
			reason: "old objects stay editable", handler: admission.Validator{Kind: admission.Bindings(), Authority: allowing{}}, kind: "ServiceBinding",
			object: broken, old: broken,
		},
		"broken mapping": {
			reason: "volumes are at a fixed place", handler: admission.MappingValidator{}, kind: "ClusterWorkloadResourceMapping",
			object: brokenMapping, want: []string{"spec.versions[0].volumes"},
		},
		"mapping as broken": {
			reason: "old objects stay editable", handler: admission.MappingValidator{}, kind: "ClusterWorkloadResourceMapping",
			object: brokenMapping, old: brokenMapping,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response := c.handler.Handle(t.Context(), request(c.kind, c.object, c.old))
			if diff := cmp.Diff(c.want, causes(response.Result)); diff != "" {
				t.Errorf("%s: fields (-want +got):\n%s", c.reason, diff)
			}
			if response.Allowed != (c.want == nil) {
				t.Errorf("%s: allowed is %v", c.reason, response.Allowed)
			}
			if !response.Allowed && (response.Result.Code != 422 || response.Result.Reason != metav1.StatusReasonInvalid) {
				t.Errorf("%s: answered %d %s", c.reason, response.Result.Code, response.Result.Reason)
			}
		})
	}
}

// allowing finds nothing against anybody.
type allowing struct{}

func (allowing) May(context.Context, authenticationv1.UserInfo, string, []authority.Reference) (authority.Findings, error) {
	return authority.Findings{}, nil
}

func causes(status *metav1.Status) []string {
	if status == nil || status.Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Details.Causes {
		fields = append(fields, cause.Field)
	}
	return fields
}

type projectorFunc func(schema.GroupVersionKind, projection.Workload) (projection.Workload, error)

func (f projectorFunc) ProjectForAdmission(
	gvk schema.GroupVersionKind, w projection.Workload,
) (projection.Workload, error) {
	return f(gvk, w)
}

type workloadCase struct {
	reason, object string
	project        projectorFunc
	want, warnings []string
}

func TestWorkloadMutator(t *testing.T) {
	t.Parallel()
	for name, c := range workloadCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := &admission.WorkloadMutator{Projector: c.project}
			response := handler.Handle(t.Context(), request("Deployment", c.object, ""))
			if diff := cmp.Diff(c.want, patchOf(t, response)); diff != "" {
				t.Errorf("%s: patch (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.warnings, response.Warnings); diff != "" {
				t.Errorf("%s: warnings (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func workloadCases() map[string]workloadCase {
	refused := &projection.Refusal{UID: "u", Reason: "NameCollision", Message: "two bindings want the directory db"}
	failing := func(err error) projectorFunc {
		return func(schema.GroupVersionKind, projection.Workload) (projection.Workload, error) { return nil, err }
	}
	return map[string]workloadCase{
		"bound": {
			reason: "the change becomes a patch", object: `{"metadata":{"name":"w"},"spec":{"replicas":3}}`, project: labelReplicas,
			want: []string{`add /metadata/labels {"bound":3}`},
		},
		"not bound": {
			reason: "the same workload makes no patch", object: `{"metadata":{"name":"w"}}`,
			project: func(_ schema.GroupVersionKind, w projection.Workload) (projection.Workload, error) { return w, nil },
		},
		"deleting": {
			reason: "it is not asked about", object: `{"metadata":{"deletionTimestamp":"2030-01-01T00:00:00Z"}}`,
			project: labelReplicas,
		},
		"error": {reason: "the controller will report it", object: `{}`, project: failing(errors.New("broken"))},
		"refusal": {
			reason: "the user can do something", object: `{}`, project: failing(fmt.Errorf("binding db: %w", refused)),
			warnings: []string{"bowline: two bindings want the directory db"},
		},
		"panic": {
			reason: "it is an error like others", object: `{}`,
			project: func(schema.GroupVersionKind, projection.Workload) (projection.Workload, error) { panic("!") },
		},
		"no object": {reason: "nothing can be done", object: `null`, project: labelReplicas},
		"not JSON":  {reason: "nothing can be done", object: `[`, project: labelReplicas},
	}
}

// labelReplicas writes the number of replicas into a label, as a number, which shows that numbers stay what they are.
func labelReplicas(_ schema.GroupVersionKind, w projection.Workload) (projection.Workload, error) {
	spec, _ := w["spec"].(map[string]any)
	replicas, _ := spec["replicas"].(int64)
	metadata := map[string]any{"name": "w", "namespace": "shop", "labels": map[string]any{"bound": replicas}}
	return projection.Workload{"metadata": metadata, "spec": spec}, nil
}
