package extensions_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// scenario is one file.
type scenario struct {
	name    string
	path    string
	archive *txtar.Archive
	// rewritten is set when a section was written anew.
	rewritten bool
}

var sectionName = regexp.MustCompile(`^(given|change|delete|refused|as|want|absent|sees)[a-z0-9-]*\.(yaml|txt)$`)

func readScenario(t *testing.T, path string) *scenario {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		t.Error("the file does not say what it shows")
	}
	for _, file := range archive.Files {
		if !sectionName.MatchString(file.Name) {
			t.Errorf("nothing can be done with a section %q", file.Name)
		}
	}
	return &scenario{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path, archive: archive}
}

// rewrite replaces the text of a section.
func (s *scenario) rewrite(at int, text string) {
	if string(s.archive.Files[at].Data) != text {
		s.archive.Files[at].Data = []byte(text)
		s.rewritten = true
	}
}

func (s *scenario) save() error {
	if !s.rewritten {
		return nil
	}
	return os.WriteFile(s.path, txtar.Format(s.archive), 0o644)
}

func TestScenarios(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no scenarios: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			play(t, readScenario(t, path))
		})
	}
}

// play does what the sections say, up to the first that does not hold.
func play(t *testing.T, s *scenario) {
	t.Helper()
	p := newPlayer(t, s)
	for i, file := range s.archive.Files {
		at := fmt.Sprintf("%s: section %s", s.path, file.Name)
		if err := p.section(i, sectionName.FindStringSubmatch(file.Name)[1], string(file.Data)); err != nil {
			t.Fatalf("%s: %v\n%s", at, err, strings.Join(logged.lines(s.name), ""))
		}
	}
	if err := p.unbind(); err != nil {
		t.Fatalf("%s: unbinding: %v\n%s", s.path, err, strings.Join(logged.lines(s.name), ""))
	}
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
}

// section plays one section.
func (p *player) section(i int, verb, text string) error {
	switch verb {
	case "as":
		return p.become(strings.TrimSpace(text))
	case "sees":
		return p.sees(i, text)
	}
	if strings.HasSuffix(p.scenario.archive.Files[i].Name, ".txt") {
		return nil // belongs to the section before it
	}
	if *update && verb == "want" && strings.Contains(text, unknown) {
		return p.fill(i, text)
	}
	objects, err := parse(text)
	if err != nil {
		return err
	}
	act := map[string]func(*unstructured.Unstructured) error{
		"given": p.create, "change": p.change, "delete": p.remove, "want": p.want, "absent": p.absent,
		"refused": func(o *unstructured.Unstructured) error { return p.refused(i, o) },
	}[verb]
	for _, object := range objects {
		if err := act(object); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// parse reads the objects of a YAML text.
func parse(text string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		raw, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(raw, &object.Object); err != nil {
			return nil, fmt.Errorf("reading YAML: %w", err)
		}
		if object.Object == nil {
			continue
		}
		data, err := json.Marshal(object.Object)
		if err == nil {
			err = object.UnmarshalJSON(data) // integers as the API machinery wants them
		}
		if err != nil {
			return nil, err
		}
		all = append(all, object)
	}
}
