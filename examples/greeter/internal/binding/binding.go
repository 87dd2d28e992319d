// Package binding reads what the Service Binding Specification lays before a program: one directory a service below
// $SERVICE_BINDING_ROOT, one file an entry.
//
// It looks for one service of a given type and says what to do when there is none. It never guesses: two services of
// the same type are an error, and so is a missing entry. It does not watch for changes.
package binding

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// RootVariable names the environment variable that holds the directory of all bindings.
const RootVariable = "SERVICE_BINDING_ROOT"

// Binding is one service as its entries describe it.
type Binding struct {
	// Name is the directory's name.
	Name string
	// Type and Provider classify the service; Provider may be empty.
	Type, Provider string
	// Address is host and port, ready to be dialled.
	Address string
	// Username is who to log in as.
	Username string
	// Password proves it.
	Password Secret
}

// NotBoundError says that the program has no binding of the type it needs.
type NotBoundError struct {
	// Type is what was looked for.
	Type string
	// Root is where; empty when the environment names no place.
	Root string
}

// Error tells what is missing and what to do.
func (e *NotBoundError) Error() string {
	if e.Root == "" {
		return fmt.Sprintf("%s is not set: create a ServiceBinding of type %q for this workload, or set the variable to"+
			" a directory of bindings", RootVariable, e.Type)
	}
	return fmt.Sprintf("no binding of type %q below %s: create a ServiceBinding whose Secret or .spec.type says %q",
		e.Type, e.Root, e.Type)
}

// Find returns the one binding of the given type below root.
func Find(root, wanted string) (*Binding, error) {
	if root == "" {
		return nil, &NotBoundError{Type: wanted}
	}
	names, err := named(root, wanted)
	if err != nil {
		return nil, err
	}
	switch len(names) {
	case 0:
		return nil, &NotBoundError{Type: wanted, Root: root}
	case 1:
		return read(root, names[0])
	default:
		return nil, fmt.Errorf("bindings %s are all of type %q: bind this workload to one of them only",
			strings.Join(names, ", "), wanted)
	}
}

// named lists the directories below root whose entry "type" is the wanted one, in order of name.
func named(root, wanted string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing bindings: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // the kubelet's own: ..data and the dated directory behind it
			continue
		}
		kind, err := entry(root, e.Name(), "type")
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(kind, wanted) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// read takes the entries of one binding and requires those that a connection needs.
func read(root, name string) (*Binding, error) {
	values := map[string]string{}
	for _, key := range []string{"type", "provider", "host", "port", "username", "password"} {
		value, err := entry(root, name, key)
		if err != nil {
			return nil, err
		}
		if value == "" && key != "provider" {
			return nil, fmt.Errorf("binding %q has no entry %q: add it to the service's Secret", name, key)
		}
		values[key] = value
	}
	if _, err := strconv.ParseUint(values["port"], 10, 16); err != nil {
		return nil, fmt.Errorf("binding %q: entry \"port\" is not a port number: correct it in the service's Secret", name)
	}
	return &Binding{
		Name:     name,
		Type:     values["type"],
		Provider: values["provider"],
		Address:  net.JoinHostPort(values["host"], values["port"]),
		Username: values["username"],
		Password: NewSecret(values["password"]),
	}, nil
}

// entry reads one file of a binding, without the white space around it. What is not there is empty: a directory
// without a type is no binding, and a plain file beside the bindings is none either.
func entry(root, name, key string) (string, error) {
	path := filepath.Join(root, name, key)
	info, err := os.Stat(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading entry %q of binding %q: %w", key, name, err)
	}
	return strings.TrimSpace(string(text)), nil
}
