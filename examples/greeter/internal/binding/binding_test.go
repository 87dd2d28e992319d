package binding_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/examples/greeter/internal/binding"
)

// entries are a complete binding, changed by each case.
func entries(changes map[string]string) map[string]string {
	all := map[string]string{
		"type": "nats", "provider": "nats-server", "host": "127.0.0.1", "port": "4222", "username": "u", "password": "p",
	}
	maps.Copy(all, changes)
	return all
}

// write lays out one binding; a value of "-" leaves the entry out.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if text == "-" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// writeLikeKubelet lays out one binding the way a mounted Secret looks: links to links to a dated directory.
func writeLikeKubelet(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	write(t, filepath.Join(dir, "..2026_01_02"), files)
	if err := os.Symlink("..2026_01_02", filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// layout is what lies below the root of bindings, and what is found there.
type layout struct {
	name    string
	lay     func(t *testing.T, root string)
	want    string // name, address and user of the binding
	wantErr string // part of the error
}

func layouts() []layout {
	return []layout{
		{
			name: "plain files, with white space around the values",
			lay: func(t *testing.T, root string) {
				t.Helper()
				write(t, filepath.Join(root, "events"), entries(map[string]string{"type": "NATS\n", "host": " ::1\n"}))
			},
			want: "events [::1]:4222 u",
		},
		{
			name: "the kubelet's links, among other bindings and files",
			lay: func(t *testing.T, root string) {
				t.Helper()
				writeLikeKubelet(t, filepath.Join(root, "events"), entries(nil))
				writeLikeKubelet(t, filepath.Join(root, "db"), entries(map[string]string{"type": "postgresql"}))
				write(t, root, map[string]string{"README": "not a binding"})
				write(t, filepath.Join(root, "..data"), entries(nil))
				write(t, filepath.Join(root, "empty"), nil)
			},
			want: "events 127.0.0.1:4222 u",
		},
		{
			name:    "nothing bound",
			lay:     func(*testing.T, string) {},
			wantErr: "create a ServiceBinding",
		},
		{
			name: "two of the type",
			lay: func(t *testing.T, root string) {
				t.Helper()
				write(t, filepath.Join(root, "a"), entries(nil))
				write(t, filepath.Join(root, "b"), entries(nil))
			},
			wantErr: "a, b",
		},
		{
			name: "no password",
			lay: func(t *testing.T, root string) {
				t.Helper()
				write(t, filepath.Join(root, "a"), entries(map[string]string{"password": "-"}))
			},
			wantErr: `no entry "password"`,
		},
		{
			name: "a port that is none",
			lay: func(t *testing.T, root string) {
				t.Helper()
				write(t, filepath.Join(root, "a"), entries(map[string]string{"port": "70000"}))
			},
			wantErr: "not a port number",
		},
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, tc := range layouts() {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			tc.lay(t, root)
			got, err := binding.Find(root, "nats")
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error = %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text := fmt.Sprintf("%s %s %s", got.Name, got.Address, got.Username); text != tc.want {
				t.Errorf("got %q, want %q", text, tc.want)
			}
			if got.Password.Reveal() != "p" {
				t.Error("the password is not the entry's")
			}
		})
	}
}

func TestFindWithoutRoot(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"", filepath.Join(t.TempDir(), "absent")} {
		var missing *binding.NotBoundError
		if _, err := binding.Find(root, "nats"); !errors.As(err, &missing) || missing.Root != root {
			t.Errorf("Find(%q): error %v, want a NotBoundError", root, err)
		}
	}
}

func TestPasswordDoesNotPrint(t *testing.T) {
	t.Parallel()
	b := binding.Binding{Name: "events", Password: binding.NewSecret("hunter2")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if text := fmt.Sprintf(verb, b); strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
			t.Errorf("%s prints the password", verb)
		}
	}
}
