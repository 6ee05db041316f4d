#!/bin/sh
# recorder_alone.sh RECORDER_ALONE AGENT HEAPTAP: a program that links the floors up to `record` alone records, and heaptap reads it.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
if ldd "$1" | grep -E 'libdw|libelf'; then
  echo "what reads debug information is linked to what only collects"
  exit 1
fi
"$1" "$2" "$directory/one.htap" /bin/sh -c 'exit 0' >"$directory/traces"
[ "$(cat "$directory/traces")" = "$directory/one.htap" ]
"$3" show stats --json "$directory/one.htap" >"$directory/stats"
python3 - "$directory/stats" <<'EOF'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    stats = json.load(file)
assert stats["totals"]["allocations"] > 0, stats["totals"]
assert stats["capture"]["complete"], stats["capture"]
EOF
