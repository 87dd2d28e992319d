package projection_test

import (
	"encoding/json"
	"fmt"

	"pgregory.net/rapid"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/projection"
)

// kind is a shape of workload with the mapping for it: where its lists are, in steps from the root, and in its
// containers.
type kind struct {
	template             bindingv1.ClusterWorkloadResourceMappingTemplate
	annotations, volumes []string
	lists                [][]string // of containers
	asObject             bool       // containers are in objects instead of lists
	name, env, mounts    []string   // within a container; name may be missing
}

func kinds() []kind {
	plain := kind{
		annotations: []string{"spec", "template", "metadata", "annotations"},
		volumes:     []string{"spec", "template", "spec", "volumes"},
		lists:       [][]string{{"spec", "template", "spec", "containers"}, {"spec", "template", "spec", "initContainers"}},
		name:        []string{"name"}, env: []string{"env"}, mounts: []string{"volumeMounts"},
	}
	custom := kind{
		template: bindingv1.ClusterWorkloadResourceMappingTemplate{
			Annotations: ".metadata.annotations", Volumes: ".spec['a.b'].vols",
			Containers: []bindingv1.ClusterWorkloadResourceMappingContainer{
				{Path: ".spec.pods[*]", Name: ".id.name", Env: ".config['x.y']", VolumeMounts: ".m.n"},
			},
		},
		annotations: []string{"metadata", "annotations"}, volumes: []string{"spec", "a.b", "vols"},
		lists: [][]string{{"spec", "pods"}},
		name:  []string{"id", "name"}, env: []string{"config", "x.y"}, mounts: []string{"m", "n"},
	}
	object := plain
	object.asObject = true
	object.lists = [][]string{{"spec", "parts"}}
	object.name = nil
	object.template = bindingv1.ClusterWorkloadResourceMappingTemplate{
		Containers: []bindingv1.ClusterWorkloadResourceMappingContainer{{Path: ".spec.parts.*"}},
	}
	selective := plain
	selective.lists = [][]string{{"spec", "template", "spec", "containers"}}
	selective.template = bindingv1.ClusterWorkloadResourceMappingTemplate{
		Containers: []bindingv1.ClusterWorkloadResourceMappingContainer{
			{Path: `..containers[?(@.name!="c0")]`, Name: ".name"},
		},
	}
	return []kind{plain, plain, custom, object, selective}
}

func (k kind) mapping(t *rapid.T) *projection.Mapping {
	m, err := projection.Compile(k.template)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// variant is a mapping that finds the same containers, and in them, or beside them, other places.
func (k kind) variant(t *rapid.T) *projection.Mapping {
	var template bindingv1.ClusterWorkloadResourceMappingTemplate
	if err := json.Unmarshal([]byte(k.mapping(t).String()), &template); err != nil {
		t.Fatal(err)
	}
	for i := range template.Containers {
		c := &template.Containers[i]
		c.Name = rapid.SampledFrom([]string{c.Name, ""}).Draw(t, "other name")
		c.Env = rapid.SampledFrom([]string{c.Env, ".variables", ".m.variables"}).Draw(t, "other env")
		c.VolumeMounts = rapid.SampledFrom([]string{c.VolumeMounts, ".m.others"}).Draw(t, "other mounts")
	}
	template.Volumes = rapid.SampledFrom([]string{template.Volumes, ".spec.disks", ".spec.more.disks"}).Draw(t, "other volumes")
	template.Annotations = rapid.SampledFrom([]string{template.Annotations, ".spec.more.notes"}).Draw(t, "other annotations")
	m, err := projection.Compile(template)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put sets a value below root; the parents come into being.
func put(root map[string]any, steps []string, value any) {
	for _, step := range steps[:len(steps)-1] {
		below, ok := root[step].(map[string]any)
		if !ok {
			below = map[string]any{}
			root[step] = below
		}
		root = below
	}
	root[steps[len(steps)-1]] = value
}

// spot leaves a place missing, missing from some parent on, null, empty or with what fill gives.
func spot(t *rapid.T, root map[string]any, steps []string, fill func() any) {
	switch rapid.IntRange(0, 5).Draw(t, "spot "+fmt.Sprint(steps)) {
	case 0:
	case 1:
		upTo := rapid.IntRange(1, len(steps)).Draw(t, "null at")
		if get(root, steps[:upTo]) == nil {
			put(root, steps[:upTo], nil)
		}
	case 2:
		upTo := rapid.IntRange(1, len(steps)).Draw(t, "empty at")
		if get(root, steps[:upTo]) != nil {
			return
		}
		if upTo < len(steps) {
			put(root, steps[:upTo], map[string]any{})
			return
		}
		if _, ok := fill().([]any); ok {
			put(root, steps, []any{})
		} else {
			put(root, steps, map[string]any{})
		}
	default:
		put(root, steps, fill())
	}
}

func drawWorkload(t *rapid.T, k kind, identical bool) projection.Workload {
	w := projection.Workload{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": int64(2)}}
	if rapid.Bool().Draw(t, "named") {
		w["metadata"] = map[string]any{"name": "w", "labels": map[string]any{"a": "b"}, "managedFields": []any{"x"}}
	}
	annotations := func() any { return map[string]any{"example.com/z": "1", "a": "2"} }
	spot(t, w, []string{"metadata", "annotations"}, annotations)
	if len(k.annotations) > 2 {
		spot(t, w, k.annotations, annotations)
	}
	spot(t, w, k.volumes, func() any {
		return []any{map[string]any{"name": "data", "emptyDir": map[string]any{}}, map[string]any{"name": "own"}}
	})
	for at, steps := range k.lists {
		if rapid.IntRange(0, 5).Draw(t, "no containers") == 0 {
			continue
		}
		containers := []any{}
		inObject := map[string]any{}
		for i := range rapid.IntRange(0, 3).Draw(t, "containers") {
			name := fmt.Sprintf("c%d", at*10+i)
			c := drawContainer(t, k, name, identical)
			containers = append(containers, c)
			inObject[name] = c
		}
		if k.asObject {
			put(w, steps, inObject)
		} else {
			put(w, steps, containers)
		}
	}
	if rapid.Bool().Draw(t, "status") {
		w["status"] = map[string]any{"ready": true}
	}
	return w
}

func drawContainer(t *rapid.T, k kind, name string, identical bool) map[string]any {
	c := map[string]any{"image": "image-" + name}
	if k.name != nil {
		put(c, k.name, name)
	}
	spot(t, c, k.env, func() any {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawVariable(t, identical) }), 0, 4).Draw(t, "env")
	})
	spot(t, c, k.mounts, func() any {
		return []any{map[string]any{"name": "data", "mountPath": "/data", "subPath": "x"}}
	})
	return c
}

func drawVariable(t *rapid.T, identical bool) any {
	from := func(secret, key string) map[string]any {
		return map[string]any{"secretKeyRef": map[string]any{"name": secret, "key": key}}
	}
	choices := []any{
		map[string]any{"name": "P_ONE", "value": "1"},
		map[string]any{"name": "P_ONE", "value": "again"},
		map[string]any{"name": "P_TWO", "value": "two"},
		map[string]any{"name": "B_a", "value": "literal"},
		map[string]any{"name": "P_SECRET", "valueFrom": from("s0", "k")},
		map[string]any{"name": "SERVICE_BINDING_ROOT", "value": "/own"},
	}
	if identical {
		choices = append(choices,
			map[string]any{"name": "B_a", "valueFrom": from("s0", "a")},
			map[string]any{"name": "B_b", "valueFrom": from("s1", "b")},
			map[string]any{"name": "SERVICE_BINDING_ROOT", "value": "/bindings"},
		)
	}
	return deepCopy(rapid.SampledFrom(choices).Draw(t, "variable"))
}

func drawBinding(t *rapid.T, i int) projection.Binding {
	b := projection.Binding{
		UID:    fmt.Sprintf("%d0000000-u", i),
		Name:   fmt.Sprintf("dir-%d", (i*7)%5),
		Secret: rapid.SampledFrom([]string{"s0", "s1"}).Draw(t, "secret"),
	}
	if rapid.IntRange(0, 3).Draw(t, "typed") == 0 {
		b.Type = "postgresql"
	}
	if rapid.IntRange(0, 3).Draw(t, "provided") == 0 {
		b.Provider = "acme"
	}
	if rapid.IntRange(0, 2).Draw(t, "limited") == 0 {
		b.Containers = []string{rapid.SampledFrom([]string{"c0", "c1", "c10"}).Draw(t, "container")}
	}
	if rapid.IntRange(0, 2).Draw(t, "counted") == 0 {
		b.ContainerIndexes = rapid.SliceOfN(rapid.IntRange(0, 3), 1, 2).Draw(t, "positions")
	}
	names := []string{fmt.Sprintf("B_%d", i), "B_a", "B_b", "B_type"}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID[string]).Draw(t, "env") {
		key := map[string]string{"B_a": "a", "B_b": "b", "B_type": "type"}[name]
		b.Env = append(b.Env, projection.Env{Name: name, Key: key + ""})
	}
	return b
}

func drawBindings(t *rapid.T) []projection.Binding {
	var bs []projection.Binding
	for i := range rapid.IntRange(1, 4).Draw(t, "bindings") {
		bs = append(bs, drawBinding(t, i))
	}
	return bs
}

func uidsOf(bs []projection.Binding) []string {
	uids := make([]string, 0, len(bs))
	for _, b := range bs {
		uids = append(uids, b.UID)
	}
	return uids
}
