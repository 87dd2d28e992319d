#!/usr/bin/env bash
# Runs each fuzz target of the tree for a time, one after the other: hack/fuzz.sh [10s]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go}
time=${1:-10s}

mapfile -t targets < <(git grep --untracked --no-color --only-matching --extended-regexp '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go')
if [ "${#targets[@]}" -eq 0 ]; then
	echo "fuzz: no target found" >&2
	exit 1
fi
for found in "${targets[@]}"; do
	package=./$(dirname "${found%%:*}")
	target=${found##*func }
	echo "fuzzing $target in $package for $time"
	# Minimising what is merely interesting would take most of a short time.
	"$go" test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1x </dev/null
done
