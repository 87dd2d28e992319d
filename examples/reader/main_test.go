package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bindings"
	"github.com/bowline-dev/bowline/bindings/bindingstest"
)

const password = "hunter2hunter2"

func entries(revision string) bindingstest.Entries {
	return bindingstest.Entries{"type": "postgresql", "provider": "p", "host": "db", "password": password, "revision": revision}
}

func TestReaderShowsWhatItIsAskedFor(t *testing.T) {
	root := bindingstest.New(t)
	root.Add("orders", entries("1"))
	root.Add("cache", bindingstest.Entries{"type": "redis"})
	root.Setenv()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--type", "PostgreSQL", "--show", "host,revision,absent"}, &out); err != nil {
		t.Fatal(err)
	}
	want := `{"bindings":[{"name":"orders","type":"postgresql","provider":"p",` +
		`"entries":["host","password","provider","revision","type"],"shown":{"host":"db","revision":"1"}}]}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}

func TestReaderFollows(t *testing.T) {
	root := bindingstest.New(t)
	root.Add("orders", entries("1"))
	root.Setenv()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"--watch", "--show", "revision"}, out)
		_ = out.Close()
		done <- err
	}()
	lines := json.NewDecoder(in)
	for _, revision := range []string{"1", "2"} {
		var s state
		for len(s.Bindings) == 0 || s.Bindings[0].Shown["revision"] != revision {
			if err := lines.Decode(&s); err != nil {
				t.Fatal(err)
			}
		}
		root.Rotate("orders", entries("2"))
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestReaderRefuses(t *testing.T) {
	root := bindingstest.New(t)
	root.Add("orders", entries("1"))
	root.Setenv()
	var out bytes.Buffer
	if none, ok := errors.AsType[*bindings.NoneError](run(t.Context(), []string{"--type", "kafka"}, &out)); !ok {
		t.Errorf("error %v, want a NoneError", none)
	}
	if err := run(t.Context(), []string{"now"}, &out); err == nil || !strings.Contains(err.Error(), "now") {
		t.Errorf("error %v", err)
	}
	t.Setenv(bindings.RootVariable, "")
	if missing, ok := errors.AsType[*bindings.RootError](run(t.Context(), nil, &out)); !ok {
		t.Errorf("error %v, want a RootError", missing)
	}
	if strings.Contains(out.String(), password) {
		t.Error("the output holds the password")
	}
}
