#!/usr/bin/env bash
# Makes every generated file anew: deep copies and CustomResourceDefinitions from the types below api/, and the reference
# of the command line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go}
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT

generator() { "$go" tool -modfile=tools/go.mod controller-gen "$@"; }

generator object paths=./api/...
generator crd paths=./api/servicebinding/v1 paths=./api/draft/v1alpha1 output:crd:dir="$raw"
"$go" run ./hack/crdgen -in "$raw" -out config/crd
