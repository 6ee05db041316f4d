# How many tests and checks passed and failed: the closing line `N passed, N failed` of ./dev and of .ci/run.
# shellcheck shell=bash

counted_passed=0
counted_failed=0

# count PASSED FAILED
count() {
  counted_passed=$((counted_passed + $1))
  counted_failed=$((counted_failed + $2))
}

# counts_in FILE: what the last closing line there says, as PASSED FAILED; nothing where there is none.
counts_in() {
  sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$1" | tail -n 1
}

# The closing line.
summarise() {
  printf '%d passed, %d failed\n' "$counted_passed" "$counted_failed"
}
