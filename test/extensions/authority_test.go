package extensions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/binding"
	"github.com/bowline-dev/bowline/internal/produce"
)

// treasure is a value that nobody may get who may not read the Secret that it is in.
const treasure = "treasure-canary"

// mallory may bind, deploy and describe databases, but of Secrets may only read the one called own.
const mallory = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: mallory}
rules:
- {apiGroups: [service.binding, servicebinding.io, apps, apps.kube.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [secrets], resourceNames: [own], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: mallory}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: mallory}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
`

// guarded is a place with two Secrets, of which mallory may read one. It waits until the API server knows that.
func guarded(t *testing.T) (root, user *place) {
	t.Helper()
	t.Parallel()
	root = newPlace(t, admin)
	root.create(documents(plainSecret("own", "harmless"), plainSecret("other", treasure), mallory))
	user = root.as("mallory")
	root.until("mallory may read one Secret", func() error {
		_, err := user.of(secretKind).Get(t.Context(), "own", metav1.GetOptions{})
		return err
	})
	return root, user
}

// withholds sees that no Secret that was made has the treasure.
func (p *place) withholds() {
	p.t.Helper()
	for _, secret := range p.made("") {
		if entries := p.entries(&secret); strings.Contains(fmt.Sprint(entries), treasure) {
			p.t.Errorf("Secret %s holds it: %v", secret.GetName(), entries)
		}
	}
}

var own = map[string]string{"type": "x", "password": "harmless", "uri": "db.example.com"}

// TestAnnotationsOpenNoSecret: whoever edits a service's description gets no Secret by it that they may not read, be it
// before they bind or after.
func TestAnnotationsOpenNoSecret(t *testing.T) {
	root, user := guarded(t)
	user.create(documents(databaseText("db", "other"), deploymentText("app"), bindingText("app", "db")))
	message := fmt.Sprint(root.condition(bindingKind, "app", "ServiceAvailable", produce.ReasonRequester)["message"])
	if !strings.Contains(message, `user "mallory", who asked for it, may not get secrets "other"`) {
		t.Errorf("the message is: %s", message)
	}
	if made, got := root.made(""), root.projected("app"); len(made)+len(got) > 0 {
		t.Errorf("something was made: %v, and projected: %v", made, got)
	}

	user.merge(databaseKind, "db", `{"status":{"credentials":"own"}}`)
	root.ready("app")
	before := root.makes(produce.ForService, own)

	user.merge(databaseKind, "db", `{"metadata":{"annotations":{"service.binding":"path={.status.other},objectType=Secret"}},"status":{"other":"other"}}`)
	root.condition(bindingKind, "app", "ServiceAvailable", produce.ReasonRequester)
	after := root.makes(produce.ForService, own)
	if before.GetResourceVersion() != after.GetResourceVersion() {
		t.Error("the Secret was written")
	}
	root.remove(bindingKind, "app")
	root.gone(bindingKind, "app")
	root.unmade()
}

// TestNobodyElsesAuthorityIsBorrowed: what a service is made to point to after a binding was projected does not come to it
// through another binding whose requester may read it.
func TestNobodyElsesAuthorityIsBorrowed(t *testing.T) {
	root, user := guarded(t)
	root.create(documents(databaseText("db", "own"), deploymentText("theirs"), bindingText("theirs", "db")))
	user.create(documents(deploymentText("app"), bindingText("app", "db")))
	root.ready("theirs", "app")
	user.merge(databaseKind, "db", `{"status":{"credentials":"other"}}`)
	root.condition(bindingKind, "app", "ServiceAvailable", produce.ReasonRequester)
	message := fmt.Sprint(root.condition(bindingKind, "theirs", "ServiceAvailable", produce.ReasonSecretShared)["message"])
	if !strings.Contains(message, `binding "app"`) {
		t.Errorf("the message does not say who is in the way: %s", message)
	}
	root.withholds()
	if diff := cmp.Diff(root.projected("app"), root.projected("theirs")); diff != "" {
		t.Errorf("they have not the same Secret:\n%s", diff)
	}
	root.remove(bindingKind, "app")
	root.gone(bindingKind, "app")
	root.makes(produce.ForService, map[string]string{"type": "x", "password": treasure, "uri": "db.example.com"})
	root.ready("theirs")
}

// TestOnlyWhoMayIsServed: of two bindings of one service the one is projected whose requester may read what it points to,
// also into workloads that come later; the other one is not, whatever is done to it.
func TestOnlyWhoMayIsServed(t *testing.T) {
	root, user := guarded(t)
	root.create(documents(databaseText("db", "other"), deploymentText("theirs"), bindingText("theirs", "db")))
	root.ready("theirs")
	user.create(documents(deploymentText("app"), bindingText("app", "db")))
	root.condition(bindingKind, "app", "ServiceAvailable", produce.ReasonRequester)
	user.create(bindingText("late", "db"))
	user.create(deploymentText("late"))
	root.condition(bindingKind, "late", "ServiceAvailable", produce.ReasonRequester)
	for _, name := range []string{"app", "late"} {
		if got := root.projected(name); len(got) > 0 {
			t.Errorf("%v is projected into %s", got, name)
		}
	}
	root.makes(produce.ForService, map[string]string{"type": "x", "password": treasure, "uri": "db.example.com"})

	// Another one's binding that is changed is no longer another one's.
	user.merge(bindingKind, "theirs", `{"spec":{"workload":{"name":"app"}}}`)
	root.condition(bindingKind, "theirs", "ServiceAvailable", produce.ReasonRequester)
	if got := root.projected("app"); len(got) > 0 {
		t.Errorf("%v is projected into app", got)
	}
}

// TestWhatIsDeletedAsksForNothing: a binding that is being deleted, for as long as its author pleases, stands for nobody.
func TestWhatIsDeletedAsksForNothing(t *testing.T) {
	root, user := guarded(t)
	held := strings.Replace(bindingText("app", "db"), "{name: app}", "{name: app, finalizers: [example.com/forever]}", 1)
	user.create(documents(deploymentText("app"), databaseText("db", "other"), held))
	root.condition(bindingKind, "app", "ServiceAvailable", produce.ReasonRequester)
	user.remove(bindingKind, "app")
	// The service is looked at again after each change of it; a second one, looked at later, tells that it was.
	user.merge(databaseKind, "db", `{"status":{"url":"another.example.com"}}`)
	user.create(documents(deploymentText("next"), databaseText("next", "own"), bindingText("next", "next")))
	root.ready("next")
	root.makes(produce.ForService, own)
	root.withholds()
	user.merge(bindingKind, "app", `{"metadata":{"finalizers":null}}`)
	root.gone(bindingKind, "app")
}

// TestNoRecordIsForged: who asked is what the API server says, whatever the object claims, and however it is sent.
func TestNoRecordIsForged(t *testing.T) {
	root, user := guarded(t)
	claim := `{"username":"root","groups":["system:masters"]}`
	forged := func(text string) string {
		return strings.Replace(text, "metadata: {", fmt.Sprintf("metadata: {annotations: {%s: '%s'}, ", binding.RequesterAnnotation, claim), 1)
	}
	user.create(documents(deploymentText("app"), databaseText("db", "other"), forged(bindingText("app", "db")), forged(draftText("draft", "db"))))
	user.create(forged(syntheticText("mine", "own")))
	sent, err := parse(forged(bindingText("applied", "db")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := user.of(bindingKind).Apply(t.Context(), "applied", sent[0], metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
		t.Fatal(err)
	}
	records := func(what string) {
		t.Helper()
		for _, object := range []struct {
			of   schema.GroupVersionKind
			name string
		}{{bindingKind, "app"}, {draftKind, "draft"}, {syntheticKind, "mine"}, {bindingKind, "applied"}} {
			record := root.get(object.of, object.name).GetAnnotations()[binding.RequesterAnnotation]
			if !strings.Contains(record, `"username":"mallory"`) || strings.Contains(record, "masters") {
				t.Errorf("%s: the record of %s %s is %s", what, object.of.Kind, object.name, record)
			}
		}
	}
	records("created")
	patch := fmt.Sprintf(`{"metadata":{"labels":{"a":"b"},"annotations":{%q:%q}}}`, binding.RequesterAnnotation, claim)
	user.merge(bindingKind, "app", patch)
	user.merge(draftKind, "draft", patch)
	user.merge(syntheticKind, "mine", patch)
	records("changed")
	// An administrator's label, or even their idea of who asked, lends nobody their authority.
	root.merge(bindingKind, "app", patch)
	root.merge(draftKind, "draft", `{"metadata":{"labels":{"a":"c"}}}`)
	root.merge(syntheticKind, "mine", `{"metadata":{"annotations":null}}`)
	records("touched by another one")
	root.condition(bindingKind, "app", "ServiceAvailable", produce.ReasonRequester)
	root.condition(draftKind, "draft", "ServiceAvailable", produce.ReasonRequester)
	root.condition(syntheticKind, "mine", "Ready", produce.ReasonMade)
	root.withholds()
}

// TestSyntheticSourcesAreTheAuthors: nobody makes a synthetic service of what they may not read.
func TestSyntheticSourcesAreTheAuthors(t *testing.T) {
	root, user := guarded(t)
	err := user.try(syntheticText("stolen", "other"))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `get secrets "other"`) {
		t.Errorf("it is answered with %v", err)
	}
	user.create(syntheticText("mine", "own"))
	root.makes(produce.ForSynthetic, map[string]string{"type": "x", "password": "harmless"})
	err = user.tryMerge(syntheticKind, "mine", `{"spec":{"services":[{"apiVersion":"v1","kind":"Secret","name":"other","id":"source"}]}}`)
	if !apierrors.IsForbidden(err) {
		t.Errorf("a change is answered with %v", err)
	}
	// What was made is a Secret like any other: who may not read Secrets may not read it.
	name := root.made(produce.ForSynthetic)[0].GetName()
	if _, err := user.of(secretKind).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("reading what was made is answered with %v", err)
	}
	err = user.try(strings.Replace(bindingText("thief", "x"), "apps.kube.io/v1beta1, kind: Database, name: x", "v1, kind: Secret, name: "+name, 1))
	if !apierrors.IsForbidden(err) {
		t.Errorf("binding what was made is answered with %v", err)
	}
	if roles := root.list(roleKind); len(roles) != 1 {
		t.Errorf("there are %d roles: somebody made one", len(roles))
	}
}

// TestNamesLeadNowhereElse: what a description leads to is a name, and one of the service's own namespace.
func TestNamesLeadNowhereElse(t *testing.T) {
	t.Parallel()
	root := newPlace(t, admin)
	far := newPlace(t, admin)
	far.create(plainSecret("far", treasure))
	root.create(documents(databaseText("db", "x"), deploymentText("app"), bindingText("app", "db")))
	for _, status := range []string{
		fmt.Sprintf(`{"credentials":"../%s/far"}`, far.ns), fmt.Sprintf(`{"credentials":"%s/far"}`, far.ns),
		`{"credentials":"../../namespaces/x/secrets/far"}`, `{"credentials":"far?x=y"}`, `{"credentials":"far,metadata.namespace=x"}`,
		`{"credentials":".."}`, `{"credentials":"%2e%2e%2ffar"}`,
		fmt.Sprintf(`{"credentials":{"name":"far","namespace":%q}}`, far.ns),
	} {
		root.merge(databaseKind, "db", `{"status":{"credentials":null}}`)
		root.merge(databaseKind, "db", `{"status":`+status+`}`)
		root.until("the binding says what is wrong with "+status, func() error {
			c := root.condition(bindingKind, "app", "ServiceAvailable", produce.ReasonDescription)
			if message := fmt.Sprint(c["message"]); !strings.Contains(message, "own namespace") {
				return fmt.Errorf("it says: %s", message)
			}
			return nil
		})
	}
	root.withholds()
	if made := root.made(""); len(made) > 0 {
		t.Errorf("something was made: %v", made)
	}
}

// TestPlatformSecretsAreNoSources: what carries the platform's own credentials is read by nobody, and nobody learns that it
// is there.
func TestPlatformSecretsAreNoSources(t *testing.T) {
	t.Parallel()
	root := newPlace(t, admin)
	root.create(documents(deploymentText("app"), databaseText("db", "nothing"), bindingText("app", "db")))
	absent := fmt.Sprint(root.condition(bindingKind, "app", "ServiceAvailable", produce.ReasonSourceMissing)["message"])
	for name, kind := range map[string]string{
		"release": "helm.sh/release.v1", "token": "kubernetes.io/service-account-token", "registry": "kubernetes.io/dockerconfigjson",
	} {
		text := strings.Replace(plainSecret(name, treasure), "stringData: {", fmt.Sprintf("type: %s\nstringData: {.dockerconfigjson: '{}', ", kind), 1)
		if name == "token" {
			text = strings.Replace(text, "metadata: {", "metadata: {annotations: {kubernetes.io/service-account.name: default}, ", 1)
		}
		root.until("there is a Secret "+name, func() error { return root.try(text) }) // the account comes by itself
		root.create(documents(databaseText(name, name), deploymentText(name), bindingText(name, name), syntheticText(name, name)))
		c := root.condition(bindingKind, name, "ServiceAvailable", produce.ReasonSourceMissing)
		want := strings.NewReplacer(`"nothing"`, fmt.Sprintf("%q", name), `"db"`, fmt.Sprintf("%q", name)).Replace(absent)
		if diff := cmp.Diff(want, fmt.Sprint(c["message"])); diff != "" {
			t.Errorf("it is told from one that is not there (-absent +%s):\n%s", kind, diff)
		}
		root.condition(syntheticKind, name, "SourcesAvailable", produce.ReasonSourceMissing)
	}
	if made := root.made(""); len(made) > 0 {
		t.Errorf("something was made: %v", made)
	}
}
