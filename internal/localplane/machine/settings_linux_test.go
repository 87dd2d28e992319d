package machine

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestSettingsAreSavedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := SaveSettings(path); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(first, &values); err != nil || values["vm/overcommit_memory"] == "" {
		t.Fatalf("it saved %s: %v", first, err)
	}
	// Those of before the node count: a second start finds what the first one's kubelet made of them.
	if err := os.WriteFile(path, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SaveSettings(path); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(path); err != nil || string(second) != "{}" {
		t.Errorf("the second time it saved %s: %v", second, err)
	}
}

func TestRestoredSettingsAreForgotten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := SaveSettings(path); err != nil {
		t.Fatal(err)
	}
	if err := RestoreSettings(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file stays: %v", err)
	}
}
