package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	bindingv1 "github.com/bowline-dev/bowline/api/servicebinding/v1"
	"github.com/bowline-dev/bowline/config"
	"github.com/bowline-dev/bowline/internal/live"
	"github.com/bowline-dev/bowline/internal/node"
	"github.com/bowline-dev/bowline/internal/offline"
	"github.com/bowline-dev/bowline/internal/run"
)

// standardInput is how the standard input is named among files.
const standardInput = "-"

// found is a container that was found, with what people call its workload.
type found struct {
	target run.Target
	title  string
}

// find looks for the container in the cluster or in manifests.
func (f *runFlags) find(ctx context.Context, in io.Reader) (found, error) {
	if len(f.files) > 0 {
		return f.findOffline(in)
	}
	return f.findLive(ctx)
}

// findLive asks the cluster for the workload, and then for all that its container names.
func (f *runFlags) findLive(ctx context.Context) (found, error) {
	reference, err := live.ParseReference(f.reference)
	if err != nil {
		return found{}, f.usage(err)
	}
	config, err := f.cluster.config()
	if err != nil {
		return found{}, err
	}
	namespace := f.namespace
	if namespace == "" {
		if namespace, err = f.cluster.namespace(); err != nil {
			return found{}, err
		}
	}
	client, err := live.New(config)
	if err != nil {
		return found{}, err
	}
	w, err := client.Workload(ctx, reference, namespace)
	if err != nil {
		return found{}, err
	}
	container, needs, err := pick(w.Pod, f.name)
	if err != nil {
		return found{}, fmt.Errorf("reading %s %q: %w", w.Kind, w.Name, err)
	}
	feed, err := client.Open(ctx, namespace, needs)
	if err != nil {
		return found{}, err
	}
	return found{
		target: run.Target{Pod: w.Pod, Container: container, Machine: run.ThisMachine(), Source: feed},
		title:  title(w.Kind, w.Name, namespace),
	}, nil
}

// findOffline reads manifests.
func (f *runFlags) findOffline(in io.Reader) (found, error) {
	files, err := readManifests(f.files, in)
	if err != nil {
		return found{}, &hinted{err: err, hint: "name files, or folders with files that end in .yaml, .yml or .json, or - for the standard input"}
	}
	world, err := offline.Parse(files...)
	if err != nil {
		return found{}, err
	}
	mappings, err := shippedMappings()
	if err != nil {
		return found{}, err
	}
	scene, err := world.Project(offline.Choice{Workload: f.workload, Namespace: f.namespace, Mappings: mappings})
	if err != nil {
		return found{}, err
	}
	pod, err := node.PodOf(scene.Workload, &scene.Template)
	if err != nil {
		return found{}, scene.Fault(err)
	}
	container, needs, err := pick(pod, f.name)
	if err == nil {
		err = noToken(needs)
	}
	if err != nil {
		return found{}, fmt.Errorf("reading %s %q: %w", scene.Kind.Kind, scene.Name, err)
	}
	return found{
		target: run.Target{Pod: pod, Container: container, Machine: run.ThisMachine(), Source: run.Fixed{Held: scene.Objects}},
		title:  title(scene.Kind.Kind, scene.Name, scene.Namespace),
	}, nil
}

// noToken refuses what manifests cannot give.
func noToken(needs node.Needs) error {
	if len(needs.Tokens) == 0 {
		return nil
	}
	return &hinted{
		err:  fmt.Errorf("the container mounts a token of service account %q, which only a cluster can give", needs.Tokens[0].ServiceAccount),
		hint: "name the workload of a cluster, as KIND/NAME, or take the serviceAccountToken out of the manifest",
	}
}

func title(kind, name, namespace string) string {
	return fmt.Sprintf("workload  %s/%s in namespace %s", strings.ToLower(kind), name, namespace)
}

// pick finds the container that is meant, and what it needs.
func pick(pod *node.Pod, name string) (container string, needs node.Needs, err error) {
	if container, err = pod.Pick(name); err != nil {
		if name != "" {
			err = &hinted{err: err, hint: "there are: " + strings.Join(pod.Containers(), ", ")}
		}
		return "", needs, err
	}
	needs, err = pod.Needs(container)
	return container, needs, err
}

// readManifests reads files, folders (but not the folders in them) and the standard input.
func readManifests(names []string, in io.Reader) ([]offline.File, error) {
	var files []offline.File
	for _, name := range names {
		if name == standardInput {
			text, err := io.ReadAll(in)
			if err != nil {
				return nil, wrap(err, "reading the standard input")
			}
			files = append(files, offline.File{Name: "standard input", Text: text})
			continue
		}
		paths, err := manifestsAt(name)
		if err != nil {
			return nil, wrap(err, "reading the manifests")
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, wrap(err, "reading the manifests")
			}
			files = append(files, offline.File{Name: path, Text: text})
		}
	}
	return files, nil
}

// manifestsAt lists the manifests of a folder; of a file, itself.
func manifestsAt(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			paths = append(paths, filepath.Join(name, entry.Name()))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s holds no file that ends in .yaml, .yml or .json", name)
	}
	return paths, nil
}

// shippedMappings are the mappings that every installation of Bowline brings.
func shippedMappings() ([]*bindingv1.ClusterWorkloadResourceMapping, error) {
	names, err := fs.Glob(config.Files(), "mapping/*.yaml")
	if err != nil {
		return nil, wrap(err, "listing the shipped mappings")
	}
	if len(names) == 0 {
		return nil, errors.New("this program was built without its mappings")
	}
	mappings := make([]*bindingv1.ClusterWorkloadResourceMapping, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(config.Files(), name)
		if err != nil {
			return nil, wrap(err, "reading the shipped mappings")
		}
		m := &bindingv1.ClusterWorkloadResourceMapping{}
		if err := yaml.UnmarshalStrict(text, m); err != nil {
			return nil, wrap(err, "reading the shipped mappings")
		}
		mappings = append(mappings, m)
	}
	return mappings, nil
}
