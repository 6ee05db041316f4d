#!/usr/bin/env bash
# Tries the one file of `./dev bundle` on other systems: Debian 11, 12 and 13, which debootstrap makes, and what
# tests/bundle/systems_test.py makes by hand (an empty one, and musl). For use before a release; only root can do it.
#
# usage: tools/try_bundle.sh [--keep] [DIRECTORY]
#   --keep       leave the systems in DIRECTORY, and use those that are there already
#   DIRECTORY    where they are made (default: a new one in $TMPDIR, removed at the end); needs 1 GB
# Packages come from where this machine's apt has them; a release that isn't there is named, and is an error.
set -euo pipefail

checkout=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
releases=(bullseye bookworm trixie)

note() { printf 'try_bundle: %s\n' "$*" >&2; }
fail() {
  note "$*"
  exit 1
}

# mirror: the address of the archive of this machine's Debian, which has other releases as well.
mirror() {
  apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(CODENAME)' 'Created-By: Packages' | awk '$2 == "Debian" && $3 !~ /-/ {print $1; exit}'
}

# make_system RELEASE: the least that is a Debian. It counts as there when it is complete.
make_system() {
  local address
  [[ ! -e $directory/$1/etc/debian_version || ! -e $directory/$1.made ]] || return 0
  address=$(mirror)
  [[ -n $address ]] || fail "apt knows no archive of Debian here: /etc/apt/sources.list.d has to name one"
  rm -rf --one-file-system "${directory:?}/$1"
  note "making $1"
  http_proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy) debootstrap --variant=minbase "$1" "$directory/$1" "$address" \
    >"$directory/$1.log" 2>&1 || return 1
  : >"$directory/$1.made"
}

keep=no directory=''
while (($# > 0)); do
  case $1 in
    --keep) keep=yes ;;
    -*) fail "unknown option $1; the head of this script lists them" ;;
    *) directory=$1 ;;
  esac
  shift
done
((EUID == 0)) || fail "only root can make a system: run it with sudo"
command -v debootstrap >/dev/null || fail "debootstrap is missing; install it with: apt-get install debootstrap"
[[ -n $directory ]] || directory=$(mktemp -d)
mkdir -p "$directory"
directory=$(cd -- "$directory" && pwd -P)
[[ $keep == yes ]] || trap 'rm -rf --one-file-system "$directory"' EXIT
chmod 755 "$directory"  # an ordinary user goes through it

systems='' missing=()
for release in "${releases[@]}"; do
  if make_system "$release"; then
    systems+=" $release=$directory/$release"
  else
    missing+=("$release")
    note "debootstrap can't make $release: $(tail -n 1 "$directory/$release.log")"
  fi
done
HEAPTAP_SYSTEMS=$systems python3 -W ignore "$checkout/tests/bundle/systems_test.py" --verbose
((${#missing[@]} == 0)) || fail "not tried: ${missing[*]}"
note "the one file works on: ${releases[*]}, musl, and a system without any library"
