#!/bin/sh
# cross_sysroot.sh ARCHITECTURE DIRECTORY: the libraries and headers that heaptap is built with, for another Debian architecture
# (arm64, say), unpacked below DIRECTORY. Nothing is installed and nothing of the packages is run: the machine's own sources are asked, with a
# state of apt and dpkg beside them. Does nothing where DIRECTORY is complete.
set -eu
architecture=$1
mkdir -p "$2"
directory=$(cd "$2" && pwd -P)
packages="libc6-dev libstdc++-12-dev libdw-dev libelf-dev libfmt-dev libzstd-dev zlib1g-dev libsqlite3-dev libedit-dev libncurses-dev libbearssl-dev libboost1.81-dev libcli11-dev libre2-dev"
stamp="$directory/complete"
if [ "$(cat "$stamp" 2>/dev/null)" = "$architecture $packages" ]; then exit 0; fi

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/archives/partial"
: >"$state/status"
apt() {
  apt-get -q -y -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o Acquire::Languages=none \
    -o APT::Sandbox::User=root -o "Dir::State=$state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state" "$@"
}
# Some source may have nothing for this architecture; what is missing then shows when the packages are fetched.
apt update || true
# shellcheck disable=SC2086  # a list
apt install --download-only --no-install-recommends $packages

rm -rf "$directory/lib" "$directory/usr"
for package in "$state"/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$directory" --wildcards './lib/?*' './usr/include/?*' './usr/lib/?*' 2>/dev/null || true
done
# Links that begin at the root would lead to this machine's files.
find "$directory/lib" "$directory/usr" -type l -lname '/*' | while read -r link; do
  ln -sfnr "$directory$(readlink "$link")" "$link"
done
for needed in usr/include/elfutils/libdw.h usr/include/boost usr/include/CLI; do
  [ -e "$directory/$needed" ] || { echo "cross_sysroot.sh: no package brought $needed" >&2; exit 1; }
done
printf '%s\n' "$architecture $packages" >"$stamp"
