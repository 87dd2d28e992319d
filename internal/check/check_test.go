package check_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/check"
)

// now is when all checks are made.
var now = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// subject is a binding of nothing in particular with some entries changed; "-" takes one away.
func subject(changes map[string]string) *check.Subject {
	data := map[string][]byte{"type": []byte("test"), "provider": []byte("p")}
	for name, value := range changes {
		data[name] = []byte(value)
		if value == "-" {
			delete(data, name)
		}
	}
	return &check.Subject{Name: "x", Entries: check.Values(data), Bound: true}
}

// findings are short forms: severity, rule, entry and library.
func findings(r check.Report) []string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, strings.TrimSpace(strings.Join([]string{string(f.Severity), f.Rule, f.Entry, f.Library}, " ")))
	}
	return all
}

func postgresql(changes map[string]string) *check.Subject {
	s := map[string]string{"type": "postgresql", "host": "db", "port": "5432", "database": "d", "username": "u", "password": "p"}
	maps.Copy(s, changes)
	return subject(s)
}

func with(s *check.Subject, change func(*check.Subject)) *check.Subject {
	change(s)
	return s
}

func secretType(is string) func(*check.Subject) { return func(s *check.Subject) { s.Secret = &is } }

func expired(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.AddDate(-2, 0, 0), NotAfter: now.AddDate(-1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

type ruleCase struct {
	reason  string
	subject *check.Subject
	want    []string
}

func specificationCases(t *testing.T) []ruleCase {
	t.Helper()
	return []ruleCase{
		{"a type that the catalogue does not know", subject(nil), nil},
		{"no type, in a container", subject(map[string]string{"type": "-"}), []string{"error type type"}},
		{"no type, in a Secret", with(subject(map[string]string{"type": "-"}), func(s *check.Subject) { s.Bound = false }), []string{"warning type type"}},
		{"the binding gives the type", with(subject(map[string]string{"type": "-"}), func(s *check.Subject) { s.Type = "t" }), nil},
		{"an empty type", subject(map[string]string{"type": "\n"}), []string{"error type type", "warning empty type"}},
		{"no provider", subject(map[string]string{"provider": "-"}), []string{"info provider provider"}},
		{"a line break after the type", subject(map[string]string{"type": "test\n"}), []string{"warning line-break type"}},
		{"the Secret's type is another", with(subject(nil), secretType("servicebinding.io/other")), []string{"warning secret-type type"}},
		{"the Secret's type is the same", with(subject(nil), secretType("servicebinding.io/test")), nil},
		{"the Secret's type is nothing", with(subject(nil), secretType("Opaque")), []string{"info secret-type"}},
		{"a host that is none", subject(map[string]string{"host": "http://x"}), []string{"error well-known host"}},
		{"a port that is none", subject(map[string]string{"port": "http"}), []string{"error well-known port"}},
		{"a URI with two hosts", subject(map[string]string{"uri": "a://b:1,c:2/"}), []string{"error well-known uri"}},
		{"certificates that are none", subject(map[string]string{"certificates": "x"}), []string{"error well-known certificates"}},
		{"a key that is none", subject(map[string]string{"private-key": "x"}), []string{"error well-known private-key"}},
		{"a user that is no text", subject(map[string]string{"username": "\xff"}), []string{"error well-known username"}},
		{"expired certificates", subject(map[string]string{"certificates": expired(t)}), []string{"warning expired certificates"}},
		{"capitals in a name", subject(map[string]string{"userName": "x"}), []string{"warning entry-name userName"}},
		{"a hidden name", subject(map[string]string{".x": "x"}), []string{"warning entry-name .x"}},
		{"a name of the kubelet", subject(map[string]string{"..x": "x"}), []string{"error entry-name ..x"}},
		{"a name that no Secret takes", with(subject(map[string]string{"a b": "x"}), secretType("servicebinding.io/test")), []string{"error entry-name a b"}},
		{"too much", with(subject(map[string]string{"x": strings.Repeat("x", 1<<20)}), secretType("servicebinding.io/test")), []string{"error size"}},
		{"a directory with capitals", with(subject(nil), func(s *check.Subject) { s.Directory = "DB" }), []string{"error binding-name"}},
		{
			"variables", with(subject(map[string]string{"type": "-", "host": "h"}), func(s *check.Subject) { s.Type, s.Env = "t", []string{"type", "host", "none"} }),
			[]string{"error env none"},
		},
		{
			"what is not known is not checked", &check.Subject{Unknown: true, Found: []check.Finding{{Severity: check.Error, Rule: check.RuleService}}},
			[]string{"error service"},
		},
	}
}

func TestSpecification(t *testing.T) {
	t.Parallel()
	for _, test := range specificationCases(t) {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := slices.DeleteFunc(findings(check.Check(test.subject, now)), func(f string) bool { return f == "info unknown-type type" })
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	for _, test := range []ruleCase{
		{"all that is needed", postgresql(nil), nil},
		{"a value that is none of those there are", postgresql(map[string]string{"sslmode": "maybe"}), []string{"warning value sslmode"}},
		{"an empty value", postgresql(map[string]string{"database": ""}), []string{"warning empty database"}},
		{"a line break after a password", postgresql(map[string]string{"password": "p\n"}), []string{"warning line-break password"}},
		{
			"nowhere to connect to", postgresql(map[string]string{"host": "-"}),
			[]string{
				"warning library-needs  kube-service-bindings", "warning library-needs  quarkus", "warning library-needs  spring-cloud-bindings",
				"warning library-needs  steeltoe", "warning required host",
			},
		},
		{"a URI for everything", subject(map[string]string{"type": "redis", "uri": "redis://h"}), []string{
			"warning library-needs  kube-service-bindings", "warning library-needs  spring-cloud-bindings", "warning library-needs  steeltoe",
			"warning library-spelling uri spring-cloud-bindings",
		}},
		{
			"the user that an operator emits and two libraries do not look for",
			subject(map[string]string{
				"type": "kafka", "bootstrapServers": "b:1", "bootstrap-servers": "b:1", "username": "u", "password": "p",
			}),
			[]string{
				"warning entry-name bootstrapServers", // the specification asks for lower case
				"warning library-spelling username kube-service-bindings", "warning library-spelling username quarkus",
			},
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got := slices.DeleteFunc(findings(check.Check(test.subject, now)), func(f string) bool { return strings.HasPrefix(f, "info") })
			if diff := cmp.Diff(test.want, append([]string(nil), got...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnread(t *testing.T) {
	t.Parallel()
	got := findings(check.Check(postgresql(map[string]string{"certificates": "-", "sslmode": "require", "favourite-colour": "blue"}), now))
	for _, want := range []string{"info library-unread favourite-colour", "info library-unread  quarkus", "info library-unread  steeltoe"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not found: %q", want, got)
		}
	}
}

// No report holds a value, whatever is wrong with it.
func TestReportsHoldNoValue(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for name := range map[string]bool{
		"host": true, "port": true, "uri": true, "username": true, "password": true, "certificates": true, "private-key": true,
		"sslmode": true, "sslrootcert": true, "options": true, "ca.crt": true, "other": true,
	} {
		for _, value := range []string{secret, secret + " " + secret, "\x00" + secret, secret + "://" + secret + ":" + secret, secret + "\n"} {
			text, err := json.Marshal(check.Check(postgresql(map[string]string{name: value}), now))
			if err != nil || strings.Contains(string(text), secret) {
				t.Errorf("the report on %s holds it: %s (%v)", name, text, err)
			}
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	reports := []check.Report{{Findings: []check.Finding{{Severity: check.Error}, {Severity: check.Info}}}, {Findings: []check.Finding{{Severity: check.Error}}}}
	if check.Count(reports, check.Error) != 2 || check.Count(reports, check.Warning) != 0 {
		t.Error("the count is wrong")
	}
}

// Each rule has its row in the reference, with the severities that it comes with.
func TestEveryRuleIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reference/check.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range []string{
		check.RuleBinding, check.RuleService, check.RuleName, check.RuleType, check.RuleProvider, check.RuleSecretType, check.RuleEntryName,
		check.RuleWellKnown, check.RuleValue, check.RuleLineBreak, check.RuleEmpty, check.RuleExpired, check.RuleSize, check.RuleEnv,
		check.RuleRequired, check.RuleNeeds, check.RuleSpelling, check.RuleUnread, check.RuleUnknownType,
	} {
		if !strings.Contains(string(text), "| `"+rule+"` |") {
			t.Errorf("check.md has no row for %s", rule)
		}
	}
}
