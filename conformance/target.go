package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// target is a workload to look at.
type target struct {
	resource schema.GroupVersionResource
	name     string
	shape    shape
}

// workloadOf is a workload of a built-in kind with a pod template at .spec.template.
func workloadOf(group, resource, name string) target {
	return target{
		resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource},
		name:     name, shape: shapeAt("spec/template"),
	}
}

// invented is a workload of one of the suite's kinds.
func invented(resource, name string, s shape) target {
	return target{schema.GroupVersionResource{Group: workloadGroup, Version: "v1", Resource: resource}, name, s}
}

// deployment is the Deployment of most clauses.
var deployment = workloadOf("apps", "deployments", "orders")

func (w target) called(name string) target {
	w.name = name
	return w
}

func (w target) String() string { return w.resource.Resource + " " + w.name }

// view works out what the containers of a workload see.
func (t *T) view(w target) (map[string]container, error) {
	object, err := t.get(w.resource, w.name)
	if err != nil {
		return nil, err
	}
	containers, err := view(object.Object, w.shape, t.secret)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", w, err)
	}
	return containers, nil
}

// secret reads the entries of a Secret.
func (t *T) secret(name string) (map[string]string, error) {
	object, err := t.get(secrets, name)
	if err != nil {
		return nil, err
	}
	var s corev1.Secret
	if err := decode(object.Object, &s); err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", name, err)
	}
	entries := map[string]string{}
	for key, value := range s.Data {
		entries[key] = string(value)
	}
	return entries, nil
}

// sees waits until a container of a workload is as check wants it.
func (t *T) sees(w target, name, what string, check func(container) error) {
	t.Eventually(fmt.Sprintf("container %s of %s %s", name, w, what), func() error {
		containers, err := t.view(w)
		if err != nil {
			return err
		}
		c, ok := containers[name]
		if !ok {
			return errors.New("there is no such container")
		}
		return check(c)
	})
}

// holds waits until a directory of a container has files, others beside them or not.
func (t *T) holds(w target, name, dir string, want map[string]string) {
	t.sees(w, name, "has the entries in "+dir, func(c container) error {
		for _, entry := range slices.Sorted(maps.Keys(want)) {
			got, ok := c.files[path.Join(dir, entry)]
			if !ok {
				return fmt.Errorf("%s is missing; mounted are %s", entry, keys(c.dirs))
			}
			if got != want[entry] {
				return fmt.Errorf("%s has another content", entry)
			}
		}
		return nil
	})
}

// variable waits until a container has an environment variable with a value.
func (t *T) variable(w target, name, variable, want string) {
	t.sees(w, name, "has the variable "+variable, func(c container) error {
		got, ok := c.env[variable]
		if !ok {
			return errors.New("it is not set")
		}
		if got != want {
			return errors.New("it has another value")
		}
		return nil
	})
}

// noVariable waits until a container does not have an environment variable.
func (t *T) noVariable(w target, name, variable string) {
	t.sees(w, name, "does not have the variable "+variable, func(c container) error {
		if _, ok := c.env[variable]; ok {
			return errors.New("it is set")
		}
		return nil
	})
}

// bound waits until the entries of the usual Secret are in a container, in a directory below the usual root or the
// container's own.
func (t *T) bound(w target, name, binding string) {
	t.sees(w, name, "has the entries of binding "+binding, func(c container) error {
		if c.root == "" {
			return errors.New(rootVariable + " is not set")
		}
		for entry, want := range entries {
			if got, ok := c.files[path.Join(c.root, binding, entry)]; !ok || got != want {
				return fmt.Errorf("%s is missing or has another content; mounted are %s", entry, keys(c.dirs))
			}
		}
		return nil
	})
}

// unbound waits until no directory of a binding's name is mounted in a container.
func (t *T) unbound(w target, name, binding string) {
	t.sees(w, name, "has nothing of binding "+binding, func(c container) error {
		for dir := range c.dirs {
			if path.Base(dir) == binding {
				return fmt.Errorf("%s is mounted", dir)
			}
		}
		return nil
	})
}

// unprojected sees that no container of a workload has the entries of the usual Secret.
func (t *T) unprojected(w target) {
	t.Eventually(w.String()+" has no projection", func() error {
		containers, err := t.view(w)
		if err != nil {
			return err
		}
		for name, c := range containers {
			for file, content := range c.files {
				if content == entries["password"] {
					return fmt.Errorf("container %s has %s", name, file)
				}
			}
		}
		return nil
	})
}

// template gives the spec of a workload without what an implementation may leave or write in any form: empty lists and
// maps, nulls, and the variable of the root.
func (t *T) template(w target) map[string]any {
	spec, ok := prune(t.must(w.resource, w.name).Object["spec"]).(map[string]any)
	if !ok {
		t.Fatalf("%s has no spec", w)
	}
	return spec
}

// restored waits until the spec of a workload is what it was.
func (t *T) restored(w target, before map[string]any) {
	t.Eventually(w.String()+" is what it was", func() error {
		object, err := t.get(w.resource, w.name)
		if err != nil {
			return err
		}
		if now := prune(object.Object["spec"]); !reflect.DeepEqual(now, any(before)) {
			text, _ := json.Marshal(now)
			was, _ := json.Marshal(before)
			return fmt.Errorf("it was %s and is %s", was, text)
		}
		return nil
	})
}

// prune leaves out what is empty, and the variable of the root; nil when nothing is left.
func prune(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return pruneMap(v)
	case []any:
		var kept []any
		for _, item := range v {
			if item = prune(item); item != nil {
				kept = append(kept, item)
			}
		}
		if kept == nil {
			return nil
		}
		return kept
	default:
		return value
	}
}

func pruneMap(m map[string]any) any {
	kept := map[string]any{}
	for key, item := range m {
		if item = prune(item); item != nil {
			kept[key] = item
		}
	}
	if len(kept) == 0 || kept["name"] == rootVariable {
		return nil
	}
	return kept
}

func keys(of map[string]bool) string {
	return "[" + strings.Join(slices.Sorted(maps.Keys(of)), " ") + "]"
}
