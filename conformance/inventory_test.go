package conformance

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// specification is the plain text of version 1.0, which is not part of this repository.
var specification = flag.String("spec", "", "compare the inventory with the plain text of the specification in this file")

func TestEveryRequirementHasAClause(t *testing.T) {
	t.Parallel()
	clauses := map[string]Clause{}
	for _, c := range Clauses() {
		clauses[c.Name] = c
	}
	tested := map[string]bool{}
	for _, r := range Inventory() {
		if len(r.Clauses) == 0 && r.Untestable == "" {
			t.Errorf("line %d, %s, %q: neither a clause nor a reason why there is none", r.Line, r.Level, r.Text)
		}
		for _, name := range r.Clauses {
			tested[name] = true
			if clauses[name].Name == "" {
				t.Errorf("line %d, %s, %q: there is no clause %s", r.Line, r.Level, r.Text, name)
			}
		}
	}
	for _, c := range Clauses() {
		if c.Level != Stated && !tested[c.Name] {
			t.Errorf("clause %s is a %s that no requirement asks for", c.Name, c.Level)
		}
	}
}

// A clause must be at least as strong as one of the requirements that it stands for, or it would let a breach pass.
func TestLevelsAreThoseOfTheText(t *testing.T) {
	t.Parallel()
	levels := map[string][]Level{}
	for _, c := range Clauses() {
		levels[c.Name] = append(levels[c.Name], c.Level)
	}
	for _, r := range Inventory() {
		if !r.Level.Binding() || r.Untestable != "" {
			continue
		}
		strong := slices.ContainsFunc(r.Clauses, func(name string) bool { return slices.ContainsFunc(levels[name], Level.Binding) })
		if !strong {
			t.Errorf("line %d, %s, %q: none of its clauses is a MUST", r.Line, r.Level, r.Text)
		}
	}
}

func TestInventoryIsComplete(t *testing.T) {
	t.Parallel()
	want := map[Level]int{Must: 59, MustNot: 3, Should: 13, ShouldNot: 1, Recommended: 5, May: 20}
	got := map[Level]int{}
	for _, r := range Inventory() {
		if r.Line > 0 {
			got[r.Level]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("normative words (-specification +inventory):\n%s", diff)
	}
	if *specification == "" {
		return
	}
	text, err := os.ReadFile(*specification)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wordsOf(string(text)), wordsOfInventory()); diff != "" {
		t.Errorf("normative words by line (-specification +inventory):\n%s", diff)
	}
}

// wordsOf lists the normative words of a text, with their lines; those of the section on notation are left out.
func wordsOf(text string) []string {
	word := regexp.MustCompile(`\b(MUST NOT|MUST|SHALL NOT|SHALL|REQUIRED|SHOULD NOT|SHOULD|NOT RECOMMENDED|RECOMMENDED|MAY|OPTIONAL)\b`)
	const afterNotation = 24
	var found []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		for _, w := range word.FindAllString(line, -1) {
			if number >= afterNotation {
				found = append(found, fmt.Sprintf("%d %s", number, w))
			}
		}
	}
	slices.Sort(found)
	return found
}

func wordsOfInventory() []string {
	var found []string
	for _, r := range Inventory() {
		if r.Line > 0 {
			found = append(found, fmt.Sprintf("%d %s", r.Line, r.Level))
		}
	}
	slices.Sort(found)
	return found
}

func TestClausesAreWellFormed(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	levels := []Level{Must, MustNot, Should, ShouldNot, Recommended, May, Stated}
	for _, c := range Clauses() {
		if !form.MatchString(c.Name) || seen[c.Name] {
			t.Errorf("clause %q: its name is no name, or there twice", c.Name)
		}
		seen[c.Name] = true
		if c.SpecRef == "" || c.Text == "" || c.Test == nil || !slices.Contains(levels, c.Level) {
			t.Errorf("clause %s lacks a section, a level, a text or a test", c.Name)
		}
		if _, err := parse(c.Manifests); err != nil {
			t.Errorf("clause %s: %v", c.Name, err)
		}
		if strings.Contains(c.Manifests, "KIND") {
			t.Errorf("clause %s: its manifests name no kind", c.Name)
		}
	}
}

// The mapping of a kind is the cluster's: a kind that one clause maps is used by no other, or they would disturb each other.
func TestNoTwoClausesMapOneKind(t *testing.T) {
	t.Parallel()
	isMapped := map[string]bool{}
	users := map[string][]string{}
	for _, c := range Clauses() {
		objects, err := parse(c.Manifests)
		if err != nil {
			t.Fatal(err)
		}
		for name, maps := range inventedIn(objects) {
			isMapped[name] = isMapped[name] || maps
			users[name] = append(users[name], c.Name)
		}
	}
	for name, clauses := range users {
		if isMapped[name] && len(clauses) > 1 {
			t.Errorf("%s is mapped and used by the clauses %s", name, clauses)
		}
	}
}

// inventedIn names the kinds of workloads that objects are of or map, and says whether they are mapped.
func inventedIn(objects []*unstructured.Unstructured) map[string]bool {
	found := map[string]bool{}
	for _, o := range objects {
		group := o.GroupVersionKind().Group
		name := kind{group, o.GetKind()}.name()
		switch {
		case o.GetKind() == "ClusterWorkloadResourceMapping":
			found[o.GetName()] = true
		case (group == workloadGroup || group == lateGroup) && !found[name]:
			found[name] = false
		}
	}
	return found
}

// What the specification asks of those who publish services, the suite's own services keep.
func TestOwnSecretsFollowTheConventions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{secretManifest, otherSecretManifest} {
		objects, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var s corev1.Secret
		if err := decode(objects[0].Object, &s); err != nil {
			t.Fatal(err)
		}
		if want := corev1.SecretType("servicebinding.io/" + s.StringData["type"]); s.Type != want {
			t.Errorf("Secret %s is of type %s, not %s", s.Name, s.Type, want)
		}
		if s.StringData["provider"] == "" {
			t.Errorf("Secret %s has no provider", s.Name)
		}
		if port, ok := s.StringData["port"]; ok {
			if _, err := strconv.ParseUint(port, 10, 16); err != nil {
				t.Errorf("Secret %s has the port %s", s.Name, port)
			}
		}
	}
	service := kind{serviceGroup, "Database"}.definition()
	if service.GetLabels()["servicebinding.io/provisioned-service"] != "true" {
		t.Error("the definition of a service's kind lacks its label")
	}
}
