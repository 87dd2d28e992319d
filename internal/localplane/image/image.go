// Package image makes container images from static programs, so that a node can run what was built on this machine and
// nothing has to be fetched.
//
// It promises archives that are the same, byte for byte, for the same programs. It refuses to be a builder of images: a
// file has a path, a mode and its content, and there is one layer.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Image describes an image that is to be made.
type Image struct {
	// Name is the whole reference by which pods name the image, with a tag. Required.
	Name string
	// Entrypoint is the command that a container runs when its pod names none.
	Entrypoint []string
	// Env are variables, each as NAME=value.
	Env []string
	// User is the user, or user:group, of a container whose pod names none; empty is root.
	User string
	// Programs maps each path in the image to the program on this machine that is put there.
	Programs map[string]string
	// Links maps each path in the image to what a symbolic link there points to.
	Links map[string]string
}

const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	// nameAnnotation is where containerd's import reads the image's name.
	nameAnnotation = "io.containerd.image.name"
	tagAnnotation  = "org.opencontainers.image.ref.name"

	modeProgram = 0o755
	modeFile    = 0o644
	modeShared  = 0o1777

	accounts = "root:x:0:0:root:/:/none\nnobody:x:65534:65534:nobody:/:/none\n"
)

// epoch stands for every time, so that an archive depends on nothing but its content.
var epoch = time.Unix(0, 0).UTC()

var errNoTag = errors.New("the name has no tag")

// Write writes the image as a tar that holds an OCI image layout.
func Write(w io.Writer, i Image) error {
	_, tag, tagged := strings.Cut(path.Base(i.Name), ":")
	if !tagged || tag == "" {
		return fmt.Errorf("making image %q: %w", i.Name, errNoTag)
	}
	layer, err := i.layer()
	if err != nil {
		return fmt.Errorf("making the layer of image %q: %w", i.Name, err)
	}
	packed, err := compress(layer)
	if err != nil {
		return fmt.Errorf("packing the layer of image %q: %w", i.Name, err)
	}
	if err := i.assemble(w, tag, blob{mediaLayer, packed}, digest(layer)); err != nil {
		return fmt.Errorf("writing image %q: %w", i.Name, err)
	}
	return nil
}

// layer returns the tar of the image's files.
func (i *Image) layer() ([]byte, error) {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for _, dir := range i.directories() {
		mode := int64(modeProgram)
		if dir == "tmp" {
			mode = modeShared
		}
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: mode, ModTime: epoch}); err != nil {
			return nil, fmt.Errorf("adding folder %q: %w", dir, err)
		}
	}
	if err := i.addFiles(t); err != nil {
		return nil, err
	}
	if err := t.Close(); err != nil {
		return nil, fmt.Errorf("closing the archive: %w", err)
	}
	return out.Bytes(), nil
}

// addFiles adds all that is not a folder.
func (i *Image) addFiles(t *tar.Writer) error {
	if err := addFile(t, "etc/passwd", modeFile, []byte(accounts)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(i.Programs)) {
		content, err := os.ReadFile(i.Programs[name])
		if err != nil {
			return fmt.Errorf("reading the program for %q: %w", name, err)
		}
		if err := addFile(t, inside(name), modeProgram, content); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.Links)) {
		link := &tar.Header{Typeflag: tar.TypeSymlink, Name: inside(name), Linkname: i.Links[name], Mode: modeProgram, ModTime: epoch}
		if err := t.WriteHeader(link); err != nil {
			return fmt.Errorf("adding link %q: %w", name, err)
		}
	}
	return nil
}

// directories lists every folder of the image, parents first.
func (i *Image) directories() []string {
	found := map[string]bool{"etc": true, "tmp": true}
	for _, files := range []map[string]string{i.Programs, i.Links} {
		for name := range files {
			for dir := path.Dir(inside(name)); dir != "."; dir = path.Dir(dir) {
				found[dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// inside returns a path as it stands in an archive, which cannot lead out of it.
func inside(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

func addFile(t *tar.Writer, name string, mode int64, content []byte) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content)), ModTime: epoch}
	if err := t.WriteHeader(header); err != nil {
		return fmt.Errorf("adding %q: %w", name, err)
	}
	if _, err := t.Write(content); err != nil {
		return fmt.Errorf("adding %q: %w", name, err)
	}
	return nil
}

func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return out.Bytes(), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// blob is a piece of an image, addressed by its content.
type blob struct {
	mediaType string
	data      []byte
}

// descriptor refers to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    map[string]string `json:"platform,omitempty"`
}

func (b blob) descriptor() descriptor {
	return descriptor{MediaType: b.mediaType, Digest: digest(b.data), Size: len(b.data)}
}

// encoded is a blob of JSON.
func encoded(mediaType string, value any) (blob, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return blob{}, fmt.Errorf("encoding %s: %w", mediaType, err)
	}
	return blob{mediaType, data}, nil
}

// assemble writes the layout around the layer.
func (i *Image) assemble(w io.Writer, tag string, layer blob, diffID string) error {
	config, err := encoded(mediaConfig, map[string]any{
		"created": epoch, "architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{
			"Entrypoint": i.Entrypoint, "Env": append([]string{"PATH=/bin:/"}, i.Env...), "User": i.User, "WorkingDir": "/",
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{diffID}},
	})
	if err != nil {
		return err
	}
	manifest, err := encoded(mediaManifest, map[string]any{
		"schemaVersion": 2, "mediaType": mediaManifest, "config": config.descriptor(), "layers": []descriptor{layer.descriptor()},
	})
	if err != nil {
		return err
	}
	entry := manifest.descriptor()
	entry.Annotations = map[string]string{nameAnnotation: i.Name, tagAnnotation: tag}
	entry.Platform = map[string]string{"architecture": runtime.GOARCH, "os": "linux"}
	index, err := encoded(mediaIndex, map[string]any{
		"schemaVersion": 2, "mediaType": mediaIndex, "manifests": []descriptor{entry},
	})
	if err != nil {
		return err
	}
	return writeLayout(w, index, []blob{config, manifest, layer})
}

func writeLayout(w io.Writer, index blob, blobs []blob) error {
	t := tar.NewWriter(w)
	if err := addFile(t, "oci-layout", modeFile, []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	if err := addFile(t, "index.json", modeFile, index.data); err != nil {
		return err
	}
	for _, b := range blobs {
		if err := addFile(t, "blobs/"+strings.Replace(digest(b.data), ":", "/", 1), modeFile, b.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return fmt.Errorf("closing the archive: %w", err)
	}
	return nil
}
