#!/usr/bin/env python3
"""Checks tools/libc_needs.txt: against the built agent, that all which it needs of libc is listed; against this machine's libc, that
it has the symbols in versions as old as the oldest glibc that heaptap is for, and its structures as they are listed. Prints each
violation; exit status 1 if there is one."""

import argparse
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OLDEST = (2, 28)
LIBRARIES = {"loader": "ld-linux-x86-64.so.2", "libc": "libc.so.6"}


@dataclasses.dataclass
class Needs:
    """What tools/libc_needs.txt says."""

    symbols: dict = dataclasses.field(default_factory=dict)  # name: library
    later: dict = dataclasses.field(default_factory=dict)  # name: version
    public: list = dataclasses.field(default_factory=list)  # (type, member, offset, header)
    private: list = dataclasses.field(default_factory=list)  # (library, type, member, offset)
    distances: list = dataclasses.field(default_factory=list)  # (library, type, member, member, bytes)

    @staticmethod
    def read(text):
        needs = Needs()
        for line in text.splitlines():
            words = line.split("#", 1)[0].split()
            if not words:
                continue
            kind, *values = words
            if kind in ("loader", "called") and len(values) == 1:
                needs.symbols[values[0]] = "loader" if kind == "loader" else "libc"
            elif kind == "later" and len(values) == 2:
                needs.later[values[1]] = version(values[0])
            elif kind == "public" and len(values) == 4:
                needs.public.append((values[0], values[1], int(values[2]), values[3]))
            elif kind == "private" and len(values) == 4:
                needs.private.append((*values[:3], int(values[3])))
            elif kind == "distance" and len(values) == 5:
                needs.distances.append((*values[:4], int(values[4])))
            else:
                sys.exit(f"libc_needs.txt: not understood: {line}")
        return needs


def version(text):
    return tuple(int(part) for part in text.split("."))


def dynamic_symbols(file):
    """(name, version or None, whether it is defined) of each."""
    text = subprocess.run(["readelf", "--wide", "--dyn-syms", str(file)], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit():
            continue
        name, _, tag = fields[7].partition("@")
        tag = re.search(r"GLIBC_(\d[\d.]*)", tag)
        yield name, version(tag.group(1)) if tag else None, fields[6] != "UND"


def check_agent(library, needs):
    """All that the agent is bound to, and all that its sources look up by name, is listed; and nothing else is."""
    bound = {name for name, _, defined in dynamic_symbols(library) if not defined and name}
    looked_up = set()
    for file in sorted((ROOT / "src/agent").rglob("*.*")):
        text = file.read_text(encoding="utf-8")
        looked_up |= set(re.findall(r'^ +with\(\w+, "(\w+)"\)', text, re.MULTILINE))
        looked_up |= set(re.findall(r'\.find\("(\w+)"', text))
    yield from (f"the agent needs {name}, which isn't listed" for name in sorted((bound | looked_up) - needs.symbols.keys()))
    yield from (f"the agent doesn't need {name}" for name in sorted(needs.symbols.keys() - bound - looked_up))


def check_symbols(libraries, needs):
    """Each was there in the oldest glibc, or is one that the agent can do without."""
    versions = {}
    for kind, file in libraries.items():
        for name, since, defined in dynamic_symbols(file):
            if defined and since is not None:
                versions.setdefault((kind, name), set()).add(since)
    for name, kind in needs.symbols.items():
        found = versions.get((kind, name))
        oldest = needs.later.get(name, OLDEST)
        if found is None:
            if name not in needs.later:
                yield f"{libraries[kind].name} has no {name}"
        elif min(found) > oldest:
            yield f"{name} came with glibc {'.'.join(map(str, min(found)))}, needed is {'.'.join(map(str, oldest))}"


def check_public(needs):
    lines = [f"#include <{header}>" for header in sorted({header for *_, header in needs.public})]
    for kind, member, offset, _ in needs.public:
        tag = kind if kind.endswith("_t") else f"struct {kind}"
        lines.append(f'_Static_assert(__builtin_offsetof({tag}, {member}) == {offset}, "{kind}.{member} is not at {offset}");')
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory) / "layout.c"
        source.write_text("#define _GNU_SOURCE\n" + "\n".join(lines) + "\n")
        done = subprocess.run(["cc", "-fsyntax-only", str(source)], capture_output=True, text=True)
    found = re.findall(r'static assertion failed: "(.*)"', done.stderr)
    yield from found
    if done.returncode != 0 and not found:
        yield f"the headers don't have what is listed: {done.stderr.strip().splitlines()[0]}"


def debugger_value(file, expression):
    """None: there is no debugging information for it."""
    done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-ex", f"output (long)({expression})", str(file)], capture_output=True,
                          text=True)
    return int(done.stdout) if re.fullmatch(r"-?\d+", done.stdout.strip()) else None


def offset_of(kind, member):
    tag = kind if kind.endswith("_t") else f"struct {kind}"
    return f"(long)&(({tag}*)0)->{member}"


def check_private(libraries, needs):
    """What isn't in headers, where libc's debugging information is installed. The number of those that were not looked at."""
    if shutil.which("gdb") is None or debugger_value(libraries["libc"], "sizeof(struct malloc_state)") is None:
        return [], len(needs.private) + len(needs.distances)
    wrong = []
    for library, kind, member, offset in needs.private:
        found = debugger_value(libraries[library], offset_of(kind, member))
        if found != offset:
            wrong.append(f"{kind}.{member} is at {found}, not at {offset}")
    for library, kind, first, second, distance in needs.distances:
        found = debugger_value(libraries[library], f"{offset_of(kind, second)} - {offset_of(kind, first)}")
        if found != distance:
            wrong.append(f"{kind}.{second} is {found} bytes behind {first}, not {distance}")
    return wrong, 0


def machine_libraries():
    """Those that this program runs with."""
    text = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8")
    directory = re.search(r"(/\S*)/libc\.so\.6$|(/\S*)/libc-2\.\d+\.so$", text, re.MULTILINE)
    if directory is None:
        sys.exit("this machine's C library isn't glibc")
    place = pathlib.Path(directory.group(1) or directory.group(2))
    return {kind: place / name for kind, name in LIBRARIES.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--library", type=pathlib.Path, help="default: libheaptap_agent.so in the build's bin")
    options = parser.parse_args()
    library = options.library or options.build / "bin" / "libheaptap_agent.so"
    if not library.is_file():
        sys.exit(f"there is no {library}; build first")
    needs = Needs.read((ROOT / "tools/libc_needs.txt").read_text(encoding="utf-8"))
    libraries = machine_libraries()
    private, unseen = check_private(libraries, needs)
    violations = [*check_agent(library, needs), *check_symbols(libraries, needs), *check_public(needs), *private]
    for violation in violations:
        print(violation)
    left = f"; {unseen} private places not looked at, for want of gdb or libc's debugging information" if unseen else ""
    print(f"{len(violations)} violations in {len(needs.symbols)} symbols and {len(needs.public)} public places{left}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
