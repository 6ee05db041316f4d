"""Common parts of the end-to-end tests: paths, running a program with a timeout, running it under heaptap.

Paths come from the environment: HEAPTAP (the program), TARGETS (directory of the built target programs),
ORACLE (the counting library), ANNOUNCER (the program that announces).
"""
import base64
import dataclasses
import errno
import functools
import gzip
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from waiting import TIMEOUT_S, TooSlow, describe, descendants, processes, read_until

HERE = pathlib.Path(__file__).resolve().parent
TARGET_DIRECTORY = HERE.parent / "targets"
TARGET_SOURCES = {source.stem: source for source in sorted(TARGET_DIRECTORY.glob("*/*.c*")) if source.parent.name != "libraries"}
HEAPTAP = os.environ.get("HEAPTAP", str(HERE.parent.parent / "build/bin/heaptap"))
TARGETS = pathlib.Path(os.environ.get("TARGETS", HERE.parent.parent / "build/tests/targets"))
ORACLE = pathlib.Path(os.environ.get("ORACLE", HERE.parent.parent / "build/tests/support/liboracle.so"))
ANNOUNCER = pathlib.Path(os.environ.get("ANNOUNCER", HERE.parent.parent / "build/tests/announce"))
LONG = os.environ.get("HEAPTAP_LONG") == "1"

# Below some hypervisors the kernel doesn't trust it. Times are coarse then, and a note says so; what tests compare depends on neither.
os.environ.setdefault("HEAPTAP_CLOCK", "processor")
os.environ.pop("DEBUGINFOD_URLS", None)  # nothing is downloaded unless a test says so

# A shell without job control starts what it puts in the background with these ignored, which programs inherit.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


@dataclasses.dataclass
class Outcome:
    status: int  # as a shell shows it: 128 + number for a signal
    stdout: bytes
    stderr: bytes
    seconds: float = 0

    def __str__(self):
        return f"status {self.status}\n--- stdout\n{_text(self.stdout)}--- stderr\n{_text(self.stderr)}"


def _text(data):
    return data[-3000:].decode(errors="replace")


def shell_status(returncode):
    return 128 - returncode if returncode < 0 else returncode


def end(process):
    """Kills a process started by a test, with all of its descendants."""
    for pid in [*reversed(descendants(process.pid)), process.pid]:
        try:
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(command, stdin=b"", env=None, cwd=None, timeout_s=TIMEOUT_S):
    started = time.monotonic()
    with tempfile.TemporaryFile() as source:  # a file, so that nothing else reads or blocks
        source.write(stdin)
        source.seek(0)
        process = subprocess.Popen([str(word) for word in command], stdin=source, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=env, cwd=cwd)
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        now = processes(process.pid)
        end(process)
        out, err = process.communicate()
        raise TooSlow(f"not ended after {timeout_s} s: {' '.join(map(str, command))}\n{now}\n"
                      f"--- stdout\n{_text(out)}--- stderr\n{_text(err)}") from None
    return Outcome(shell_status(process.returncode), out, err, time.monotonic() - started)


def sooner(**intervals):
    """An environment with shorter intervals of heaptap's periodic work: sooner(write="20ms"). heaptap ignores what it can't read."""
    assert all(re.fullmatch(r"\d+ms", time) for time in intervals.values()), intervals
    return {**os.environ, "HEAPTAP_TEST_INTERVALS": ",".join(f"{name}={time}" for name, time in intervals.items())}


def heaptap(*arguments, **options):
    return run([HEAPTAP, *arguments], **options)


def socket_directories():
    """Directories of this user's recording sockets (docs/wire.md), if there are any."""
    parents = [os.environ.get("XDG_RUNTIME_DIR", "/nowhere"), f"/run/user/{os.geteuid()}", *(["/run"] if os.geteuid() == 0 else [])]
    return [pathlib.Path(parent) / "heaptap" for parent in parents] + [pathlib.Path(f"/tmp/heaptap-{os.geteuid()}")]


def has_tracer():
    """Whether this heaptap can trace by ptrace."""
    with tempfile.TemporaryDirectory(prefix="heaptap-test-") as directory:
        return b"not available in this version" not in heaptap("run", "--via", "ptrace", "--", "/bin/true", cwd=directory).stderr


def has_library(*names):
    """Whether a library of one of these names is where systems have theirs."""
    return any(pathlib.Path(directory, name).exists() for directory in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib") for name in names)


NOTHING = {"blocks": 0, "bytes": 0}
LEAKS = ("definite", "indirect", "possible", "reachable", "suppressed", "unknown", "behind_headers", "below")


def read_report(text):
    """Output of --json, of version 3 or 2, with stacks as lists of their frames, and with members that a stack omits because they are
    empty."""
    return _expanded(json.loads(text), None, None)


def places_of(node, depth, nodes):
    """Places of the frames of a node and its callers in the table of frames, innermost first."""
    places = []
    while node != 0 and len(places) != depth:
        places.append(nodes["frame"][node])
        node = nodes["caller"][node]
    return places


def list_frames(stacks, nodes):
    """Adds places of frames to stacks of version 3 that aren't expanded."""
    for stack in stacks:
        stack["frames"] = places_of(stack["node"], stack.get("depth"), nodes)
        if "node_before" in stack:
            stack["frames_before"] = places_of(stack["node_before"], stack.get("depth_before"), nodes)


def _leaks(leaks):
    is_scanned = leaks is not None and leaks.get("definite", NOTHING)["blocks"] is not None
    return {**dict.fromkeys(LEAKS, NOTHING if is_scanned else {"blocks": None, "bytes": None}), **(leaks or {})}


def _expanded(value, nodes, frames):
    """`nodes` and `frames` are the tables of the innermost object that has such ones."""
    if isinstance(value, list):
        return [_expanded(item, nodes, frames) for item in value]
    if not isinstance(value, dict):
        return value
    table = value.get("frames")
    has_table = isinstance(table, list) and all(isinstance(frame, dict) for frame in table) and ("format" in value or "most" in value)
    if has_table:
        nodes, frames = value.get("nodes"), table
    expanded = {}
    for name, item in value.items():
        if has_table and name in ("frames", "nodes"):
            continue
        if name in ("node", "node_before"):
            after = name.removeprefix("node")
            expanded["frames" + after] = [frames[place] for place in places_of(item, value.get("depth" + after), nodes)]
        elif name in ("frames", "frames_before"):
            expanded[name] = [frames[place] for place in item]
        elif name == "caller" and isinstance(item, int):
            expanded[name] = frames[item]
        elif name not in ("depth", "depth_before") or "node" not in value:
            expanded[name] = _expanded(item, nodes, frames)
    if "leaks" in value and "allocations" in value:
        expanded["leaks"] = _leaks(value["leaks"])
        if "id" in value:
            expanded = {"variant": "", "mismatched_frees": 0, "ends_early": None, "purpose": None, **expanded}
    return expanded


def notes_of(report, scan=None):
    """Sentences about gaps of the recording, or of the scan with this number."""
    return [note["text"] for note in report["notes"] if note["scan"] == scan]


def summary(trace):
    """The summary of a trace as JSON; an AssertionError with heaptap's message if there is none."""
    outcome = heaptap("show", "summary", "--json", trace)
    assert outcome.status == 0, f"`heaptap show summary --json` failed: {outcome}"
    try:
        return read_report(outcome.stdout)
    except ValueError as error:
        raise AssertionError(f"no JSON: {error}\n{outcome}") from None


def skip_what_is_missing(what, cure=""):
    """Skips the test for a missing tool that can be installed: one of tools/packages.txt, or by `cure`. Not allowed in CI."""
    if os.environ.get("CI") == "true":
        raise AssertionError(f"CI has to have it: {what}{cure and f'; {cure}'}")
    raise unittest.SkipTest(what)


def skip_what_the_kernel_lacks(what):
    """Skips the test for a missing kernel feature, in CI too, and reports it on stderr: unittest and ctest show neither skipped tests nor
    reasons."""
    print(f"NOT TESTED: {what}", file=sys.stderr, flush=True)
    raise unittest.SkipTest(what)


@functools.cache
def kernel_runs_32_bits():
    """False: the kernel refuses a program of 32-bit x86 that only ends as none that it knows."""
    code = bytes.fromhex("31db 89d8 40 cd80")  # exit(0)
    address = 0x8048000
    head = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, 3, 1, address + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack("<8I", 1, 0, address, address, 84 + len(code), 84 + len(code), 5, 4096)
    with tempfile.TemporaryDirectory(prefix="heaptap-test-") as directory:
        program = pathlib.Path(directory) / "ends"
        program.write_bytes(head + segment + code)
        program.chmod(0o755)
        try:
            subprocess.run([program])
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            return False
        return True


def runnable(path):
    """The path of a built program; skips the test if it has 32 bits, and the kernel of this machine runs no such programs."""
    with open(path, "rb") as program:
        is_32_bits_x86 = program.read(20)[4::14] == b"\1\3"  # class, machine
    if is_32_bits_x86 and not kernel_runs_32_bits():
        skip_what_the_kernel_lacks("programs of 32 bits")
    return path


def built(name, level="", directory=TARGETS):
    """Path of a built target program; skips the test if the program may be missing on this machine. level: one of the program's
    LEVELS."""
    path = directory / (name + level)
    if not path.exists():
        if "\n// NEEDS " in TARGET_SOURCES[name].read_text():
            skip_what_is_missing(f"{name} was not built on this machine")
        raise AssertionError(f"{path} is not there: is TARGETS the directory of the built target programs?")
    return runnable(path)


def executable(pid):
    """Path of the program that a process executes; "" if it has ended."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


class TestCase(unittest.TestCase):
    """Test case with an empty working directory of its own."""

    maxDiff = None

    @classmethod
    def make_class_directory(cls):
        """A directory for all tests of the class."""
        directory = tempfile.TemporaryDirectory(prefix="heaptap-test-")
        cls.addClassCleanup(directory.cleanup)
        return pathlib.Path(directory.name)

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="heaptap-test-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.trace = self.directory / "trace.htap"

    def assert_no_crash(self, outcome, allowed=(0, 125)):
        self.assertIn(outcome.status, allowed, str(outcome))
        for word in (b"terminate called", b"Sanitizer", b"runtime error", b"CHECK failed", b"Assertion"):
            self.assertNotIn(word, outcome.stderr, str(outcome))


class SteppedTestCase(TestCase):
    """Test case that drives a program step by step: one step per line of input, answered by a line with its position."""

    def start(self, first, *command, state=(), missing=None):
        """Starts the program and waits for it to print `first`. `state`: shown if a line doesn't arrive. `missing`: lines that may come
        instead of `first` if this machine lacks something, each with the argument of skip_what_is_missing."""
        program = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, program)
        self.state = [program, *state]
        line = self.next_line(program, first)
        if missing and line in missing:
            skip_what_is_missing(*missing[line])
        self.assertEqual(line, first, describe(self.state))
        return program

    @staticmethod
    def end(program):
        end(program)
        program.communicate()

    def step(self, program, *places):
        """Steps to each of these places in turn."""
        for place in places:
            os.write(program.stdin.fileno(), b"go\n")
            self.assertEqual(self.next_line(program, place), place, describe(self.state))

    def next_line(self, program, expected):
        return read_until(program.stdout.fileno(), f"the line '{expected}'", lambda text: text.endswith(b"\n"), state=self.state).decode()[:-1]


DATA = re.compile(r'<script id="heaptap-data" type="application/octet-stream">([^<]*)</script>')


def document_of(html):
    """Data of an HTML report."""
    return json.loads(gzip.decompress(base64.b64decode(DATA.search(html).group(1))))
