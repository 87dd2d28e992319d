package produce

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/bowline-dev/bowline/internal/authority"
	"github.com/bowline-dev/bowline/internal/binding"
)

// judge answers by a list of who may what, and counts the questions.
type judge struct {
	may   map[string]bool // user and name
	err   error
	asked int
}

func (j *judge) May(
	_ context.Context, user authenticationv1.UserInfo, namespace string, refs []authority.Reference,
) (authority.Findings, error) {
	j.asked++
	var found authority.Findings
	for _, ref := range refs {
		if !j.may[user.Username+" "+ref.Name] {
			found.Lacking = append(found.Lacking, authority.Permission{Verb: ref.Verb, Namespace: namespace, Name: ref.Name})
		}
	}
	return found, j.err
}

var errAway = errors.New("the API server is away")

func refs(names ...string) []authority.Reference {
	var all []authority.Reference
	for _, name := range names {
		all = append(all, authority.Reference{Kind: binding.SecretKind, Name: name, Verb: authority.VerbRead})
	}
	return all
}

// TestPermits follows one person's permission through its being granted and taken away.
func TestPermits(t *testing.T) {
	ann := authority.Record(authenticationv1.UserInfo{Username: "ann"})
	bob := authority.Record(authenticationv1.UserInfo{Username: "bob"})
	j := &judge{may: map[string]bool{}}
	now := time.Unix(0, 0)
	p := newPermits(j, func() time.Time { return now })
	for _, step := range []struct {
		reason  string
		change  func()
		record  string
		names   []string
		refused string // a part of what is said; empty for allowed
		asked   int
		passing error
	}{
		{"who may not", func() {}, ann, []string{"a"}, `user "ann"`, 1, nil},
		{"a grant is not heard of at once", func() { j.may["ann a"] = true }, ann, []string{"a"}, `user "ann"`, 0, nil},
		{"it is after a while", func() { now = now.Add(remembered) }, ann, []string{"a"}, "", 1, nil},
		{"an answer is remembered", func() {}, ann, []string{"a"}, "", 0, nil},
		{"somebody else is asked about", func() {}, bob, []string{"a"}, `user "bob"`, 1, nil},
		{"something else is asked about", func() {}, ann, []string{"a", "b"}, `"b"`, 1, nil},
		{"all that is missing is named", func() {}, ann, []string{"b", "c"}, `"c"`, 1, nil},
		{"a grant that is taken away holds a little longer", func() { j.may["ann a"] = false }, ann, []string{"a"}, "", 0, nil},
		{"and no more than that", func() { now = now.Add(remembered) }, ann, []string{"a"}, `user "ann"`, 1, nil},
		{"a question without an answer", func() { j.err = errAway }, ann, []string{"d"}, "", 1, errAway},
		{"is asked again", func() { j.err, j.may["ann d"] = nil, true }, ann, []string{"d"}, "", 1, nil},
		{"nobody is recorded", func() {}, "", []string{"a"}, "nobody's authority", 0, nil},
		{"the record is none", func() {}, "{", []string{"a"}, "nobody's authority", 0, nil},
		{"the record names nobody", func() {}, `{"groups":["system:masters"]}`, []string{"a"}, "nobody's authority", 0, nil},
		{"the clock went back", func() { now = now.Add(-time.Hour) }, ann, []string{"d"}, "", 0, nil},
	} {
		step.change()
		j.asked = 0
		err := p.check(t.Context(), step.record, "shop", refs(step.names...))
		no, is := errors.AsType[*refusal](err)
		switch {
		case j.asked != step.asked:
			t.Errorf("%s: asked %d times, want %d", step.reason, j.asked, step.asked)
		case step.passing != nil && !errors.Is(err, step.passing), step.passing == nil && is != (step.refused != ""):
			t.Errorf("%s: the error is %v", step.reason, err)
		case is && !strings.Contains(no.message, step.refused):
			t.Errorf("%s: it says %s", step.reason, no.message)
		}
	}
}

// TestPermitsAreOfOneNamespace: an answer about one namespace is none about another.
func TestPermitsAreOfOneNamespace(t *testing.T) {
	j := &judge{may: map[string]bool{"ann a": true}}
	p := newPermits(j, time.Now)
	ann := authority.Record(authenticationv1.UserInfo{Username: "ann"})
	for _, namespace := range []string{"shop", "bank"} {
		if err := p.check(t.Context(), ann, namespace, refs("a")); err != nil {
			t.Error(err)
		}
	}
	if j.asked != 2 {
		t.Errorf("asked %d times", j.asked)
	}
}

// TestPermitsAreBounded: however many questions there are, memory does not grow without end, and the answers stay right.
func TestPermitsAreBounded(t *testing.T) {
	j := &judge{may: map[string]bool{"ann x7": true}}
	p := newPermits(j, time.Now)
	ann := authority.Record(authenticationv1.UserInfo{Username: "ann"})
	for i := range maxRemembered + 10 {
		name := fmt.Sprintf("x%d", i)
		err := p.check(t.Context(), ann, "shop", refs(name))
		if allowed := err == nil; allowed != (name == "x7") {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if len(p.answers) > maxRemembered {
		t.Errorf("%d answers are remembered", len(p.answers))
	}
}
