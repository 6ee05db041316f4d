#!/bin/sh
# report_alone.sh REPORT_ALONE: a program that links the rooms `text` and `json` alone renders, and knows nothing of debug information.
set -eu
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
if ldd "$1" | grep -E 'libdw|libelf'; then
  echo "what reads debug information is linked to what only shows reports"
  exit 1
fi
"$1" >"$directory/shown"
python3 - "$directory/shown" <<'EOF'
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    text, brace, rest = file.read().partition("{\n")
for words in ("./made_up", "make_node(int)", "node.cc:12", "the table of call stacks was full"):
    assert words in text, (words, text)
report = json.loads(brace + rest)
assert report["totals"]["allocations"] == 3, report["totals"]
assert report["frames"][report["nodes"]["frame"][report["stacks"][0]["node"]]]["function"] == "make_node(int)", report["stacks"]
assert report["notes"][0]["kind"] == "stack_table_full", report["notes"]
EOF
