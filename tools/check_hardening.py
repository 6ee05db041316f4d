#!/usr/bin/env python3
"""Checks how a built program or library is hardened, as the flags of src/CMakeLists.txt say: it lies at another address each time, what the
loader has filled in is not written again, no memory is both written and executed. Prints each violation; exit status 1 if there is one.
  check_hardening.py [--static] [--guarded PREFIX=COUNT]… [--checked PREFIX=COUNT] FILE
"""

import argparse
import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
# A call, or a jump in place of a last one; on any CPU the called function's name stands behind it.
GUARD = re.compile(r"<__stack_chk_fail(_local)?(@plt)?>$")
CHECKED = re.compile(r"<__\w+_chk(@plt)?>$")


def readelf(path, *options):
    return subprocess.run(["readelf", "--wide", *options, path], check=True, capture_output=True, text=True).stdout


def segments_of(path):
    """Kind and flags of each segment."""
    for line in readelf(path, "--program-headers").splitlines():
        match = re.match(r"\s+([A-Z_]+)\s+0x\w+ 0x\w+ 0x\w+ 0x\w+ 0x\w+ ([R ][W ][E ]) 0x", line)
        if match:
            yield match[1], match[2].replace(" ", "")


def check_segments(path, is_static):
    segments = list(segments_of(path))
    dynamic = readelf(path, "--dynamic")
    stacks = [flags for kind, flags in segments if kind == "GNU_STACK"]
    if not re.search(r"Type:\s+DYN\b", readelf(path, "--file-header")):
        yield "is not position independent (-pie)"
    if is_static and any(kind == "INTERP" for kind, _ in segments):
        yield "needs a loader, and was to be static (-static-pie)"
    if not stacks or "E" in stacks[0]:
        yield "has a stack that is executed (-z noexecstack)"
    if any("W" in flags and "E" in flags for _, flags in segments):
        yield "has a segment that is both written and executed"
    if not any(kind == "GNU_RELRO" for kind, _ in segments):
        yield "leaves what the loader fills in writable (-z relro)"
    if not re.search(r"\(BIND_NOW\)|\(FLAGS\).*\bBIND_NOW\b|\(FLAGS_1\).*\bNOW\b", dynamic):
        yield "leaves addresses of functions writable (-z now)"
    if "TEXTREL" in dynamic:
        yield "has code that the loader writes to"


def functions_with(path, call):
    """The functions that have such a call, by their plain names."""
    listing = subprocess.run(["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", path],
                             check=True, capture_output=True, text=True).stdout
    found, name = set(), ""
    for line in listing.splitlines():
        function = FUNCTION.match(line)
        if function:
            name = function[1]
        elif call.search(line):
            found.add(name)
    return found


def check_calls(path, call, wanted, what):
    if not wanted:
        return
    found = functions_with(path, call)
    for prefix, count in wanted:
        there = sum(name.startswith(prefix) for name in found)
        if there < count:
            yield f"has {there} functions of {prefix} {what}; {count} were expected at least"


def words_of(text):
    prefix, _, count = text.rpartition("=")
    return prefix, int(count)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--static", action="store_true")
    parser.add_argument("--guarded", action="append", default=[], type=words_of, metavar="PREFIX=COUNT")
    parser.add_argument("--checked", action="append", default=[], type=words_of, metavar="PREFIX=COUNT")
    parser.add_argument("file")
    options = parser.parse_args(arguments)
    violations = [*check_segments(options.file, options.static),
                  *check_calls(options.file, GUARD, options.guarded, "that guard their stacks (-fstack-protector-strong)"),
                  *check_calls(options.file, CHECKED, options.checked, "that check sizes (_FORTIFY_SOURCE)")]
    for violation in violations:
        print(f"{options.file} {violation}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
