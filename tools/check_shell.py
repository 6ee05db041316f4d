#!/usr/bin/env python3
"""Checks that src/views/html/shell.html is the one that was made of web/'s sources: both are named by hash in src/views/html/shell.sha256, so
that heaptap is built without node, and a change of the sources without a new shell is seen.
  check_shell.py           exit status 1 where they differ
  check_shell.py --write   notes the hashes, after `node web/build.mjs`"""

import argparse
import hashlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_BYTES = 150_000
PLACES = ("{{title}}", "{{noscript}}", "{{data}}")


def sources(root):
    """What the shell is made of, in a fixed order."""
    web = root / "web"
    return [web / "build.mjs", web / "package.json", web / "package-lock.json",
            *sorted(path for path in (web / "src").rglob("*") if path.is_file())]


def hash_of_sources(root):
    total = hashlib.sha256()
    for path in sources(root):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{content}  {path.relative_to(root)}\n".encode())
    return total.hexdigest()


def hash_lines(root):
    shell = hashlib.sha256((root / "src/views/html/shell.html").read_bytes()).hexdigest()
    return f"{hash_of_sources(root)}  web\n{shell}  src/views/html/shell.html\n"


def violations(root):
    shell = (root / "src/views/html/shell.html").read_text(encoding="utf-8")
    noted = (root / "src/views/html/shell.sha256").read_text(encoding="utf-8")
    if hash_lines(root) != noted:
        yield "src/views/html/shell.html isn't made of web/ as it is: run `npm ci && node build.mjs` in web/, then tools/check_shell.py --write"
    for place in PLACES:
        if shell.count(place) != 1:
            yield f"src/views/html/shell.html has {place} {shell.count(place)} times"
    if len(shell.encode()) > MOST_BYTES:
        yield f"src/views/html/shell.html has {len(shell.encode())} bytes, more than {MOST_BYTES}"
    if "default-src 'none'" not in shell or "unsafe-" in shell.partition("</head>")[0]:
        yield "src/views/html/shell.html has no strict content security policy"
    if '"resolved"' in (root / "web/package-lock.json").read_text(encoding="utf-8"):
        yield "web/package-lock.json names the hosts of packages"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        (ROOT / "src/views/html/shell.sha256").write_text(hash_lines(ROOT), encoding="utf-8")
    found = list(violations(ROOT))
    for text in found:
        print(text)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
