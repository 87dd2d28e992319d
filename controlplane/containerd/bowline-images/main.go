// Command bowline-images puts images into the containerd of a local node: it takes archives in the form that the image
// package of Bowline writes (an OCI image layout in a tar) and unpacks them, so that pods can run them at once.
//
// It refuses to fetch anything: an image comes from a file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"
)

const (
	// namespace is where containerd's Kubernetes side looks for images.
	namespace = "k8s.io"
	timeout   = 2 * time.Minute
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "bowline-images: %v\n", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: bowline-images --address SOCKET ARCHIVE [ARCHIVE ...]")

// run imports each archive and writes the names of what was in it.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bowline-images", flag.ContinueOnError)
	address := flags.String("address", "", "socket of containerd")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("reading the arguments: %w", err)
	}
	if *address == "" || flags.NArg() == 0 {
		return errUsage
	}
	client, err := containerd.New(*address)
	if err != nil {
		return fmt.Errorf("connecting to containerd at %q: %w", *address, err)
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(namespaces.WithNamespace(context.Background(), namespace), timeout)
	defer cancel()
	for _, path := range flags.Args() {
		if err := load(ctx, client, path, out); err != nil {
			return fmt.Errorf("importing %q: %w", path, err)
		}
	}
	return nil
}

// load imports one archive and unpacks its images.
func load(ctx context.Context, client *containerd.Client, path string, out io.Writer) error {
	archive, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening the archive: %w", err)
	}
	defer func() { _ = archive.Close() }()
	images, err := client.Import(ctx, archive)
	if err != nil {
		return fmt.Errorf("reading the archive: %w", err)
	}
	for i := range images {
		image := containerd.NewImage(client, images[i])
		if err := image.Unpack(ctx, ""); err != nil {
			return fmt.Errorf("unpacking %q: %w", image.Name(), err)
		}
		_, _ = fmt.Fprintln(out, image.Name())
	}
	return nil
}
