# Checks of the sources and of what is built. Sourced by ./dev; calls need(), logged(), configure(), compile() and note() of it.
# shellcheck shell=bash

all_checks=(format tidy tidy_all layers docs agent packages same_bytes fuzz)
# Without a name: all but those that take a quarter of an hour, and what `./dev bundle` made.
usual_checks=(format tidy layers docs agent packages)

# The project's own sources, NUL-separated.
sources() {
  local directory directories=()
  for directory in include src demo examples tests bench; do
    [[ ! -d $root/$directory ]] || directories+=("$root/$directory")
  done
  find "${directories[@]}" -type f \( -name '*.h' -o -name '*.c' -o -name '*.cc' -o -name '*.cpp' \) -print0 | sort -z
}

# What tidy and agent look at.
check_build() {
  preset=release
  build_all
}

check_format() {
  local findings
  findings=$(sources | xargs -0 --no-run-if-empty -P"$(nproc)" -n64 clang-format-19 --dry-run -Werror 2>&1) && return 0
  # One line a file: its name and the lines that would change.
  sed -nE "s|^$root/([^:]+):([0-9]+):[0-9]+: error:.*|\1 \2|p" <<<"$findings" | uniq |
    awk '{lines[$1] = lines[$1] " " $2} END {for (file in lines) print file ": lines" lines[file]}' | sort
  echo "\`./dev format\` fixes this"
  return 1
}

# What changed since the last tag, or since the branch began.
check_tidy() {
  python3 "$root/tools/check_tidy.py" --build "$build" --changed
}

check_tidy_all() {
  python3 "$root/tools/check_tidy.py" --build "$build"
}

check_layers() {
  python3 "$root/tools/check_layers.py"
}

check_docs() {
  python3 "$root/tools/check_docs.py"
}

check_agent() {
  local failed=0
  python3 "$root/tools/check_agent_symbols.py" --build "$build" || failed=1
  python3 "$root/tools/check_libc.py" --build "$build" || failed=1
  return "$failed"
}

check_packages() {
  python3 "$root/tools/check_packages.py" || return 1
  preset=release
  build_programs HEAPTAP_MAN=ON
  make_package || return 1
  lintian --fail-on error,warning "$build"/package/*.deb || return 1
  note "what is used is listed, and the package is clean to lintian"
}

# Whether a second build of the same files, in another directory, gives the same bytes as build/bundle,
# with the date that stands there in the first head of the archive.
check_same_bytes() {
  local again date status=0
  [[ -e $build/bundle/SHA256SUMS ]] || fail "there is nothing to compare with" "./dev bundle"
  date=$(xz --decompress --stdout "$build"/bundle/*.tar.xz 2>/dev/null | head -c 147 | tail -c 11) || true
  again=$(mktemp -d)
  git -C "$root" ls-files -z | tar --create --directory="$root" --null --files-from=- | tar --extract --directory="$again"
  SOURCE_DATE_EPOCH=$((8#$date)) "$again/dev" bundle >/dev/null || status=1
  cmp "$build/bundle/SHA256SUMS" "$again/build/bundle/SHA256SUMS" || status=1
  rm -rf "$again"
  return "$status"
}

# What is typed is no data from outside, and takes half of the build: `./dev fuzz` has it.
check_fuzz() {
  fuzz '' 60 command_line
}

# Ten minutes a target.
check_fuzz_long() {
  fuzz '' $((600 * $(find "$root/tests/fuzz" -maxdepth 1 -name '*.cc' | wc -l)))
}

# Whether build/bench.json is no worse than the figures kept before.
check_bench_kept() {
  "$root/bench/against" "$build/bench.last.json" "$build/bench.json"
}

# fuzz TARGET SECONDS [WITHOUT]: the target, or each of tests/fuzz (but WITHOUT) for an equal share of the time.
# What it finds new stays in build-fuzz/corpus; tests/fuzz/corpus/<target> holds the seeds and is only read.
fuzz() {
  local dir target share names=() failed=0 built=fuzz_targets
  dir=$(build_dir fuzz)
  mapfile -t names < <(find "$root/tests/fuzz" -maxdepth 1 -name '*.cc' -printf '%f\n' 2>/dev/null | sed 's/\.cc$//' | sort)
  if ((${#names[@]} == 0)); then
    note "there are no fuzz targets yet (tests/fuzz/*.cc)"
    return 0
  fi
  if [[ -n $1 ]]; then
    [[ " ${names[*]} " == *" $1 "* ]] || fail "there is no fuzz target '$1'" "take one of: ${names[*]}"
    names=("$1")
  fi
  if [[ -n ${3-} ]]; then
    mapfile -t names < <(printf '%s\n' "${names[@]}" | grep -vxF "$3")
    built=fuzz_data_targets
  fi
  share=$(($2 / ${#names[@]}))
  ((share > 0)) || share=1
  configure fuzz && compile fuzz "$built" || return 1
  for target in "${names[@]}"; do
    fuzz_one "$target" "$share" || failed=1
  done
  note "${#names[@]} targets, $share s each"
  return "$failed"
}

fuzz_one() {
  local dir seeds=$root/tests/fuzz/corpus/$1 corpora
  dir=$(build_dir fuzz)
  corpora=("$dir/corpus/$1")
  mkdir -p "$dir/corpus/$1" "$dir/findings"
  [[ ! -d $seeds ]] || corpora+=("$seeds")
  note "fuzzing $1 for $2 seconds"
  logged "fuzz target $1" "$dir/fuzz/$1" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$dir/findings/$1-" "${corpora[@]}" && return 0
  note "run it again with: $dir/fuzz/$1 FILE  (the file is named above)"
  return 1
}

# command_check NAME…: one line a check; the closing line counts them.
command_check() {
  local name status=0 groups=(check) checks=("$@")
  ((${#checks[@]} > 0)) || checks=("${usual_checks[@]}")
  for name in "${checks[@]}"; do
    [[ " ${all_checks[*]} " == *" $name "* ]] || fail "there is no check '$name'" "take some of: ${all_checks[*]}"
  done
  if [[ " ${checks[*]} " =~ \ (tidy|tidy_all|agent)\  ]]; then
    checks=(build "${checks[@]}")
    groups+=(test)
  fi
  [[ " ${checks[*]} " != *" packages "* ]] || groups+=(install package)
  need build "${groups[@]}"
  run_checks "${checks[@]}" || status=1
  summarise
  return "$status"
}

# run_check NAME: its output, if it fails, and a line with the verdict.
run_check() {
  local output status=0 start=$SECONDS
  output=$(mktemp)
  ("check_$1") >"$output" 2>&1 </dev/null || status=$?
  if ((status == 0)); then
    printf 'ok      %s (%d s)%s\n' "$1" $((SECONDS - start)) "$(remark "$output")"
  else
    cat "$output"
    printf 'FAILED  %s (%d s)\n' "$1" $((SECONDS - start))
  fi
  rm -f "$output"
  return "$status"
}

# remark FILE: the last line that a check said, as the reason or the extent of its "ok".
remark() {
  local last
  last=$(tail -n 1 "$1")
  [[ -z $last ]] || printf ': %s' "${last#dev: }"
}
