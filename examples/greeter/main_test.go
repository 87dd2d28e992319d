package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/examples/greeter/internal/greeting"
	"github.com/bowline-dev/bowline/examples/greeter/internal/service"
)

const password = "correct-horse"

// startServer runs "greeter serve" inside the test and returns its port.
func startServer(t *testing.T) int {
	t.Helper()
	env := map[string]string{service.UsernameVariable: "u", service.PasswordVariable: password}
	in, closeIn := io.Pipe()
	out, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(t.Context(), []string{"serve", "--until-stdin-closes"},
			streams{in: in, out: outW, getenv: func(k string) string { return env[k] }})
		_ = outW.Close()
	}()
	t.Cleanup(func() {
		_ = closeIn.Close()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	var line ready
	if err := json.NewDecoder(out).Decode(&line); err != nil {
		t.Fatalf("reading the line of serve: %v", err)
	}
	return line.Port
}

// environment lays out a binding and returns what a container would see.
func environment(t *testing.T, port int, pass string) map[string]string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "events")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"type": "nats", "provider": "test", "host": "127.0.0.1", "port": strconv.Itoa(port), "username": "u", "password": pass,
	} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{bindings.RootVariable: root, subjectVariable: "greetings"}
}

// call runs a command with an environment and returns what it wrote.
func call(ctx context.Context, env map[string]string, args ...string) (string, error) {
	var out bytes.Buffer
	err := run(ctx, args, streams{in: strings.NewReader(""), out: &out, getenv: func(k string) string { return env[k] }})
	return out.String(), err
}

func TestGreetEndToEnd(t *testing.T) {
	t.Parallel()
	env := environment(t, startServer(t), password)
	if _, err := call(t.Context(), env, "check"); err != nil {
		t.Fatalf("check: %v", err)
	}
	out, err := call(t.Context(), env, "--count", "2")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"hello 1 of 2"`, `"hello 2 of 2"`, `binding "events", provider "test"`} {
		if !strings.Contains(out, want) {
			t.Errorf("output %q lacks %q", out, want)
		}
	}
	if strings.Contains(out, password) {
		t.Error("the output holds the password")
	}
}

func TestGreetByOneURI(t *testing.T) {
	t.Parallel()
	port := startServer(t)
	for pass, ok := range map[string]bool{password: true, "guess": false} {
		env := environment(t, port, "")
		dir := filepath.Join(env[bindings.RootVariable], "events")
		for _, name := range []string{"host", "port", "username"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		uri := fmt.Sprintf("nats://u:%s@127.0.0.1:%d", pass, port)
		if err := os.WriteFile(filepath.Join(dir, "uri"), []byte(uri), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := call(t.Context(), env)
		if (err == nil) != ok {
			t.Errorf("with %q: %v", pass, err)
		}
		if strings.Contains(out+fmt.Sprint(err), pass) {
			t.Error("the output, or the error, holds the password")
		}
	}
}

func TestGreetRepeatsUntilStopped(t *testing.T) {
	t.Parallel()
	env := environment(t, startServer(t), password)
	ctx, cancel := context.WithCancel(t.Context())
	out := &stopAfter{lines: 4, stop: cancel}
	err := run(ctx, []string{"--count=1", "--every=1ms"},
		streams{in: strings.NewReader(""), out: out, getenv: func(k string) string { return env[k] }})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// stopAfter calls stop when it was written to so many times.
type stopAfter struct {
	lines int
	stop  func()
}

func (w *stopAfter) Write(p []byte) (int, error) {
	if w.lines--; w.lines == 0 {
		w.stop()
	}
	return len(p), nil
}

func TestGreetRefusals(t *testing.T) {
	t.Parallel()
	port := startServer(t)
	tests := []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{name: "no root", want: "SERVICE_BINDING_ROOT is not set"},
		{name: "empty root", env: map[string]string{bindings.RootVariable: t.TempDir()}, want: `no binding of type "nats"`},
		{name: "a binding without password", env: environment(t, port, ""), want: `no entry password`},
		{name: "wrong password", env: environment(t, port, "guess"), want: "refuses the credentials"},
		{name: "check with a wrong password", env: environment(t, port, "guess"), args: []string{"check"},
			want: "refuses the credentials"},
		{name: "no server", env: environment(t, 1, password), want: "start the server"},
		{name: "check without server", env: environment(t, 1, password), args: []string{"check", "--wait=1ms"},
			want: "start the server"},
		{name: "serve without credentials", args: []string{"serve"}, want: "no user name and password"},
		{name: "unknown command", args: []string{"sing"}, want: `unknown argument "sing"`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := call(t.Context(), tc.env, tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error = %v, want one with %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), password) {
				t.Errorf("error %q is not one line without the password", err)
			}
		})
	}
}

func TestGreetNeedsTheSubject(t *testing.T) {
	t.Parallel()
	env := environment(t, 1, password)
	delete(env, subjectVariable)
	if _, err := call(t.Context(), env); err == nil || !strings.Contains(err.Error(), ".spec.env") {
		t.Errorf("error = %v, want advice about .spec.env", err)
	}
}

func TestRefusalIsNotRetried(t *testing.T) {
	t.Parallel()
	env := environment(t, startServer(t), "guess")
	server, err := find(streams{getenv: func(k string) string { return env[k] }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = greeting.Await(t.Context(), server, time.Hour)
	var refused *greeting.RefusedError
	if !errors.As(err, &refused) || refused.Binding != "events" {
		t.Errorf("error = %v, want a RefusedError", err)
	}
}
