#!/usr/bin/env bash
# Checks that generated files are what the generators make of the tree, and that each module is tidy. It changes nothing
# that is tracked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
	[ -e "$file" ] && printf '%s\0' "$file"
done | tar --create --null --files-from=- | tar --extract --directory="$copy"
(cd "$copy" && hack/generate.sh)
if ! diff --recursive --brief config "$copy/config" || ! diff --recursive --brief api "$copy/api"; then
	echo "verify: generated files are not current: run make generate" >&2
	exit 1
fi
for module in . controlplane controlplane/containerd controlplane/oci examples/greeter examples/reader tools; do
	if ! (cd "$module" && "$go" mod tidy -diff); then
		echo "verify: the module in $module is not tidy: run make tidy" >&2
		exit 1
	fi
done
# A requirement of the specification without a clause, a clause without a test, a page that does not name them: it takes no
# control plane to see these.
if ! "$go" test ./conformance -run '^(TestEveryRequirementHasAClause|TestLevelsAreThoseOfTheText|TestInventoryIsComplete|TestClausesAreWellFormed|TestNoTwoClausesMapOneKind|TestOwnSecretsFollowTheConventions|TestPageIsCurrent)$'; then
	echo "verify: the conformance suite or its page is not complete" >&2
	exit 1
fi
echo "verify: generated files are current, modules are tidy"
