# heaptap-target for other CPUs, by Debian's cross compilers. Sourced by ./dev; calls need(), locked(), logged(), showing_progress(),
# note() and fail() of it.
# shellcheck shell=bash

# Those that heaptap-target is built for, besides the CPU of this machine.
cross_cpus=(aarch64 arm i386 mips mipsel powerpc riscv64)

triplet_of() {
  case $1 in
    arm) echo arm-linux-gnueabihf ;;
    i386) echo i686-linux-gnu ;;
    *) echo "$1-linux-gnu" ;;
  esac
}

# command_cross [CPU…]: build/cross/CPU/bin/heaptap-target, with a line for its size stripped.
command_cross() {
  local cpu cpus=("$@")
  ((${#cpus[@]} > 0)) || cpus=("${cross_cpus[@]}")
  for cpu in "${cpus[@]}"; do
    [[ " ${cross_cpus[*]} " == *" $cpu "* ]] || fail "there is no CPU '$cpu' to build for" "take some of: ${cross_cpus[*]}"
  done
  need cross
  : >"$log"
  for cpu in "${cpus[@]}"; do
    locked build_cross "$cpu"
  done
}

# build_cross CPU
build_cross() {
  local cpu=$1 triplet dir=$build/cross/$1 stripped
  triplet=$(triplet_of "$cpu")
  logged "libraries for $cpu" "$root/tools/cross_libraries.sh" "$triplet" "$build/cross/libraries/$cpu" || return 1
  if [[ ! -e $dir/build.ninja || $root/cmake/toolchains/cross.cmake -nt $dir/CMakeCache.txt ]]; then
    logged "configuring for $cpu" cmake -G Ninja -S "$root" -B "$dir" --fresh -DCMAKE_BUILD_TYPE=Release \
      "-DCMAKE_TOOLCHAIN_FILE=$root/cmake/toolchains/cross.cmake" "-DHEAPTAP_CROSS_CPU=$cpu" "-DHEAPTAP_CROSS_TRIPLET=$triplet" \
      "-DHEAPTAP_CROSS_LIBRARIES=$build/cross/libraries/$cpu" || return 1
  fi
  showing_progress logged "building for $cpu" cmake --build "$dir" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" \
    --target heaptap-target || return 1
  stripped=$dir/heaptap-target.stripped
  "$triplet-strip" -o "$stripped" "$dir/bin/heaptap-target"
  note "built: $dir/bin/heaptap-target ($(stat -c %s "$stripped") bytes stripped)"
}
