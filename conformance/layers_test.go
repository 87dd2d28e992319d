package conformance

import (
	"go/build"
	"strings"
	"testing"
)

// The suite judges any implementation alike, so it knows nothing of this one.
func TestImportsNothingOfBowline(t *testing.T) {
	t.Parallel()
	p, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range p.Imports {
		if strings.HasPrefix(path, "github.com/bowline-dev/") {
			t.Errorf("it imports %s", path)
		}
	}
}
