# The three tiers of tests. Sourced by ./dev; calls need(), logged(), note(), fail(), build_all(), run_check() and count() of it.
# docs/tests.md says which promise is held by which tier.
# shellcheck shell=bash

# Parts of ./dev test --all and of --long, in order.
all_parts=(captures readers cpus bundle sanitizers threads tidy fuzz_seconds)
long_parts=(fuzz soaks repeats applications load bench bare systems)

command_test() {
  local tier=first
  preset=release
  while (($# > 0)); do
    case $1 in
      --all | --long) tier=${1#--} ;;
      --preset)
        take_preset "$@"
        set -- - "${rest[@]}"
        ;;
      *) break ;;
    esac
    shift
  done
  case $tier in
    first) test_first "$@" ;;
    all) run_parts all "${all_parts[*]}" "$@" ;;
    long) run_parts long "${long_parts[*]}" "$@" ;;
  esac
}

# test_first [CTEST ARG…]: all tests of this machine's CPU, each program captured once a way; then the checks of the sources. With
# arguments of ctest: those tests alone.
test_first() {
  local groups=(build test) status=0
  [[ ${CI-} != true ]] || groups+=(real)
  (($# > 0)) || groups+=(check install package)
  need "${groups[@]}"
  build_all HEAPTAP_ALL_TESTS=OFF
  note "testing"
  run_ctest "$preset" "$@" || status=1
  (($# == 0)) && [[ $preset == release ]] || return "$status"
  run_checks format tidy packages || status=1
  summarise
  return "$status"
}

# run_ctest PRESET [CTEST ARG…]: what fails by luck runs once more in CI, alone. Counted.
run_ctest() {
  local dir report options=() passed failed status=0
  dir=$(build_dir "$1")
  report=$dir/tests.json
  shift
  [[ ${CI-} != true ]] || options+=(--retry)
  rm -f "$report"
  "$root/tools/run_tests.py" "${options[@]}" --report "$report" -- \
    ctest --test-dir "$dir" -j"$(($(nproc) + 2))" --output-on-failure --no-tests=error --timeout 600 "$@" || status=1
  read -r passed failed < <(python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
print(report["passed"], len(report["failed"]))' "$report" 2>/dev/null || echo 0 1) # it broke down before it could count
  count "$passed" "$failed"
  return "$status"
}

# run_checks NAME…: as run_check() of checks.sh, counted.
run_checks() {
  local name status=0
  for name in "$@"; do
    if run_check "$name"; then
      count 1 0
    else
      count 0 1
      status=1
    fi
  done
  return "$status"
}

# run_parts TIER PARTS [PART…]: all of them, or those named, each with a line for its seconds.
run_parts() {
  local tier=$1 part parts start status=0
  read -ra parts <<<"$2"
  shift 2
  for part in "$@"; do
    [[ " ${parts[*]} " == *" $part "* ]] || fail "there is no part '$part' of --$tier" "take some of: ${parts[*]}"
  done
  (($# == 0)) || parts=("$@")
  for part in "${parts[@]}"; do
    start=$SECONDS
    if "part_$part"; then
      printf 'ok      %s (%d s)\n' "$part" $((SECONDS - start))
    else
      printf 'FAILED  %s (%d s)\n' "$part" $((SECONDS - start))
      status=1
    fi
  done
  summarise
  return "$status"
}

# The tests of HEAPTAP_ALL_TESTS that have this label.
labelled() {
  need build test
  build_all HEAPTAP_ALL_TESTS=ON
  run_ctest release -L "^$1\$"
}

# All programs in all ways that they can be built and captured: compilers, -O, static, static-pie, 32 bits, musl, all functions bound
# at the start, totals alone, from another machine.
part_captures() { labelled captures; }

# Exports by the programs that they are for; the HTML report in a browser.
part_readers() { labelled readers; }

# heaptap for other CPUs, run here; bytes between machines of other CPUs.
part_cpus() { labelled cpus; }

# The one file: attacks on its cache, systems made by hand; and a second build elsewhere gives the same bytes.
part_bundle() {
  local status=0
  need build test install bundle
  build_programs HEAPTAP_MAN=ON HEAPTAP_ONE_FILE=ON
  logged "bundling" make_bundle || return 1
  run_scripts "$root"/tests/bundle/*_test.py || status=1
  run_checks same_bytes || status=1
  return "$status"
}

# run_scripts SCRIPT…: each in a process of its own, counted.
run_scripts() {
  local script status=0
  for script in "$@"; do
    if python3 -W ignore "$script"; then
      count 1 0
    else
      count 0 1
      status=1
    fi
  done
  return "$status"
}

# Unit tests and fuzz seeds under AddressSanitizer and UndefinedBehaviorSanitizer.
part_sanitizers() {
  need build test
  locked compile_configured debug "unit_programs replay_seeds" HEAPTAP_TESTS=ON
  run_ctest debug -L '^(unit|unit-threads|seeds)$'
}

# What threads do without locks, under ThreadSanitizer.
part_threads() {
  need build test
  locked compile_configured tsan thread_programs HEAPTAP_TESTS=ON
  run_ctest tsan -L '^unit-threads$'
}

part_tidy() {
  need build test check
  build_all HEAPTAP_ALL_TESTS=OFF
  run_checks tidy_all
}

# Two seconds a fuzz target: that all of them build and run.
part_fuzz_seconds() {
  need build fuzz
  run_checks fuzz
}

# Ten minutes a fuzz target.
part_fuzz() {
  need build fuzz
  run_checks fuzz_long
}

# The long forms: 100 million hand-overs, 10,000 overwritten logs, a thousand attaches, a hundred times the rounds.
part_soaks() {
  need build test real
  build_all HEAPTAP_ALL_TESTS=ON
  HEAPTAP_LONG=1 run_ctest release -R '^(order_verify|stacks_verify|e2e\.(overwritten_log|answers_by_ways|attach_stress|attach_edges|leak_random|missing_calls|own_functions|reconnects|slow_lines|via)_test|e2e\.(agent|ptrace)\.usual.*)$|Session|DoesNoHarm|TraceFile|DamagedStacks'
}

# The first tier's tests twenty times (HEAPTAP_REPEATS), every other time beside two busy loops: what fails in one of them fails by luck.
part_repeats() {
  local round loop loops status=0
  need build test
  build_all HEAPTAP_ALL_TESTS=OFF
  for ((round = 1; round <= ${HEAPTAP_REPEATS:-20}; round++)); do
    loops=()
    if ((round % 2 == 0)); then
      for loop in 1 2; do
        timeout 2h sh -c 'while :; do :; done' &
        loops+=($!)
      done
    fi
    note "round $round${loops:+, beside $loop busy loops}"
    CI='' run_ctest release || status=1
    ((${#loops[@]} == 0)) || kill "${loops[@]}"
  done
  return "$status"
}

# Seventy applications of Debian: the same as bare, accused of nothing that Valgrind doesn't know, and without a leak where none is
# reported. It installs them.
part_applications() {
  need build test
  build_all HEAPTAP_ALL_TESTS=OFF
  HEAPTAP=$build/bin/heaptap python3 "$root/tests/applications/applications.py" --install --valgrind --json "$build/applications.json" \
    --table "$build/applications.md"
}

# Servers under load that are attached to a hundred times, a thousand kills, ten minutes of a million events a second, a small board.
part_load() {
  need build test
  build_all HEAPTAP_ALL_TESTS=OFF
  HEAPTAP=$build/bin/heaptap TARGETS=$build/tests/targets python3 -W ignore "$root/tests/load/load_test.py" --install
}

# The README's commands on a bare Debian 12, which only root can make.
part_bare() {
  local as_root=()
  ((EUID == 0)) || as_root=(sudo)
  need release
  if "${as_root[@]}" "$root/tools/bare_machine.sh"; then count 1 0; else
    count 0 1
    return 1
  fi
}

# The one file on Debian 11, 12, 13 and musl, which only root can make.
part_systems() {
  ((EUID == 0)) || fail "only root can make root directories of other systems" "sudo ./dev test --long systems"
  need build test install bundle release
  build_programs HEAPTAP_MAN=ON HEAPTAP_ONE_FILE=ON
  logged "bundling" make_bundle || return 1
  if "$root/tools/try_bundle.sh"; then count 1 0; else
    count 0 1
    return 1
  fi
}

# The benchmarks, against the figures of the last time that are in build/bench.json, where there are some.
part_bench() {
  local last=$build/bench.json kept=$build/bench.last.json
  [[ ! -s $last ]] || cp "$last" "$kept"
  "$root/dev" bench || return 1
  [[ ! -s $kept ]] || run_checks bench_kept
}
