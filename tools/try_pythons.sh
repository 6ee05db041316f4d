#!/usr/bin/env bash
# Tries `heaptap run --python` with the interpreters of other releases of Debian, which debootstrap makes: 3.9 of Debian 11 and 3.13 of
# Debian 13, and this machine's own. For use before a release; only root can do it.
#
# usage: tools/try_pythons.sh DIRECTORY [INTERPRETER…]
#   DIRECTORY    where the systems are made, or are already; needs 1 GB
#   INTERPRETER  further ones, of this machine
# Expects the programs in build/bin. Packages come from where this machine's apt has them.
set -euo pipefail

checkout=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
note() { printf 'try_pythons: %s\n' "$*" >&2; }
fail() {
  note "$*"
  exit 1
}

(($# > 0)) || fail "no directory given; usage: tools/try_pythons.sh DIRECTORY [INTERPRETER…]"
((EUID == 0)) || fail "only root can make a system: run it with sudo"
command -v debootstrap >/dev/null || fail "debootstrap is missing; install it with: apt-get install debootstrap"
mkdir -p "$1"
directory=$(cd -- "$1" && pwd -P)
shift
address=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(CODENAME)' 'Created-By: Packages' |
  awk '$2 == "Debian" && $3 !~ /-/ {print $1; exit}')

# try NAME COMMAND: the test with this interpreter.
try() {
  HEAPTAP=$checkout/build/bin/heaptap PYTHON_FRAMES_INTERPRETER=$2 \
    python3 "$checkout/tests/e2e/python_frames_test.py" >"$directory/$1.log" 2>&1 || {
    tail -n 30 "$directory/$1.log" >&2
    fail "$1: failed, see $directory/$1.log"
  }
  note "$1: passed"
}

# write_wrapper FILE ROOT: a program that runs the interpreter of that system, where the same paths lead to the agent and to the test's
# files.
write_wrapper() {
  cat >"$1" <<END
#!/bin/sh
exec unshare --mount --propagation private sh -c 'mount --bind "$checkout" "$2$checkout" && mount --bind /tmp "$2/tmp" &&
  mount --bind /proc "$2/proc" && exec chroot "$2" /usr/bin/python3 "\$@"' sh "\$@"
END
  chmod +x "$1"
}

for interpreter in /usr/bin/python3 "$@"; do
  try "${interpreter//\//_}" "$interpreter"
done
for release in bullseye trixie; do
  root=$directory/$release
  if [[ ! -e $root/usr/bin/python3 ]]; then
    debootstrap --variant=minbase --include=python3 "$release" "$root" "$address" >"$root.log" 2>&1 || fail "$release: see $root.log"
  fi
  # The same paths lead to the same files there: the agent, the test's files.
  mkdir -p "$root$checkout" "$root/tmp" "$root/proc"
  write_wrapper "$directory/python-$release" "$root"
  try "$release" "$directory/python-$release"
done
