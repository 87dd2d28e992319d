package admission_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/admission"
	"github.com/bowline-dev/bowline/internal/authority"
)

// asking answers as it is told and notes who was asked about.
type asking struct {
	findings authority.Findings
	err      error
	asked    []question
}

type question struct {
	user       authenticationv1.UserInfo
	namespace  string
	references []authority.Reference
}

func (a *asking) May(
	_ context.Context, user authenticationv1.UserInfo, namespace string, references []authority.Reference,
) (authority.Findings, error) {
	a.asked = append(a.asked, question{user: user, namespace: namespace, references: references})
	return a.findings, a.err
}

func lacking() authority.Findings {
	return authority.Findings{Lacking: []authority.Permission{
		{
			Field: "spec.service", Verb: "get", Namespace: "shop", Name: "db",
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"},
		},
		{
			Field: "spec.workload", Verb: "update", Namespace: "shop",
			Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		},
	}}
}

type authorityCase struct {
	reason      string
	object, old string
	authority   asking
	warnOnly    bool
	asked       bool
	code        int32 // 0 where the request is allowed
	message     []string
	warnings    int
}

func authorityCases() map[string]authorityCase {
	bare := bindingJSON(`{"name":"b"}`)
	edited := strings.Replace(bare, `"name":"db"`, `"name":"root"`, 1)
	return map[string]authorityCase{
		"permitted": {reason: "nothing stands against it", object: bare, asked: true},
		"lacking": {
			reason: "the user is told what they lack and how to get it", object: bare, authority: asking{findings: lacking()},
			asked: true, code: http.StatusForbidden,
			message: []string{
				`user "dev"`, `get secrets "db" in namespace "shop" (for spec.service)`,
				`update deployments.apps in namespace "shop" (for spec.workload)`, "kind: Role", `resourceNames: ["db"]`,
			},
		},
		"spec changed": {
			reason: "a change needs what a new binding does", object: edited, old: bare, authority: asking{findings: lacking()},
			asked: true, code: http.StatusForbidden,
		},
		"spec kept": {
			reason: "what leaves the spec alone changes no authority", old: bare,
			object:    bindingJSON(`{"name":"b","labels":{"a":"b"},"finalizers":["x/y"]}`),
			authority: asking{findings: lacking()},
		},
		"spec kept, but for what is nothing": {
			reason: "an empty list is no list", object: strings.Replace(bare, `"spec":{`, `"spec":{"env":[],`, 1), old: bare,
			authority: asking{findings: lacking()},
		},
		"not known": {
			reason: "what cannot be found out is refused", object: bare, authority: asking{err: errors.New("timed out")},
			asked: true, code: http.StatusInternalServerError, message: []string{"timed out", "try again"},
		},
		"broken": {
			reason: "rules come first", object: strings.Replace(bare, `"spec":{`, `"spec":{"name":"../x",`, 1), code: 422,
		},
		"cluster-scoped": {
			reason: "it is a rule like others", object: bare, asked: true, code: 422, message: []string{"spec.service.kind"},
			authority: asking{findings: authority.Findings{
				Unfit: field.ErrorList{field.Forbidden(field.NewPath("spec", "service", "kind"), "cluster-scoped")},
			}},
		},
		"lacking, warned": {
			reason: "each lack is a warning", object: bare, authority: asking{findings: lacking()}, warnOnly: true, asked: true, warnings: 2,
		},
		"not known, warned": {
			reason: "that is a warning, too", object: bare, authority: asking{err: errors.New("timed out")},
			warnOnly: true, asked: true, warnings: 1,
		},
	}
}

func TestAuthorityOfTheAuthor(t *testing.T) {
	t.Parallel()
	for name, c := range authorityCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request("ServiceBinding", c.object, c.old)
			req.UserInfo.Username = "dev"
			response := admission.Validator{Kind: admission.Bindings(), Authority: &c.authority, WarnOnly: c.warnOnly}.Handle(t.Context(), req)
			if response.Allowed != (c.code == 0) || c.code != 0 && response.Result.Code != c.code {
				t.Fatalf("%s: allowed is %v: %+v", c.reason, response.Allowed, response.Result)
			}
			if got := len(c.authority.asked) > 0; got != c.asked {
				t.Errorf("%s: asked is %v", c.reason, got)
			}
			for _, part := range c.message {
				if !strings.Contains(response.Result.Message, part) {
					t.Errorf("%s: the message lacks %q: %s", c.reason, part, response.Result.Message)
				}
			}
			if len(response.Warnings) != c.warnings || strings.Contains(strings.Join(response.Warnings, ""), "\n") {
				t.Errorf("%s: warnings are %q, want %d of one line each", c.reason, response.Warnings, c.warnings)
			}
		})
	}
}

func TestAuthorityIsAskedAboutTheRequest(t *testing.T) {
	t.Parallel()
	req := request("ServiceBinding", bindingJSON(`{"name":"b","namespace":"elsewhere"}`), "")
	req.UserInfo.Username, req.UserInfo.Groups = "dev", []string{"team"}
	asked := &asking{}
	admission.Validator{Kind: admission.Bindings(), Authority: asked}.Handle(t.Context(), req)
	if len(asked.asked) != 1 {
		t.Fatalf("asked %d times, want once", len(asked.asked))
	}
	got := asked.asked[0]
	if diff := cmp.Diff(req.UserInfo, got.user); diff != "" {
		t.Errorf("user (-want +got):\n%s", diff)
	}
	if len(got.references) != 2 || got.namespace != req.Namespace || got.references[0].Name != "db" {
		t.Errorf("asked about %+v in %s", got.references, got.namespace)
	}
}
