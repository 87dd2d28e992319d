package admission_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/authority"
)

// subject is a kind of object with two specs that ask for different things.
type subject struct {
	kind          admission.Kind
	name          string
	spec, another string
}

const (
	draftSpec = `{"service":{"apiVersion":"v1","kind":"Secret","name":"db"},` +
		`"application":{"apiVersion":"apps/v1","kind":"Deployment","name":"orders"}}`
	syntheticSpec = `{"type":"kafka","services":[{"apiVersion":"v1","kind":"Secret","name":"db"}]}`
)

func subjects() []subject {
	specification := strings.TrimPrefix(workloadSpec, `"spec":`)
	other := strings.NewReplacer(`"db"`, `"root"`).Replace
	return []subject{
		{kind: admission.Bindings(), name: "binding", spec: specification, another: other(specification)},
		{kind: admission.DraftBindings(), name: "draft binding", spec: draftSpec, another: other(draftSpec)},
		{kind: admission.SyntheticServices(), name: "synthetic service", spec: syntheticSpec, another: other(syntheticSpec)},
	}
}

// object writes one as a client sends it; an empty record is left out.
func (s subject) object(spec, record, more string) string {
	annotations := `"bowline.dev/workload-kinds":"Deployment.v1.apps"` + more
	if record != "" {
		annotations += fmt.Sprintf(`,"bowline.dev/requester":%q`, record)
	}
	return fmt.Sprintf(`{"metadata":{"name":"x","finalizers":["bowline.dev/unbind"],"annotations":{%s}},"spec":%s}`, annotations, spec)
}

func user(name string) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: name, Groups: []string{"team-" + name}}
}

type recordCase struct {
	reason string
	// what is sent and what is stored, by record; a stored one makes the request an update.
	sent, stored string
	isUpdate     bool
	// what changes: the spec or other metadata.
	specChanges bool
	more        string
	// patch is what becomes of the record, forged whether it is refused without that.
	patch  string
	forged bool
}

func recordCases() []recordCase {
	dev, root := authority.Record(user("dev")), authority.Record(user("root"))
	quoted := func(record string) string { return "add " + strconv.Quote(record) }
	return []recordCase{
		{reason: "a new object", patch: quoted(dev)},
		{reason: "a new object that claims another author", sent: root, patch: quoted(dev), forged: true},
		{reason: "a new object that tells the truth", sent: dev},
		{reason: "a new object that claims nonsense", sent: "x", patch: quoted(dev), forged: true},
		{reason: "an edit of the spec", isUpdate: true, sent: root, stored: root, specChanges: true, patch: quoted(dev), forged: true},
		{reason: "an edit of the spec that drops the record", isUpdate: true, stored: root, specChanges: true, patch: quoted(dev)},
		{reason: "an edit of an unrecorded object's spec", isUpdate: true, specChanges: true, patch: quoted(dev)},
		{reason: "an edit of a label", isUpdate: true, sent: root, stored: root},
		{reason: "an edit of an annotation", isUpdate: true, sent: root, stored: root, more: `,"a":"b"`},
		{reason: "an edit that drops the record", isUpdate: true, stored: root, patch: quoted(root), forged: true},
		{reason: "an edit that claims another author", isUpdate: true, sent: root, stored: dev, patch: quoted(dev), forged: true},
		{reason: "an edit that takes the object over", isUpdate: true, sent: dev, stored: root, patch: quoted(root), forged: true},
		{reason: "an edit that records what nobody recorded", isUpdate: true, sent: dev, patch: "remove ", forged: true},
		{reason: "an edit of an unrecorded object", isUpdate: true},
		{
			reason: "an option is part of what is asked for", isUpdate: true, sent: root, stored: root,
			more: `,"bowline.dev/env":"all"`, patch: quoted(dev), forged: true,
		},
	}
}

// TestRequesterIsRecorded: the record is of who asked for what the object says, and nobody can forge it: neither beside the
// mutating webhook nor while that is away.
func TestRequesterIsRecorded(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		for _, c := range recordCases() {
			if s.name == "synthetic service" && strings.Contains(c.more, "bowline.dev/env") {
				continue // it has no options
			}
			t.Run(s.name+"/"+c.reason, func(t *testing.T) {
				t.Parallel()
				req := c.request(s)
				got := recordPatch(t, admission.Mutator{Kind: s.kind, Record: true}.Handle(t.Context(), req))
				if diff := cmp.Diff(c.patch, got); diff != "" {
					t.Errorf("patch (-want +got):\n%s", diff)
				}
				response := admission.Validator{Kind: s.kind, Authority: allowing{}, Record: true}.Handle(t.Context(), req)
				if response.Allowed == c.forged {
					t.Errorf("allowed as it was sent: %v: %+v", response.Allowed, response.Result)
				}
				if c.forged {
					if diff := cmp.Diff([]string{"metadata.annotations[bowline.dev/requester]"}, causes(response.Result)); diff != "" {
						t.Errorf("fields (-want +got):\n%s", diff)
					}
				}
			})
		}
	}
}

func (c recordCase) request(s subject) ctrladmission.Request {
	spec, old := s.spec, ""
	if c.specChanges {
		spec = s.another
	}
	if c.isUpdate {
		old = s.object(s.spec, c.stored, "")
	}
	req := request("ServiceBinding", s.object(spec, c.sent, c.more), old)
	req.UserInfo = user("dev")
	return req
}

// recordPatch is what a patch does to the record: the operation and the value.
func recordPatch(t *testing.T, response ctrladmission.Response) string {
	t.Helper()
	for _, operation := range patchOf(t, response) {
		const path = "/metadata/annotations/bowline.dev~1requester"
		if op, value, found := strings.Cut(operation, " "+path+" "); found {
			return op + " " + value
		}
		t.Errorf("the patch does something else: %s", operation)
	}
	return ""
}

// TestRequesterIsNotRecordedWithoutNeed: no feature needs to know, and yet no old record survives another wish.
func TestRequesterIsNotRecordedWithoutNeed(t *testing.T) {
	t.Parallel()
	root := authority.Record(user("root"))
	tests := []struct {
		reason string
		c      recordCase
		want   string
	}{
		{reason: "new", c: recordCase{}},
		{reason: "claimed", c: recordCase{sent: root}, want: "remove "},
		{reason: "kept", c: recordCase{isUpdate: true, sent: root, stored: root}},
		{reason: "changed", c: recordCase{isUpdate: true, sent: root, stored: root, specChanges: true}, want: "remove "},
	}
	for _, s := range subjects() {
		for _, test := range tests {
			t.Run(s.name+"/"+test.reason, func(t *testing.T) {
				t.Parallel()
				got := recordPatch(t, admission.Mutator{Kind: s.kind}.Handle(t.Context(), test.c.request(s)))
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("patch (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestTooMuchToRecordIsTold(t *testing.T) {
	t.Parallel()
	s := subjects()[0]
	req := recordCase{}.request(s)
	req.UserInfo.Groups = []string{strings.Repeat("g", authority.MaxRecord)}
	response := admission.Validator{Kind: s.kind, Authority: allowing{}, Record: true}.Handle(t.Context(), req)
	if !response.Allowed || len(response.Warnings) != 1 {
		t.Errorf("answered %+v, want a warning", response.AdmissionResponse)
	}
}

// TestAuthorityOfEachKind: what is followed is asked about, on a change of an option, too.
func TestAuthorityOfEachKind(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"binding":           {"spec.service get", "spec.workload update"},
		"draft binding":     {"spec.service get", "spec.application update"},
		"synthetic service": {"spec.services[0] get"},
	}
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			asked := &asking{findings: lacking()}
			response := admission.Validator{Kind: s.kind, Authority: asked}.Handle(t.Context(), recordCase{}.request(s))
			if response.Allowed || response.Result.Code != http.StatusForbidden {
				t.Fatalf("answered %+v", response.Result)
			}
			var got []string
			for _, reference := range asked.asked[0].references {
				got = append(got, reference.Field.String()+" "+reference.Verb)
			}
			if diff := cmp.Diff(want[s.name], got); diff != "" {
				t.Errorf("asked about (-want +got):\n%s", diff)
			}
			kept := recordCase{isUpdate: true, more: `,"a":"b"`}.request(s)
			if response := (admission.Validator{Kind: s.kind, Authority: asked}).Handle(t.Context(), kept); !response.Allowed {
				t.Errorf("an annotation is refused: %+v", response.Result)
			}
			option := recordCase{isUpdate: true, more: `,"bowline.dev/env":"all"`}.request(s)
			response = admission.Validator{Kind: s.kind, Authority: asked}.Handle(t.Context(), option)
			if response.Allowed != (s.name == "synthetic service") {
				t.Errorf("an option: allowed is %v", response.Allowed)
			}
		})
	}
}
