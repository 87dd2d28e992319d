package compose_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bowline-dev/bowline/internal/compose"
	"github.com/bowline-dev/bowline/projection"
)

// annotations are env, env-prefix and env-case; an empty one is missing, and - stands for an empty one.
func annotations(all, prefix, letters string) map[string]string {
	set := map[string]string{"other": "x"}
	for key, value := range map[string]string{"bowline.dev/env": all, "bowline.dev/env-prefix": prefix, "bowline.dev/env-case": letters} {
		if value != "" {
			set[key] = strings.TrimPrefix(value, "-")
		}
	}
	return set
}

func TestParseEnvRule(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason string
		given  map[string]string
		want   *compose.EnvRule
		faults []string
	}{
		{reason: "no annotation", given: annotations("", "", "")},
		{reason: "all", given: annotations("all", "", ""), want: &compose.EnvRule{Case: "upper"}},
		{reason: "an empty prefix is none", given: annotations("all", "-", ""), want: &compose.EnvRule{Case: "upper"}},
		{reason: "prefix and case", given: annotations("all", "DB_", "keep"), want: &compose.EnvRule{Prefix: "DB_", Case: "keep"}},
		{reason: "unknown values", given: annotations("some", "1-", "Upper"), faults: []string{
			`metadata.annotations[bowline.dev/env]: must be "all"; correct the value, or remove the annotation`,
			"metadata.annotations[bowline.dev/env-prefix]: must match ^[A-Za-z_][A-Za-z0-9_]{0,62}$; use letters, digits and '_', no digit first",
			`metadata.annotations[bowline.dev/env-case]: must be "upper", "lower" or "keep"; correct the value, or remove the annotation`,
		}},
		{reason: "empty values", given: annotations("-", "", "-"), faults: []string{
			`metadata.annotations[bowline.dev/env]: must be "all"; correct the value, or remove the annotation`,
			`metadata.annotations[bowline.dev/env-case]: must be "upper", "lower" or "keep"; correct the value, or remove the annotation`,
		}},
		{reason: "prefix and case alone", given: annotations("", "A", "upper"), faults: []string{
			"metadata.annotations[bowline.dev/env-prefix]: means nothing without the annotation bowline.dev/env: all; add that annotation, or remove this one",
			"metadata.annotations[bowline.dev/env-case]: means nothing without the annotation bowline.dev/env: all; add that annotation, or remove this one",
		}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got, err := compose.ParseEnvRule(test.given)
			if diff := cmp.Diff(test.faults, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rule (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvRule(t *testing.T) {
	t.Parallel()
	const at = "metadata.annotations[bowline.dev/env]: "
	const advice = "; set or change bowline.dev/env-prefix or bowline.dev/env-case, or list the variables in spec.env instead"
	tests := []struct {
		reason   string
		rule     compose.EnvRule
		keys     string
		explicit []projection.Env
		want     []projection.Env
		faults   []string
	}{
		{
			reason: "upper case, sorted", rule: compose.EnvRule{Case: "upper"}, keys: "uri tls.crt private-key",
			want: []projection.Env{{Name: "PRIVATE_KEY", Key: "private-key"}, {Name: "TLS_CRT", Key: "tls.crt"}, {Name: "URI", Key: "uri"}},
		},
		{
			reason: "lower case; the prefix is as it is", rule: compose.EnvRule{Prefix: "DB_", Case: "lower"}, keys: "URI 1st",
			want: []projection.Env{{Name: "DB_1st", Key: "1st"}, {Name: "DB_uri", Key: "URI"}},
		},
		{
			reason: "keys as they are", rule: compose.EnvRule{Case: "keep"}, keys: "aB tls.crt",
			want: []projection.Env{{Name: "aB", Key: "aB"}, {Name: "tls.crt", Key: "tls.crt"}},
		},
		{
			reason: "what is projected so already is not doubled", rule: compose.EnvRule{Case: "upper"}, keys: "uri host",
			explicit: []projection.Env{{Name: "URI", Key: "uri"}, {Name: "OTHER", Key: "host"}}, want: []projection.Env{{Name: "HOST", Key: "host"}},
		},
		{
			reason: "two keys of one name", rule: compose.EnvRule{Case: "upper"}, keys: "a-b A_B",
			faults: []string{at + `the entries "A_B" and "a-b" would both be the variable A_B` + advice},
		},
		{
			reason: "a name that is taken", rule: compose.EnvRule{Prefix: "P_", Case: "upper"}, keys: "uri", explicit: []projection.Env{{Name: "P_URI", Key: "url"}},
			faults: []string{at + `the entries "url" and "uri" would both be the variable P_URI` + advice},
		},
		{
			reason: "the directory of all bindings", rule: compose.EnvRule{Prefix: "SERVICE_", Case: "upper"}, keys: "binding-root",
			faults: []string{at + `the entry "binding-root" would be the variable SERVICE_BINDING_ROOT, which names the directory of all bindings` + advice},
		},
		{
			reason: "a digit first", rule: compose.EnvRule{Case: "lower"}, keys: "1st",
			faults: []string{
				at + `the entry "1st" would be the variable "1st", which no container accepts: a valid environment variable name must consist of ` +
					`alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', ` +
					`regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')` + advice,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			got, err := test.rule.Env(strings.Fields(test.keys), test.explicit)
			if diff := cmp.Diff(test.faults, faultsOf(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

// Each key has one variable, each variable one key, whatever the order of the keys; or there is an error.
func TestEnvRuleIsOneToOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.StringMatching(`[-._aA1]{1,3}`), 0, 5, rapid.ID).Draw(t, "keys")
		rule := compose.EnvRule{
			Prefix: rapid.SampledFrom([]string{"", "P_"}).Draw(t, "prefix"), Case: rapid.SampledFrom([]string{"upper", "lower", "keep"}).Draw(t, "case"),
		}
		got, err := rule.Env(keys, nil)
		again, errAgain := rule.Env(rapid.Permutation(keys).Draw(t, "order"), nil)
		if diff := cmp.Diff(got, again); diff != "" || (err == nil) != (errAgain == nil) {
			t.Fatalf("another order: %v, %v\n%s", err, errAgain, diff)
		}
		if err != nil {
			return
		}
		byName, byKey := map[string]bool{}, map[string]bool{}
		for _, variable := range got {
			byName[variable.Name], byKey[variable.Key] = true, true
		}
		if len(byName) != len(keys) || len(byKey) != len(keys) || len(got) != len(keys) {
			t.Fatalf("keys %q gave %v", keys, got)
		}
	})
}
