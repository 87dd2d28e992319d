package authority_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	authenticationv1 "k8s.io/api/authentication/v1"
	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/internal/authority"
)

func drawUser(t *rapid.T) authenticationv1.UserInfo {
	texts := rapid.SliceOf(rapid.String())
	user := authenticationv1.UserInfo{
		Username: rapid.StringN(1, -1, -1).Draw(t, "name"), UID: rapid.String().Draw(t, "uid"),
		Groups: rapid.SliceOfDistinct(rapid.String(), rapid.ID[string]).Draw(t, "groups"),
	}
	for key, values := range rapid.MapOfN(rapid.String(), texts, 0, 4).Draw(t, "extra") {
		if user.Extra == nil {
			user.Extra = map[string]authenticationv1.ExtraValue{}
		}
		user.Extra[key] = values
	}
	return user
}

// TestRecord: what was told of a user comes back, and the order of groups makes no other record.
func TestRecord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		user := drawUser(t)
		record := authority.Record(user)
		got, err := authority.Requester(record)
		if err != nil {
			t.Fatal(err)
		}
		sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
		if diff := cmp.Diff(user, got, sorted, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("Requester(Record()) (-want +got):\n%s", diff)
		}
		other := user
		other.Groups = append(rapid.Permutation(user.Groups).Draw(t, "order"), user.Groups...)
		if again := authority.Record(other); again != record {
			t.Fatalf("the record is %s, then %s", record, again)
		}
	})
}

func TestRecordIsStable(t *testing.T) {
	t.Parallel()
	want := `{"username":"dev","uid":"u-1","groups":["team-a"],"extra":{"scopes":["x","y"]}}`
	if got := authority.Record(dev()); got != want {
		t.Errorf("Record() = %s, want %s, which stands in objects already", got, want)
	}
}

func TestRecordHasLimits(t *testing.T) {
	t.Parallel()
	user := dev()
	user.Groups = []string{strings.Repeat("g", authority.MaxRecord)}
	if got := authority.Record(user); got != "" {
		t.Errorf("a record of %d bytes is made, which annotations have no room for", len(got))
	}
	if got := authority.Record(authenticationv1.UserInfo{Groups: []string{"system:masters"}}); got != "" {
		t.Errorf("nobody is recorded as %s", got)
	}
}

// TestRequesterFailsClosed: nothing that is not a record gives anybody's authority.
func TestRequesterFailsClosed(t *testing.T) {
	t.Parallel()
	tests := []struct{ reason, record string }{
		{reason: "none", record: ""},
		{reason: "no JSON", record: "dev"},
		{reason: "more than one", record: authority.Record(dev()) + authority.Record(dev())},
		{reason: "groups alone", record: `{"groups":["system:masters"]}`},
		{reason: "another type", record: `{"username":["dev"]}`},
		{reason: "nothing", record: "null"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			user, err := authority.Requester(test.record)
			if err == nil {
				t.Fatalf("Requester() = %+v", user)
			}
			if diff := cmp.Diff(authenticationv1.UserInfo{}, user); diff != "" {
				t.Errorf("beside the error there is a user: %s", diff)
			}
			if errors.Is(err, authority.ErrNoRecord) != (test.record == "") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func FuzzRequester(f *testing.F) {
	for _, seed := range []string{"", "{}", authority.Record(dev()), `{"username":"a","username":""}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, record string) {
		user, err := authority.Requester(record)
		if err == nil && user.Username == "" {
			t.Errorf("%q gives nobody authority", record)
		}
	})
}
