#!/usr/bin/env bash
# The picture of README.md, made anew: records a demo, and takes a picture of its HTML report in a browser.
#
# usage: tools/picture.sh          after `./dev build`, with chromium; writes docs/pictures/report.png
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
picture=$root/docs/pictures/report.png
max_bytes=$((150 * 1024))

fail() {
  printf 'picture: %s\n' "$*" >&2
  exit 1
}

command -v chromium >/dev/null || fail "chromium is missing; install it with: apt-get install chromium"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$root"
build/bin/heaptap run -q -o "$directory/words.htap" build/demo/words demo/words.cc >/dev/null
build/bin/heaptap report -q "$directory/words.htap" -o "$directory/words.html"
timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-background-networking --hide-scrollbars --user-data-dir="$directory/browser" \
  --window-size=1200,600 --virtual-time-budget=8000 --screenshot="$directory/report.png" "file://$directory/words.html" >"$directory/browser.log" 2>&1 ||
  fail "the browser failed: $(tail -n 3 "$directory/browser.log")"
[[ -s $directory/report.png ]] || fail "the browser made no picture"
size=$(stat -c %s "$directory/report.png")
((size <= max_bytes)) || fail "the picture has $size bytes; $max_bytes are allowed"
mkdir -p "$(dirname "$picture")"
cp "$directory/report.png" "$picture"
printf 'picture: %s (%s bytes)\n' "${picture#"$root/"}" "$size"
