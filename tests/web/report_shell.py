#!/usr/bin/env python3
"""Runs the tests of web/ in a copy below the build directory, with the npm packages that web/package-lock.json names; and builds the
shell anew, which has to be the one that is committed. Last, a browser opens what `heaptap report` and `heaptap diff --html` write of a program that leaks.
  report_shell.py DIRECTORY [TEST…]      HEAPTAP and WORDS in the environment: heaptap, and the program
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHELL = ROOT / "src/views/html/shell.html"


def fresh_copy(directory):
    """web/ in `directory`; what npm installed there stays, as long as the lock is the same."""
    lock = directory / "package-lock.json"
    is_installed = (directory / "node_modules").is_dir() and lock.is_file() and lock.read_bytes() == (ROOT / "web/package-lock.json").read_bytes()
    for part in ("src", "test"):
        shutil.rmtree(directory / part, ignore_errors=True)
    shutil.copytree(ROOT / "web", directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
    if not is_installed:
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=directory, check=True)


def policy_of(path):
    """The content security policy: it has the hashes of the script and of the style, whatever packed them."""
    return re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', path.read_text(encoding="utf-8"))[1]


def record(directory):
    """A report of a program, and what `heaptap show` says of it, for test/recorded."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    heaptap = os.environ["HEAPTAP"]

    def run(*arguments, **options):
        subprocess.run([heaptap, *arguments], cwd=directory, check=True, stdin=subprocess.DEVNULL, **options)

    run("run", "-q", "-o", "words.htap", os.environ["WORDS"], str(ROOT / "demo/words.cc"), stdout=subprocess.DEVNULL)
    run("report", "words.htap", "-o", "words.html", "-q")
    run("run", "-q", "-o", "later.htap", os.environ["WORDS"], str(ROOT / "README.md"), stdout=subprocess.DEVNULL)
    run("diff", "words.htap", "later.htap", "--html", "-o", "diff.html")
    run("run", "-q", "-f", "-o", "all.htap", "sh", "-c", '"$0" "$1"; "$0" "$2"; exit 0', os.environ["WORDS"], str(ROOT / "demo/words.cc"),
        str(ROOT / "README.md"), stdout=subprocess.DEVNULL)
    run("report", "all.run", "-o", "run.html", "-q")
    for name, command in (("summary", ("show", "summary", "words.htap")), ("diff", ("diff", "words.htap", "later.htap")), ("run", ("show", "summary", "all.run"))):
        with (directory / f"{name}.json").open("w", encoding="utf-8") as file:
            run(*command, "--json", stdout=file)
    with (directory / "fragmentation.txt").open("w", encoding="utf-8") as file:
        run("show", "fragmentation", "words.htap", stdout=file)


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    fresh_copy(directory)
    rebuilt = directory / "shell.html"
    subprocess.run(["node", "build.mjs", str(rebuilt)], cwd=directory, check=True)
    if policy_of(rebuilt) != policy_of(SHELL):
        sys.exit("src/views/html/shell.html isn't what web/build.mjs makes: build it anew")
    tests = sys.argv[2:]
    if not tests:
        tests = sorted(str(path.relative_to(directory)) for path in (directory / "test").rglob("*.test.mjs"))
        record(directory / "recorded")
    # One at a time: each has a browser.
    sys.exit(subprocess.run(["node", "--test", "--test-concurrency=1", *tests], cwd=directory, check=False).returncode)


if __name__ == "__main__":
    main()
