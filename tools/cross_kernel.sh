#!/bin/sh
# cross_kernel.sh ARCHITECTURE DIRECTORY [FLAVOUR]: Debian's kernel for another architecture (arm64, say), or one of its flavours
# (arm64-16k): below DIRECTORY `kernel`, which an emulator boots, and in `modules` its drivers of virtio networks, named in the order in
# which they are loaded. Nothing is installed: the machine's own sources are asked, and Debian's backports for what they don't have, with a
# state of apt and dpkg beside them. Does nothing where DIRECTORY is complete.
set -eu
architecture=$1
flavour=${3:-$1}
mkdir -p "$2"
directory=$(cd "$2" && pwd -P)
drivers="drivers/virtio/virtio drivers/virtio/virtio_ring drivers/virtio/virtio_mmio
  net/core/failover drivers/net/net_failover drivers/net/virtio_net"
stamp="$directory/complete"
if [ "$(cat "$stamp" 2>/dev/null)" = "$flavour $drivers" ]; then exit 0; fi

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
mkdir -p "$state/lists/partial" "$state/archives/partial"
: >"$state/status"
options="-q -o APT::Architecture=$architecture -o APT::Architectures=$architecture -o Acquire::Languages=none
  -o APT::Sandbox::User=root -o Dir::State=$state -o Dir::State::status=$state/status -o Dir::Cache=$state"
# Some source may have nothing for this architecture; what is missing then shows when the package is fetched.
# shellcheck disable=SC2086  # a list
apt-get $options update || true
# shellcheck disable=SC2086
if ! apt-cache $options show "linux-image-$flavour" >/dev/null 2>&1; then
  # shellcheck disable=SC2016  # apt fills them in
  apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME)-backports $(COMPONENT)' 'Identifier: Packages' 'Origin: Debian' \
    'Label: Debian' | grep -v -e '-updates-backports' | sort -u >"$state/backports.list"
  options="$options -o Dir::Etc::SourceList=$state/backports.list -o Dir::Etc::SourceParts=/dev/null"
  # shellcheck disable=SC2086
  apt-get $options update || true
fi
# The package of this name depends on that of the version.
# shellcheck disable=SC2086
package=$(apt-cache $options depends --important "linux-image-$flavour" | awk '$1 == "Depends:" { print $2; exit }')
# shellcheck disable=SC2086
(cd "$state" && apt-get $options download "$package")
mkdir "$state/files"
dpkg-deb --fsys-tarfile "$state/$package"_*.deb | tar -x -C "$state/files"

rm -rf "$directory/modules"
mkdir "$directory/modules"
cp "$state"/files/boot/vmlinu[xz]-* "$directory/kernel"
number=10
for driver in $drivers; do
  file=$(find "$state/files/lib/modules" -path "*/kernel/$driver.ko*")
  if [ -z "$file" ]; then
    grep -q "^kernel/$driver\.ko" "$state"/files/lib/modules/*/modules.builtin && continue
    echo "cross_kernel.sh: $package has no driver $driver" >&2
    exit 1
  fi
  case $file in
    *.xz) xz -dc "$file" >"$directory/modules/$number-${driver##*/}.ko" ;;
    *) cp "$file" "$directory/modules/$number-${driver##*/}.ko" ;;
  esac
  number=$((number + 1))
done
printf '%s\n' "$flavour $drivers" >"$stamp"
