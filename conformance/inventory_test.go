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

// The texts themselves are not part of this repository.
var (
	specification = flag.String("spec", "", "compare the inventory with the plain text of the specification in this file")
	earlyDraft    = flag.String("draft", "", "compare the inventory of the early draft with its text in this file")
)

// text is what tests know of one.
type text struct {
	api  API
	file *string
	// words are how often each stands in it; those before a line, which is after the section on notation, do not count.
	words         map[Level]int
	afterNotation int
}

func texts() []text {
	return []text{
		{
			api: Specification, file: specification, afterNotation: 24,
			words: map[Level]int{Must: 59, MustNot: 3, Should: 13, ShouldNot: 1, Recommended: 5, May: 20},
		},
		{
			api: EarlyDraft, file: earlyDraft, afterNotation: 66,
			words: map[Level]int{Must: 44, MustNot: 3, Should: 5, ShouldNot: 1, Recommended: 6, May: 15},
		},
	}
}

// forEachText runs a test for each text.
func forEachText(t *testing.T, test func(t *testing.T, of text, clauses []Clause, inventory []Requirement)) {
	t.Helper()
	t.Parallel()
	for _, of := range texts() {
		t.Run(string(of.api), func(t *testing.T) {
			t.Parallel()
			clauses, err := ClausesOf(of.api)
			if err != nil {
				t.Fatal(err)
			}
			inventory, err := InventoryOf(of.api)
			if err != nil {
				t.Fatal(err)
			}
			test(t, of, clauses, inventory)
		})
	}
}

func TestEveryRequirementHasAClause(t *testing.T) { forEachText(t, testEveryRequirement) }

func testEveryRequirement(t *testing.T, _ text, all []Clause, inventory []Requirement) {
	t.Helper()
	clauses := map[string]Clause{}
	for _, c := range all {
		clauses[c.Name] = c
	}
	tested := map[string]bool{}
	for _, r := range inventory {
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
	for _, c := range all {
		if c.Level != Stated && !tested[c.Name] {
			t.Errorf("clause %s is a %s that no requirement asks for", c.Name, c.Level)
		}
	}
}

// A clause must be at least as strong as one of the requirements that it stands for, or it would let a breach pass.
func TestLevelsAreThoseOfTheText(t *testing.T) { forEachText(t, testLevels) }

func testLevels(t *testing.T, _ text, all []Clause, inventory []Requirement) {
	t.Helper()
	levels := map[string][]Level{}
	for _, c := range all {
		levels[c.Name] = append(levels[c.Name], c.Level)
	}
	for _, r := range inventory {
		if !r.Level.Binding() || r.Untestable != "" {
			continue
		}
		strong := slices.ContainsFunc(r.Clauses, func(name string) bool { return slices.ContainsFunc(levels[name], Level.Binding) })
		if !strong {
			t.Errorf("line %d, %s, %q: none of its clauses is a MUST", r.Line, r.Level, r.Text)
		}
	}
}

func TestInventoryIsComplete(t *testing.T) { forEachText(t, testInventory) }

func testInventory(t *testing.T, of text, _ []Clause, inventory []Requirement) {
	t.Helper()
	got := map[Level]int{}
	for _, r := range inventory {
		if r.Line > 0 {
			got[r.Level]++
		}
	}
	if diff := cmp.Diff(of.words, got); diff != "" {
		t.Errorf("normative words (-text +inventory):\n%s", diff)
	}
	if *of.file == "" {
		return
	}
	content, err := os.ReadFile(*of.file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(of.wordsOf(string(content)), wordsOf(inventory)); diff != "" {
		t.Errorf("normative words by line (-text +inventory):\n%s", diff)
	}
}

// wordsOf lists the normative words of the text, with their lines; those of the section on notation are left out.
func (of text) wordsOf(content string) []string {
	word := regexp.MustCompile(`\b(MUST NOT|MUST|SHALL NOT|SHALL|REQUIRED|SHOULD NOT|SHOULD|NOT RECOMMENDED|RECOMMENDED|MAY|OPTIONAL)\b`)
	var found []string
	number := 0
	for line := range strings.Lines(content) {
		number++
		for _, w := range word.FindAllString(line, -1) {
			if number >= of.afterNotation {
				found = append(found, fmt.Sprintf("%d %s", number, w))
			}
		}
	}
	slices.Sort(found)
	return found
}

func wordsOf(inventory []Requirement) []string {
	var found []string
	for _, r := range inventory {
		if r.Line > 0 {
			found = append(found, fmt.Sprintf("%d %s", r.Line, r.Level))
		}
	}
	slices.Sort(found)
	return found
}

func TestClausesAreWellFormed(t *testing.T) { forEachText(t, testWellFormed) }

func testWellFormed(t *testing.T, _ text, all []Clause, _ []Requirement) {
	t.Helper()
	form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	levels := []Level{Must, MustNot, Should, ShouldNot, Recommended, May, Stated}
	for _, c := range all {
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
func TestNoTwoClausesMapOneKind(t *testing.T) { forEachText(t, testOneKind) }

func testOneKind(t *testing.T, _ text, all []Clause, _ []Requirement) {
	t.Helper()
	isMapped := map[string]bool{}
	users := map[string][]string{}
	for _, c := range all {
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
	for _, manifest := range []string{secretManifest, otherSecretManifest} {
		objects, err := parse(manifest)
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
