#!/usr/bin/env python3
"""Checks the built agent library against tools/agent_symbols.txt: what it needs, exports, relocates, runs at its start,
and uses of the stack. Prints each violation; exit status 1 if there is one."""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STACK_LIMIT_BYTES = 512
# Thread-local variables through __tls_get_addr or a descriptor may allocate memory at their first use.
LAZY_TLS = re.compile(r"R_\w*(DTPMOD|DTPOFF|DTPREL|TLSDESC|TLS_GD|TLS_LD)\w*")


class Allowed:
    """What tools/agent_symbols.txt says."""

    def __init__(self, text):
        self.needs, self.exports, self.omits, self.library, self.lists, self.stack = set(), set(), set(), set(), set(), {}
        for line in text.splitlines():
            words = line.split("#", 1)[0].split()
            if not words:
                continue
            if words[0] == "stack" and len(words) == 3:
                self.stack[words[1]] = int(words[2])
            elif words[0] in ("needs", "exports", "omits", "library", "lists") and len(words) == 2:
                getattr(self, words[0]).add(words[1])
            else:
                sys.exit(f"agent_symbols.txt: not understood: {line}")


def interposed_functions():
    text = (ROOT / "src/common/wire/functions.def").read_text(encoding="utf-8")
    return set(re.findall(r"^HEAPTAP_FUNCTION\(\w+,\s*(\w+),", text, re.MULTILINE))


def readelf(library, *options):
    command = ["readelf", "--wide", *options, str(library)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_symbols(library, allowed):
    exported, needed = set(), set()
    for line in readelf(library, "--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit() or fields[4] not in ("GLOBAL", "WEAK"):
            continue
        section, name = fields[6], fields[7].split("@")[0]
        if section == "UND":
            needed.add(name)
        elif section != "ABS":  # the names of symbol versions are absolute symbols
            exported.add(name)
    interposed = interposed_functions()
    yield from (f"needs {name}" for name in sorted(needed - allowed.needs))
    yield from (f"exports {name}" for name in sorted(exported - interposed - allowed.exports))
    yield from (f"does not export {name}" for name in sorted((interposed | allowed.exports) - exported - allowed.omits))


def check_dynamic_section(library, allowed):
    text = readelf(library, "--dynamic")
    for name in re.findall(r"\(NEEDED\).*\[(.+?)\]", text):
        if name not in allowed.library:
            yield f"needs the library {name}"
    if "TEXTREL" in text:
        yield "has text relocations"
    word_bytes = 8 if "ELF64" in readelf(library, "--file-header") else 4
    init_array = re.search(r"\(INIT_ARRAYSZ\)\s+(\d+)", text)
    constructors = (int(init_array.group(1)) // word_bytes if init_array else 0) + len(re.findall(r"\(INIT\)", text))
    if constructors > 1:
        yield f"has {constructors} constructors; one is allowed"


def check_versions(library):
    """Versions of other libraries' symbols: none, so that the agent is loaded beside any glibc. A table of packed relocations is one:
    older loaders leave it out."""
    text = readelf(library, "--version-info")
    needed = text.partition("Version needs section")[2].partition("Version definition section")[0]
    yield from (f"needs the version {name}" for name in sorted(set(re.findall(r"Name: (\S+)\s+Flags:", needed))))
    if re.search(r"\(RELR\)", readelf(library, "--dynamic")):
        yield "has packed relocations (DT_RELR), which glibc applies from 2.36 on"


def check_segments(library):
    stack = re.search(r"^\s*GNU_STACK\s.*$", readelf(library, "--segments"), re.MULTILINE)
    if not stack:
        yield "has no GNU_STACK header, so its stack is executable"
    elif "RWE" in stack.group(0):
        yield "wants an executable stack"


def check_relocations(library):
    kinds = {match.group(0) for match in LAZY_TLS.finditer(readelf(library, "--relocs"))}
    yield from (f"has thread-local variables that are not initial-exec ({kind})" for kind in sorted(kinds))


def stack_uses(build):
    """(function, bytes, kind) of what the compiler wrote beside the agent's objects (-fstack-usage)."""
    for directory in ("src/agent", "src/common/unwind"):
        for file in sorted((build / directory).rglob("*.su")):
            for line in file.read_text(encoding="utf-8").splitlines():
                place, size, kind = line.rsplit("\t", 2)
                yield place, int(size), kind


def check_stack(build, allowed):
    for place, size, kind in stack_uses(build):
        limit = max([STACK_LIMIT_BYTES] + [allowed.stack[name] for name in allowed.stack if name in place])
        if size > limit:
            yield f"{place} uses {size} bytes of stack, {limit} are allowed"
        if kind == "dynamic" and not any(name in place for name in allowed.lists):
            yield f"{place} uses an unbounded amount of stack"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--library", type=pathlib.Path, help="default: libheaptap_agent.so in the build's bin")
    options = parser.parse_args()
    library = options.library or options.build / "bin" / "libheaptap_agent.so"
    if not library.is_file():
        sys.exit(f"there is no {library}; build first")

    allowed = Allowed((ROOT / "tools" / "agent_symbols.txt").read_text(encoding="utf-8"))
    violations = [
        *check_symbols(library, allowed),
        *check_dynamic_section(library, allowed),
        *check_versions(library),
        *check_segments(library),
        *check_relocations(library),
        *check_stack(options.build, allowed),
    ]
    for violation in violations:
        print(f"{library.name}: {violation}")
    sizes = [size for _, size, _ in stack_uses(options.build)]
    print(f"{len(violations)} violations; largest stack use {max(sizes, default=0)} bytes of {len(sizes)} functions")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
