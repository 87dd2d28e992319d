#!/usr/bin/env bash
# Runs each fuzz target of the tree for a time, one after the other: hack/fuzz.sh [10s]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go}
time=${1:-10s}

grep --recursive --line-regexp --only-matching --no-messages --include='*_test.go' \
	--regexp='func Fuzz[A-Za-z0-9_]*(f \*testing.F) {' . | while IFS=: read -r file line; do
	target=${line#func }
	target=${target%%(*}
	echo "fuzzing $target in $(dirname "$file") for $time"
	"$go" test "$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x
done
