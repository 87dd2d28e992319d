package conformance

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What clauses share.

var databases = schema.GroupVersionResource{Group: serviceGroup, Version: "v1", Resource: "databases"}

// mountedAt sees that a volume is mounted at a directory.
func mountedAt(c container, dir string) error {
	if !c.dirs[path.Clean(dir)] {
		return fmt.Errorf("nothing is mounted at %s; mounted are %s", dir, keys(c.dirs))
	}
	return nil
}

// oneRoot sees that the root is set once, to an absolute path.
func oneRoot(c container) error {
	switch {
	case c.roots != 1:
		return fmt.Errorf("it is set %d times", c.roots)
	case !path.IsAbs(c.root):
		return fmt.Errorf("it is %q", c.root)
	}
	return nil
}

// rootIs sees that the root is set once, to a path.
func rootIs(want string) func(container) error {
	return func(c container) error {
		if c.roots != 1 || c.root != want {
			return fmt.Errorf("it is set %d times, at last to %q", c.roots, c.root)
		}
		return nil
	}
}

// noRoot sees that the root is not set.
func noRoot(c container) error {
	if c.roots != 0 {
		return errors.New("it is set")
	}
	return nil
}

func longName(n int) string { return strings.Repeat("a", n) }

func lower(text string) string { return strings.ToLower(text) }

// deleteNow is how things are deleted.
var deleteNow = metav1.DeleteOptions{}

// getNow is how things are read.
var getNow = metav1.GetOptions{}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }
