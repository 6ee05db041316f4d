#!/bin/sh
# cross_libraries.sh TRIPLET DIRECTORY: what heaptap-target is built with, for the CPU that TRIPLET-gcc compiles for: below DIRECTORY
# lib/libbearssl.a and lib/libz.a, compiled from Debian's sources, since Debian has no packages of some of these CPUs; and include/ with
# their headers and those of libraries that are headers alone, which are this machine's. Sources are kept in DIRECTORY/../sources.
# Does nothing where DIRECTORY is complete.
set -eu
triplet=$1
mkdir -p "$2" "$2/../sources"
directory=$(cd "$2" && pwd -P)
sources=$(cd "$2/../sources" && pwd -P)
packages="bearssl zlib"
stamp="$directory/complete"
wanted="$triplet $packages $("$triplet-gcc" -dumpfullversion)"
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

compiler="$triplet-gcc"
if command -v ccache >/dev/null; then compiler="ccache $compiler"; fi
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
work=$(mktemp -d "$directory/work.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The sources as Debian builds them. This machine's settings of apt stay as they are.
fetch_sources() {
  mkdir -p "$work/state/lists/partial" "$work/state/archives/partial" "$work/state/sources"
  : >"$work/state/status"
  # shellcheck disable=SC2016  # apt fills them in
  apt-get indextargets --format 'deb-src $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Identifier: Packages' 'Origin: Debian' |
    awk '!seen[$0]++' >"$work/state/sources/debian.list" # in their order: the first that has the newest version is taken
  apt() {
    apt-get -q -o Acquire::Languages=none -o APT::Sandbox::User=root -o "Dir::State=$work/state" \
      -o "Dir::State::status=$work/state/status" -o "Dir::Cache=$work/state" -o Dir::Etc::SourceList=/dev/null \
      -o "Dir::Etc::SourceParts=$work/state/sources" "$@"
  }
  apt update
  mkdir "$work/sources"
  # shellcheck disable=SC2086  # a list
  (cd "$work/sources" && apt source $packages)
  rm -rf "${sources:?}"/*
  mv "$work/sources"/* "$sources"
  touch "$sources/complete"
}

# In case several CPUs are built for at once.
exec 9>"$sources.lock"
flock 9
[ -e "$sources/complete" ] || fetch_sources
flock -u 9

# library NAME FILE…: lib/libNAME.a, of these files compiled where they lie.
library() {
  name=$1
  shift
  mkdir "$work/$name"
  # shellcheck disable=SC2086  # lists
  printf '%s\0' "$@" | (cd "$work/$name" && xargs -0 -P "$jobs" -n 16 $compiler -c -Os $pie -ffunction-sections -fdata-sections \
    -fstack-protector-strong -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 -DHAVE_UNISTD_H -DHAVE_STDARG_H $flags)
  "$triplet-ar" rcs "$work/$name.a" "$work/$name"/*.o
  mv "$work/$name.a" "$directory/lib/lib$name.a"
}

# As heaptap-target itself: src/heaptap_target.cmake.
pie=-fno-pie
[ ! -e "$("$triplet-gcc" -print-file-name=rcrt1.o)" ] || pie=-fPIE

rm -rf "${directory:?}/lib" "${directory:?}/include"
mkdir -p "$directory/lib" "$directory/include"
cd "$sources"/bearssl-*/
cp inc/*.h "$directory/include"
flags="-I$PWD/inc -I$PWD/src"
# shellcheck disable=SC2046  # no blank in their names
library bearssl $(find "$PWD/src" -name '*.c')
cd "$sources"/zlib-*/
cp zlib.h zconf.h "$directory/include"
flags="-I$PWD"
library z "$PWD"/*.c
for headers in fmt boost; do ln -s "/usr/include/$headers" "$directory/include/$headers"; done
printf '%s\n' "$wanted" >"$stamp"
