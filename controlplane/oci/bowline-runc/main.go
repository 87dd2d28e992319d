// Command bowline-runc is runc for a local node: it takes the seccomp filter out of a container before it hands over to
// the runc beside it.
//
// The kubelet asks for a filter for each pod, and runc can only compile one with a C library that Go modules cannot
// bring. Without the filter nothing but the Go toolchain and a C compiler is needed. It changes nothing else, and it
// refuses to run a container whose description it cannot read.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const description = "config.json"

func main() {
	if err := handOver(os.Args); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "bowline-runc: %v\n", err)
		os.Exit(1)
	}
}

// handOver replaces this process by runc; it returns only when that was impossible.
func handOver(argv []string) error {
	if bundle, creates := bundleOf(argv[1:]); creates {
		if err := unfilter(filepath.Join(bundle, description)); err != nil {
			return fmt.Errorf("removing the seccomp filter: %w", err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	runc := filepath.Join(filepath.Dir(self), "runc")
	//nolint:gosec // the arguments are for runc, and the program is the one beside this
	if err := syscall.Exec(runc, append([]string{runc}, argv[1:]...), os.Environ()); err != nil {
		return fmt.Errorf("running %q: %w", runc, err)
	}
	return nil
}

// bundleOf returns the folder of the container that the arguments create; false when they create none.
func bundleOf(args []string) (bundle string, creates bool) {
	if !slices.ContainsFunc(args, func(a string) bool { return a == "create" || a == "run" || a == "restore" }) {
		return "", false
	}
	bundle = "." // runc's own default
	for i, a := range args {
		if value, joined := strings.CutPrefix(a, "--bundle="); joined {
			return value, true
		}
		if (a == "--bundle" || a == "-b") && i+1 < len(args) {
			return args[i+1], true
		}
	}
	return bundle, true
}

// unfilter removes the seccomp filter from a container's description and keeps all else as it is.
func unfilter(path string) error {
	data, err := os.ReadFile(path) //nolint:gosec // the caller may do whatever runc may
	if err != nil {
		return fmt.Errorf("reading the container's description: %w", err)
	}
	var spec, linux map[string]json.RawMessage
	if err := json.Unmarshal(data, &spec); err != nil {
		return fmt.Errorf("parsing %q: %w", path, err)
	}
	if err := json.Unmarshal(spec["linux"], &linux); err != nil {
		return fmt.Errorf("parsing the Linux part of %q: %w", path, err)
	}
	if _, filtered := linux["seccomp"]; !filtered {
		return nil
	}
	delete(linux, "seccomp")
	if spec["linux"], err = json.Marshal(linux); err != nil {
		return fmt.Errorf("encoding the Linux part of %q: %w", path, err)
	}
	if data, err = json.Marshal(spec); err != nil {
		return fmt.Errorf("encoding %q: %w", path, err)
	}
	// The container is not there yet and its folder is its own: nobody else reads the file now.
	if err := os.WriteFile(path, data, 0o600); err != nil { //nolint:gosec // as above
		return fmt.Errorf("writing the container's description: %w", err)
	}
	return nil
}
