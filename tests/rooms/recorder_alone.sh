#!/bin/sh
# recorder_alone.sh RECORDER_ALONE AGENT HEAPTAP: a program that links the floors up to `record` alone records, and heaptap reads it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ldd "$1" | grep -E 'libdw|libelf'; then
  echo "what reads debug information is linked to what only collects"
  exit 1
fi
"$1" "$2" "$folder/one.htap" /bin/sh -c 'exit 0' >"$folder/traces"
[ "$(cat "$folder/traces")" = "$folder/one.htap" ]
"$3" show stats --json "$folder/one.htap" >"$folder/stats"
python3 - "$folder/stats" <<'EOF'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    stats = json.load(file)
assert stats["totals"]["allocations"] > 0, stats["totals"]
assert stats["capture"]["complete"], stats["capture"]
EOF
