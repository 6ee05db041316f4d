#!/usr/bin/env bash
# Runs the README's commands on a bare Debian 12: a system that debootstrap makes, in a mount namespace of its own, with this
# checkout (as git has it, without any build) and nothing else. For use before a release; takes as root some 40 minutes.
#
# usage: tools/bare_machine.sh [--first] [--keep] [DIRECTORY]
#   --first   only the first command, without the tests
#   --keep    leave the system in DIRECTORY, and use what is there already
#   DIRECTORY    where the system is made (default: a new one in $TMPDIR, removed at the end); needs 6 GB
# Packages come from where this machine's apt has them; npm trusts the certificates that it trusts here ($NODE_EXTRA_CA_CERTS).
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

# enter COMMAND: in the system, in its copy of the checkout, with no more of this machine's environment than npm_way. The system becomes the
# root of another mount namespace: in a chroot no user namespace can be made, and some tests do.
enter() {
  # shellcheck disable=SC2016  # the other shell's $0 and $1
  unshare --mount --propagation private -- /bin/bash -c '
    cd "$0" && pivot_root . mnt && cd / && umount --lazy /mnt || exit 125
    cd /heaptap && exec /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "${@:2}" sh -c "$1"
  ' "$system" "$1" "${npm_way[@]}" </dev/null
}

# readme_commands: the lines of the README's first block of shell commands.
readme_commands() {
  awk '/^```sh$/ {inside = 1; next} /^```$/ && inside {exit} inside' "$checkout/README.md"
}

# mount_system: what the kernel gives, as where a Debian was started. Everything goes with this mount namespace.
mount_system() {
  mount --bind "$system" "$system"  # only a mount can become the root
  mount -t proc proc "$system/proc"
  mount --rbind /sys "$system/sys"
  mount --rbind /dev "$system/dev"
  mkdir -p "$system/dev/pts" "$system/dev/shm"
  mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts "$system/dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
  mount -t tmpfs -o mode=755 tmpfs "$system/run"
  mkdir -m 1777 "$system/run/lock"
}

# What npm needs to reach its archive from this machine, as variables.
npm_way=()
copy_certificates() {
  [[ -n ${NODE_EXTRA_CA_CERTS-} ]] || return 0
  cp -- "$NODE_EXTRA_CA_CERTS" "$system/etc/certificates-outside.pem"
  npm_way=(NODE_EXTRA_CA_CERTS=/etc/certificates-outside.pem)
}

copy_checkout() {
  cp /etc/resolv.conf /etc/hosts "$system/etc/"
  rm -rf "$system/heaptap"
  mkdir "$system/heaptap"
  git -C "$checkout" archive HEAD | tar -x -C "$system/heaptap"
}

# run_commands COMMAND…: one after the other, until one fails; the last line says what passed.
run_commands() {
  local command from status=0 passed=0 summary=''
  for command in "$@"; do
    note "in a bare Debian: $command"
    from=$SECONDS
    enter "$command" || status=$?
    note "exit status $status after $((SECONDS - from)) s: $command"
    ((status == 0)) || break
    passed=$((passed + 1))
    summary+="; passed in $((SECONDS - from)) s: $command"
  done
  ((status == 0)) || summary+="; FAILED with $status: $command"
  note "$passed of $# commands passed$summary"
  ((status == 0))
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
mapfile -t commands < <(readme_commands)
((${#commands[@]} > 0)) || fail "README.md has no block of shell commands"
[[ $first_only == no ]] || commands=("${commands[0]}")
[[ -e $system/etc/debian_version ]] || make_system
mount_system
copy_certificates
copy_checkout
run_commands "${commands[@]}"
