// Package config holds the manifests that make a cluster serve Bowline: plain YAML, readable and applicable by hand.
// It only carries the files; which of them are applied, in what order and with what changes is decided in
// internal/install.
package config

import (
	"embed"
	"io/fs"
)

//go:embed namespace.yaml crd rbac controller mapping webhook policy
var files embed.FS

// Files returns the manifests: namespace.yaml and the folders crd, rbac, controller, mapping, webhook and policy.
func Files() fs.FS {
	return files
}
