package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestBundleOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason  string
		args    []string
		bundle  string
		creates bool
	}{
		{"as the shim calls it", []string{"--root", "/r", "--log", "/l", "create", "--bundle", "/b", "--pid-file", "/p", "id"}, "/b", true},
		{"the short form", []string{"run", "-b", "/b", "id"}, "/b", true},
		{"in one word", []string{"create", "--bundle=/b", "id"}, "/b", true},
		{"without one it is the working directory", []string{"create", "id"}, ".", true},
		{"a command on a container that is there", []string{"--root", "/r", "delete", "--force", "id"}, "", false},
		{"nothing", nil, "", false},
	} {
		if bundle, creates := bundleOf(c.args); bundle != c.bundle || creates != c.creates {
			t.Errorf("%s: bundleOf(%q) = %q, %v; want %q, %v", c.reason, c.args, bundle, creates, c.bundle, c.creates)
		}
	}
}

func TestUnfilter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ reason, before, after string }{
		{
			"the filter goes and all else stays", `{"ociVersion":"1.2","linux":{"seccomp":{"a":[1]},"sysctl":{"x":"1e400"},"n":12345678901234567890}}`,
			`{"ociVersion":"1.2","linux":{"sysctl":{"x":"1e400"},"n":12345678901234567890}}`,
		},
		{"without one nothing changes", `{"linux":{},"process":{}}`, `{"linux":{},"process":{}}`},
	} {
		path := filepath.Join(t.TempDir(), description)
		if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unfilter(path); err != nil {
			t.Fatalf("%s: %v", c.reason, err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !same(t, got, []byte(c.after)) {
			t.Errorf("%s: got %s, want %s", c.reason, got, c.after)
		}
	}
}

// same compares two descriptions by their parts, whose text has to be the same: no number may lose a digit.
func same(t *testing.T, one, other []byte) bool {
	t.Helper()
	return reflect.DeepEqual(parts(t, one), parts(t, other))
}

func parts(t *testing.T, data []byte) map[string]string {
	t.Helper()
	var spec map[string]json.RawMessage
	if err := json.Unmarshal(data, &spec); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for name, part := range spec {
		var fields map[string]json.RawMessage
		if json.Unmarshal(part, &fields) != nil {
			found[name] = string(part)
		}
		for field, value := range fields {
			found[name+"."+field] = string(value)
		}
	}
	return found
}

func TestUnfilterRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "{", `[]`, `{"linux":[]}`, `{}`} {
		path := filepath.Join(t.TempDir(), description)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unfilter(path); err == nil {
			t.Errorf("it took %q", content)
		}
	}
}
