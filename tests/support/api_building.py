"""Building small programs against the API's header, for tests/api and tests/e2e/api_test.py."""
import functools
import itertools
import pathlib
import shutil
import subprocess

from heaptap_test import LONG

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include"
SOURCES = ROOT / "tests/api"
STUBS = ROOT / "src/api/heaptap_stubs.c"
NAMES = sorted("heaptap_" + name for name in (
    "api_version enable disable is_recording mark push_tag pop_tag report scan pool_create pool_destroy allocated released "
    "reallocated name_block resource_create opened closed").split())


def compilers(names):
    """Those of them that this machine has."""
    return [name for name in names if shutil.which(name)]


def command(*words):
    """A command's arguments: a path is one of them, a text is split at blanks."""
    return [part for word in words for part in (word.split() if isinstance(word, str) else [str(word)])]


def build(*words):
    """Runs a compiler; what it says is the AssertionError where it fails."""
    done = subprocess.run(command(*words), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{' '.join(command(*words))}\n{done.stdout}{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def ways(*lists, possible=lambda way: True):
    """Ways to choose one of each list, as few as it takes for any two of two lists to come together; HEAPTAP_LONG=1: all of them. Without
    those that aren't possible, which is asked as seldom."""
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
    """Whether this compiler and linker make such programs at all (gold knows no -static-pie)."""
    done = subprocess.run([*command(compiler, options), "-x", "c", "-", "-o", "/dev/null"], input=b"int main(void) { return 0; }",
                          capture_output=True)
    return done.returncode == 0


def symbols(path, *options):
    """(kind, name) of what nm lists."""
    out = subprocess.run(["nm", *options, str(path)], capture_output=True, text=True, check=True).stdout
    return [(words[-2], words[-1]) for line in out.splitlines() if len(words := line.split()) >= 2]
