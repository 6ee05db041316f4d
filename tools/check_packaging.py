#!/usr/bin/env python3
"""Checks the recipes of packaging/: they have the version of the build, and are understood by rpmspec, rpmlint, nix-instantiate and bash,
where these are there. Prints each violation; exit status 1 if there is one."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSIONS = {"heaptap.spec": r"^Version:\s+(\S+)$", "PKGBUILD": r"^pkgver=(\S+)$", "default.nix": r'^\s*version = "(\S+)";$'}
READERS = {"heaptap.spec": (["rpmspec", "--parse"], ["rpmlint", "-r", "heaptap.rpmlintrc"]), "PKGBUILD": (["bash", "-n"],), "default.nix": (["nix-instantiate", "--parse"],)}


def check_version(path, version):
    found = re.findall(VERSIONS[path.name], path.read_text(encoding="utf-8"), re.MULTILINE)
    if found != [version]:
        yield f"packaging/{path.name}: its version is {' '.join(found) or 'missing'}, that of the build is {version}"


def check_syntax(path, absent):
    for command in READERS[path.name]:
        if shutil.which(command[0]) is None:
            absent.add(command[0])
            continue
        outcome = subprocess.run([*command, path.name], cwd=path.parent, capture_output=True, text=True, check=False)
        if outcome.returncode != 0:
            yield f"packaging/{path.name}: {command[0]}: {(outcome.stderr or outcome.stdout).strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    root = parser.parse_args().root
    version = re.search(r"^project\(heaptap VERSION (\S+)", (root / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)[1]
    violations, absent = [], set()
    for name in VERSIONS:
        path = root / "packaging" / name
        violations += [*check_version(path, version), *check_syntax(path, absent)]
    for violation in violations:
        print(violation)
    print(f"{len(violations)} violations in {len(VERSIONS)} recipes" + (f"; not there: {', '.join(sorted(absent))}" if absent else ""))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
