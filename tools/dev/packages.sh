# Installs what a command of ./dev needs. Sourced by ./dev; calls note() and fail() of it.
# shellcheck shell=bash

# packages_of GROUP…: their packages as tools/packages.txt lists them, one a line.
packages_of() {
  local group architecture
  architecture=$(dpkg --print-architecture)
  for group in "$@"; do
    sed -nE "s/^$group(@$architecture)?:[[:space:]]*//p" "$root/tools/packages.txt" | tr -s '[:space:]' '\n' | sed '/^$/d'
  done | sort -u
}

# missing_packages GROUP…: those that aren't installed, nor provided by another package. One call of dpkg-query where none is
# missing (some 20 ms), no network.
missing_packages() {
  local wanted missing
  mapfile -t wanted < <(packages_of "$@")
  mapfile -t missing < <(comm -13 \
    <(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
      sed -n 's/ installed$//p' | sort -u) \
    <(printf '%s\n' "${wanted[@]}"))
  ((${#missing[@]} == 0)) || comm -13 <(provided_packages) <(printf '%s\n' "${missing[@]}")
}

# provided_packages: the names that installed packages stand for besides their own.
provided_packages() {
  dpkg-query -W -f='${db:Status-Status} ${Provides}\n' | sed -nE 's/^installed //p' | tr ',' '\n' | sed -E 's/^ +//; s/ .*//; /^$/d' | sort -u
}

# need GROUP…: afterwards the groups' packages are there, or the command has ended with the reason.
need() {
  local missing
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    return 0  # not a Debian: what is missing shows in the build's own messages
  fi
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    return 0
  fi
  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      fail "these packages are missing: ${missing[*]}" \
        "install them as root:  apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
  fi
  note "installing ${#missing[@]} packages: ${missing[*]}"
  # In a subshell, so that its trap can't replace one of the caller's.
  (install_packages "${missing[@]}") ||
    fail "apt-get could not install what is missing; try it by hand:" \
      "${as_root[*]:+${as_root[*]} }apt-get install --no-install-recommends ${missing[*]}"
}

# While it is there, packages start no services.
policy=/usr/sbin/policy-rc.d

# The lists are fetched where one of the packages is unknown, or where the known version is no longer served.
install_packages() {
  local updated=no
  if [[ " $* " == *" redis-server "* || " $* " == *" postgresql "* || " $* " == *" avahi-daemon "* ]] && [[ ! -e $policy ]]; then
    # Tests start their own servers; none has to be left running on this machine.
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod 755 "$policy"
  fi
  if ! known_to_apt "$@"; then
    apt_get update || return 1
    updated=yes
  fi
  apt_get install --no-install-recommends "$@" && return 0
  [[ $updated == no ]] && apt_get update && apt_get install --no-install-recommends "$@"
}

# known_to_apt PACKAGE…: asked in one call, since each reads all of apt's lists (a second).
known_to_apt() {
  local unknown
  unknown=$(comm -13 <(apt-cache show "$@" 2>/dev/null | sed -n 's/^Package: //p' | sort -u) <(printf '%s\n' "$@" | sort -u))
  [[ -z $unknown ]]
}

# apt-get without questions; what it says goes to the log, and to stderr if it fails.
apt_get() {
  logged "apt-get $1" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}
