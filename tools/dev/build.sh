# Configures and compiles. Sourced by ./dev; calls need(), logged() and note() of it.
# shellcheck shell=bash

build_dir() {
  if [[ $1 == release ]]; then printf '%s\n' "$build"; else printf '%s\n' "$root/build-$1"; fi
}

# build_programs NAME=VALUE…: what a user runs; needs no test library. The settings are CMake's.
build_programs() {
  locked compile_configured "$preset" programs "$@"
}

# build_all NAME=VALUE…: everything, tests included.
build_all() {
  locked compile_configured "$preset" all HEAPTAP_TESTS=ON "$@"
}

# The .deb in build/package, of programs that are built.
make_package() {
  rm -rf "$build/package"
  (cd "$build" && logged "packaging" cpack -G DEB) || return 1
  rm -rf "$build/package/_CPack_Packages"
}

# locked COMMAND…: one build at a time in this checkout; Ninja itself doesn't care.
locked() {
  local lock
  mkdir -p "$build"
  exec {lock}>"$build/.lock"
  if ! flock --nonblock "$lock"; then
    note "waiting for another build in this checkout"
    flock "$lock"
  fi
  "$@" || exit "$failure_status"
  exec {lock}>&-
}

# compile_configured PRESET TARGETS NAME=VALUE…
compile_configured() {
  local preset=$1 target=$2
  shift 2
  : >"$log"
  configure "$preset" "$@" && compile "$preset" "$target"
}

# configure PRESET NAME=VALUE…: runs CMake where it never ran for this place, or with other values.
# A first configuration without HEAPTAP_TESTS leaves the tests out; later ones keep what is set.
configure() {
  local preset=$1 dir cache setting options=() stale=no
  dir=$(build_dir "$preset")
  cache=$dir/CMakeCache.txt
  shift
  if [[ -e $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    rm -rf "$cache" "$dir/CMakeFiles" "$dir/build.ninja"  # the checkout was moved or copied
  fi
  if [[ ! -e $dir/build.ninja || $root/CMakePresets.json -nt $cache ]]; then
    stale=yes
    [[ -e $cache ]] || options+=(-DHEAPTAP_TESTS=OFF)
  fi
  for setting in "$@"; do
    options+=("-D$setting")
    grep -qsE "^${setting%%=*}:[A-Z]+=${setting#*=}\$" "$cache" || stale=yes
  done
  [[ $stale == yes ]] || return 0
  [[ -e $dir/build.ninja ]] || note "building heaptap ($preset) for the first time; this takes a few minutes"
  (cd "$root" && logged "configuring" cmake --preset "$preset" "${options[@]}")
}

# compile PRESET TARGETS
compile() {
  local targets
  read -ra targets <<<"$2"
  showing_progress logged "building" cmake --build "$(build_dir "$1")" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" \
    --target "${targets[@]}"
}

# showing_progress COMMAND…: while it runs, says how far the build is that writes to the log: on a terminal in one line, else a
# line every half minute. Short builds say nothing.
showing_progress() {
  local teller status=0
  tell_progress "$(wc -l <"$log")" &
  teller=$!
  "$@" || status=$?
  kill "$teller" 2>/dev/null || true
  wait "$teller" 2>/dev/null || true
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
  return "$status"
}

# tell_progress LINES: those of the log that were there before.
tell_progress() {
  local steps sleeper='' pause=30
  [[ ! -t 2 ]] || pause=1
  trap 'kill "$sleeper" 2>/dev/null; exit' TERM
  while true; do
    sleep "$pause" &
    sleeper=$!
    wait "$sleeper"
    steps=$(tail -n +$(($1 + 1)) "$log" | sed -nE 's/^\[([0-9]+\/[0-9]+)\].*/\1/p' | tail -n 1)
    [[ -n $steps ]] || continue
    if [[ -t 2 ]]; then
      printf '\r\033[Kdev: building, step %s' "$steps" >&2
    else
      note "building, step $steps"
    fi
  done
}
