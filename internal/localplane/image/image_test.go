package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/localplane/image"
)

// example is an image with a program that is not one.
func example(t *testing.T) image.Image {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("run"), 0o600); err != nil {
		t.Fatal(err)
	}
	return image.Image{
		Name: "localhost/example/thing:1", Entrypoint: []string{"/usr/bin/thing", "--fast"}, Env: []string{"A=b"}, User: "65532",
		Programs: map[string]string{"/usr/bin/thing": program},
		Links:    map[string]string{"/thing": "usr/bin/thing"},
	}
}

func written(t *testing.T, i image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := image.Write(&out, i); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unpack returns the files of an archive, with links as what they lead to and folders as nothing.
func unpack(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(content) + header.Linkname
	}
}

type descriptor struct {
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
}

// blob reads a blob of a layout as JSON.
func blob(t *testing.T, files map[string]string, d descriptor, into any) {
	t.Helper()
	content, there := files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	if !there {
		t.Fatalf("there is no blob %s", d.Digest)
	}
	if err := json.Unmarshal([]byte(content), into); err != nil {
		t.Fatal(err)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	files := unpack(t, bytes.NewReader(written(t, example(t))))
	var index struct {
		Manifests []descriptor `json:"manifests"`
	}
	if err := json.Unmarshal([]byte(files["index.json"]), &index); err != nil || len(index.Manifests) != 1 {
		t.Fatalf("index %q: %v", files["index.json"], err)
	}
	if got := index.Manifests[0].Annotations["io.containerd.image.name"]; got != "localhost/example/thing:1" {
		t.Errorf("the image is called %q", got)
	}
	var manifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	blob(t, files, index.Manifests[0], &manifest)
	var config struct {
		Config struct {
			Entrypoint []string `json:"Entrypoint"` //nolint:tagliatelle // as the format has it
			Env        []string `json:"Env"`        //nolint:tagliatelle // as the format has it
			User       string   `json:"User"`       //nolint:tagliatelle // as the format has it
		} `json:"config"`
	}
	blob(t, files, manifest.Config, &config)
	if diff := cmp.Diff([]string{"/usr/bin/thing", "--fast"}, config.Config.Entrypoint); diff != "" {
		t.Errorf("entrypoint (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PATH=/bin:/", "A=b"}, config.Config.Env); diff != "" || config.Config.User != "65532" {
		t.Errorf("user %q, variables (-want +got):\n%s", config.Config.User, diff)
	}
	packed := files["blobs/"+strings.Replace(manifest.Layers[0].Digest, ":", "/", 1)]
	layer, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"etc/": "", "tmp/": "", "usr/": "", "usr/bin/": "", "usr/bin/thing": "run", "thing": "usr/bin/thing",
		"etc/passwd": "root:x:0:0:root:/:/none\nnobody:x:65534:65534:nobody:/:/none\n",
	}
	if diff := cmp.Diff(want, unpack(t, layer)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestWriteIsReproducible(t *testing.T) {
	t.Parallel()
	i := example(t)
	if !bytes.Equal(written(t, i), written(t, i)) {
		t.Error("the same image gives another archive")
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		image  image.Image
		want   string
	}{
		{"a name without a tag", image.Image{Name: "localhost/thing"}, `making image "localhost/thing": the name has no tag`},
		{"a port is no tag", image.Image{Name: "localhost:5000/thing"}, `making image "localhost:5000/thing": the name has no tag`},
		{
			"a program that is not there", image.Image{Name: "thing:1", Programs: map[string]string{"/thing": "/none"}},
			`reading the program for "/thing": open /none`,
		},
	} {
		if err := image.Write(io.Discard, c.image); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.reason, err, c.want)
		}
	}
}

func TestPathsStayInside(t *testing.T) {
	t.Parallel()
	i := example(t)
	i.Links = map[string]string{"../../escape": "x"}
	if !bytes.Contains(written(t, i), []byte("oci-layout")) {
		t.Fatal("no layout")
	}
	i.Programs = map[string]string{"/../../bin/thing": i.Programs["/usr/bin/thing"]}
	files := unpack(t, bytes.NewReader(written(t, i)))
	for name := range files {
		if strings.Contains(name, "..") {
			t.Errorf("there is %q", name)
		}
	}
}
