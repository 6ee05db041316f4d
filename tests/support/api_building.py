"""Building of small programs against the API's header, for tests/api and tests/e2e/api_test.py."""
import functools
import itertools
import pathlib
import shutil
import subprocess

from heaptap_test import LONG

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include"
SOURCES = ROOT / "tests/api"
STUBS = ROOT / "src/agent/api/heaptap_stubs.c"
NAMES = sorted("heaptap_" + name for name in (
    "api_version enable disable is_recording mark push_tag pop_tag report scan pool_create pool_destroy allocated released "
    "reallocated name_block resource_create opened closed").split())


def compilers(names):
    """Those of `names` installed on this machine."""
    return [name for name in names if shutil.which(name)]


def command(*words):
    """A command's arguments: a path is one of them, a text is split at blanks."""
    return [part for word in words for part in (word.split() if isinstance(word, str) else [str(word)])]


def build(*words):
    """Runs a compiler; its output is the AssertionError on failure."""
    done = subprocess.run(command(*words), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{' '.join(command(*words))}\n{done.stdout}{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def ways(*lists, possible=lambda way: True):
    """Pairwise covering combinations, one of each list, as few as possible; HEAPTAP_LONG=1: all of them. Without those for which
    `possible` is false, which is called as rarely as possible."""
    left = list(itertools.product(*lists))
    if LONG:
        yield from filter(possible, left)
        return
    met = {way: {*itertools.combinations(enumerate(way), 2)} for way in left}
    wanted = set().union(*met.values())
    while left and wanted & met[best := max(left, key=lambda way: len(met[way] & wanted))]:
        left.remove(best)
        if possible(best):
            wanted -= met[best]
            yield best


@functools.cache
def can_link(compiler, options):
    """Whether this compiler and linker support such programs (gold has no -static-pie)."""
    done = subprocess.run([*command(compiler, options), "-x", "c", "-", "-o", "/dev/null"], input=b"int main(void) { return 0; }",
                          capture_output=True)
    return done.returncode == 0


def symbols(path, *options):
    """(kind, name) of the symbols that nm lists."""
    out = subprocess.run(["nm", *options, str(path)], capture_output=True, text=True, check=True).stdout
    return [(words[-2], words[-1]) for line in out.splitlines() if len(words := line.split()) >= 2]
