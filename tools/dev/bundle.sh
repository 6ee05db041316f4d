# What runs on any Linux of this CPU: a tree of programs as an archive, and as one file that unpacks itself. Sourced by ./dev; calls
# logged(), note() and fail() of it. Whether two builds give the same bytes: docs/howto/install.md.
# shellcheck shell=bash

# The time that the archives' files have: of the commit, or what $SOURCE_DATE_EPOCH says (https://reproducible-builds.org/specs).
source_date() {
  if [[ -n ${SOURCE_DATE_EPOCH-} ]]; then
    printf '%s\n' "$SOURCE_DATE_EPOCH"
  elif ! git -C "$root" log -1 --format=%ct 2>/dev/null; then  # no checkout: the date of the last release
    date --utc --date="$(sed -nE 's/^## \[[0-9.]+\] - //p' "$root/CHANGELOG.md" | head -n 1)" +%s
  fi
}

version() { sed -nE 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt"; }

# bundle_tree DIRECTORY: what is installed, with the static heaptap in place of the one that needs this machine's libraries.
bundle_tree() {
  cmake --install "$build" --prefix "$1" --strip || return 1
  strip -o "$1/bin/heaptap" "$build/one_file/heaptap" || return 1
  rm -rf "$1/share/lintian" "$1/share/doc/heaptap/changelog.Debian.gz"
  chmod -R u=rwX,go=rX "$1"
}

# packed DIRECTORY NAME: it as a tar archive, to stdout. The same bytes for the same files, no matter where, when and by which user.
packed() {
  tar --create --format=ustar --sort=name --mtime="@$(source_date)" --owner=0 --group=0 --numeric-owner --directory="$1" "$2"
}

# The programs in build/bundle, from what is built.
make_bundle() {
  local out=$build/bundle cpu name
  cpu=$(uname -m)
  name=heaptap-$(version)-$cpu
  rm -rf "$out"
  mkdir -p "$out/work"
  bundle_tree "$out/work/$name" || return 1
  packed "$out/work" "$name" | xz -9 -T1 >"$out/$name.tar.xz" || return 1
  packed "$out/work/$name" . >"$out/work/one.tar" || return 1
  zstd -q -19 --single-thread --check "$out/work/one.tar" -o "$out/work/one.tar.zst" || return 1
  strip -o "$out/work/head" "$build/one_file/heaptap_one_file" || return 1
  "$out/work/head" --pack "$out/work/one.tar.zst" "$out/heaptap-$cpu" || return 1
  chmod 755 "$out/heaptap-$cpu"
  rm -rf "$out/work"
  (cd "$out" && sha256sum -- "heaptap-$cpu" "$name.tar.xz" >SHA256SUMS)
}

# sign_bundle KEY: with a key of the user's keyring. gpgv, which every Debian has, verifies it.
sign_bundle() {
  gpg --batch --yes --local-user "$1" --armor --detach-sign --output "$build/bundle/SHA256SUMS.asc" "$build/bundle/SHA256SUMS"
}
