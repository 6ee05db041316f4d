#!/usr/bin/env python3
"""Checks that no path of this checkout is compiled into programs: they work anywhere. Debug information may name it. Prints each
path; exit status 1 if there is one.
  check_source_path.py PROGRAM…
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def paths_of(root, text):
    """The paths in `text` of what lies in `root`. Neither a part of another path is one (with a checkout at /heaptap
    /usr/share/heaptap/src), nor the name of something that the checkout doesn't have (/heaptap/history, to be put behind a directory)."""
    for match in re.finditer(rf"(?<![\w./~+@%}}-]){re.escape(str(root))}/([^/\s\"':;,]+)[^\s\"':;,]*", text):
        if (root / match[1]).exists():
            yield match[0]


def strings_of(program):
    """The strings in what is loaded of a program."""
    return subprocess.run(["strings", "-d", program], capture_output=True, text=True, errors="replace", check=True).stdout


def main(programs):
    found = [f"{program}: {path}" for program in programs for path in paths_of(ROOT, strings_of(program))]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
