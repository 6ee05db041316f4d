#!/usr/bin/env bash
# Runs the README's commands on a bare Debian 12: a system that debootstrap makes, in a mount namespace of its own, with this
# checkout (as git has it, without any build) and nothing else. For use before a release; takes as root some 40 minutes.
#
# usage: tools/bare_machine.sh [--first] [--keep] [FOLDER]
#   --first   only the first command, without the tests
#   --keep    leave the system in FOLDER, and use what is there already
#   FOLDER    where the system is made (default: a new one in $TMPDIR, removed at the end); needs 6 GB
# Packages come from where this machine's apt has them.
set -euo pipefail

checkout=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
release=bookworm

note() { printf 'bare_machine: %s\n' "$*" >&2; }
fail() {
  note "$*"
  exit 1
}

# mirror: the address of the first archive of this release that apt knows.
mirror() {
  apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | awk -v release="$release" '$2 == release {print $1; exit}'
}

# make_system: the least that is a Debian, with this machine's way to the archive.
make_system() {
  local address
  address=$(mirror)
  [[ -n $address ]] || fail "apt knows no archive of $release here: /etc/apt/sources.list.d has to name one"
  http_proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy) debootstrap --variant=minbase "$release" "$system" "$address" >"$system.log" 2>&1 ||
    fail "debootstrap failed: $(tail -n 3 "$system.log")"
  apt-config dump | grep '^Acquire::' >"$system/etc/apt/apt.conf.d/00-as-outside" || true
  printf 'deb %s %s main\n' "$address" "$release" >"$system/etc/apt/sources.list"
}

# enter COMMAND: in the system, in its copy of the checkout, with nothing of this machine's environment.
enter() {
  chroot "$system" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    sh -c "cd /heaptap && $1" </dev/null
}

# readme_commands: the lines of the README's first block of shell commands.
readme_commands() {
  awk '/^```sh$/ {inside = 1; next} /^```$/ && inside {exit} inside' "$checkout/README.md"
}

prepare() {
  mount --bind "$system" "$system"  # so that it is a root like any other
  mount -t proc proc "$system/proc"
  mount -t sysfs sysfs "$system/sys"
  mount --rbind /dev "$system/dev"
  mount -t tmpfs tmpfs "$system/dev/shm" 2>/dev/null || true
  cp /etc/resolv.conf /etc/hosts "$system/etc/"
  rm -rf "$system/heaptap"
  mkdir "$system/heaptap"
  git -C "$checkout" archive HEAD | tar -x -C "$system/heaptap"
}

run_commands() {
  local line count=0
  while IFS= read -r line; do
    note "in a bare Debian: $line"
    enter "$line" || fail "it ended with $?: $line"
    count=$((count + 1))
    [[ $first_only == no ]] || break
  done < <(readme_commands)
  ((count > 0)) || fail "README.md has no block of shell commands"
  note "ok: $count of the README's commands work in a bare Debian"
}

first_only=no keep=no system=''
while (($# > 0)); do
  case $1 in
    --first) first_only=yes ;;
    --keep) keep=yes ;;
    -*) fail "unknown option $1; the head of this script lists them" ;;
    *) system=$1 ;;
  esac
  shift
done
((EUID == 0)) || fail "only root can make a system: run it with sudo"
command -v debootstrap >/dev/null || fail "debootstrap is missing; install it with: apt-get install debootstrap"
if [[ ${HEAPTAP_BARE_MACHINE-} != inside ]]; then
  # All mounts go with this namespace.
  [[ -n $system ]] || system=$(mktemp -d)
  [[ $keep == yes ]] || trap 'rm -rf --one-file-system "$system" "$system.log"' EXIT
  options=()
  [[ $first_only == no ]] || options+=(--first)
  HEAPTAP_BARE_MACHINE=inside unshare --mount --propagation private -- "$0" --keep "${options[@]}" "$system"
  exit
fi
mkdir -p "$system"
system=$(cd -- "$system" && pwd -P)
[[ -e $system/etc/debian_version ]] || make_system
prepare
run_commands
