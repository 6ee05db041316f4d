"""A pytest plugin. The fixture `heaptap_run` runs a program under heaptap, and the test fails where the program leaks. Where pytest itself
runs under heaptap (`heaptap run pytest …`), each test fails that loses memory of extension modules and native libraries.

Copy this file beside conftest.py, or put its directory into PYTHONPATH, and load it by `pytest -p pytest_heaptap` or, in the topmost
conftest.py, by `pytest_plugins = ["pytest_heaptap"]`.

    @pytest.mark.heaptap(suppressions=["known.supp"], sanity=True)   # optional
    def test_shop(heaptap_run):
        done = heaptap_run(["./shop", "--orders", "3"])
        assert done.returncode == 0

`heaptap_run(command, **options)` returns a subprocess.CompletedProcess with the program's own status and output (as text). Further
options are those of the mark, and of subprocess.run: cwd, env, input, timeout. Options of the call come before those of the mark:

    suppressions   files of known leaks
    sanity         True: invalid, double and mismatched releases fail the test as well
    ptrace         True: recorded by ptrace (static programs)
    options        further options of `heaptap run`; "-f" where the program starts others

The test fails where something is definitely lost, and where that isn't known. `pytest --heaptap=PATH` names the program heaptap; by
default it is that of the PATH. Tests that need one are skipped where there is none, and errors with --heaptap. Traces are kept in the
test's tmp_path.

Under heaptap there is a leak scan before the first test, and after each test's function and its fixtures. What is definitely lost then and
wasn't before is the test's leak; a test fails as well where that isn't known. Marks with the test's name stand around it:
`heaptap show leaks --from NAME --to 'end of NAME' TRACE` lists the stacks. Tests marked with `heaptap(leaks=True)` may leak. Nothing
happens by ptrace, which calls nothing in the program. `heaptap run --suppressions` holds for these scans, too.

Python 3.8 and pytest 6.2, and later."""
import ctypes
import json
import os
import shlex
import shutil
import subprocess

import pytest

MOST_LEAKS = 3


def pytest_addoption(parser):
    parser.getgroup("heaptap").addoption("--heaptap", metavar="PATH", help="the program heaptap, for heaptap_run (default: that of the PATH)")


def pytest_configure(config):
    config.addinivalue_line("markers", "heaptap(suppressions, sanity, ptrace, options): how heaptap_run runs this test's programs; "
                            "leaks=True: this test may lose memory where pytest runs under heaptap")
    scans = _Scans.of_this_process()
    if scans:
        config.pluginmanager.register(scans, "heaptap-scans")


def _find(config):
    """Path of the program heaptap; skips the test where there is none and none was asked for."""
    wanted = config.getoption("--heaptap")
    found = shutil.which(wanted or "heaptap")
    if found is None and wanted:
        raise pytest.UsageError(f"--heaptap={wanted}: there is no such program")
    if found is None:
        pytest.skip("there is no program heaptap: install it, or name it by --heaptap=PATH")
    return os.path.abspath(found)


def _options(suppressions=(), sanity=False, ptrace=False, options=()):
    """Options of `heaptap run`."""
    if "--no-leak-scan" in options:
        raise ValueError("heaptap_run: with --no-leak-scan nothing is known of leaks")
    words = [word for file in suppressions for word in ("--suppressions", os.path.abspath(os.fspath(file)))]
    return [*words, *(["--sanity"] if sanity else []), *(["--via", "ptrace"] if ptrace else []), *options]


def _own_status(summary, status):
    """The program's own status, as subprocess has it: -N for signal N."""
    pids = {entry["target"]["pid"] for entry in _processes(summary)}
    ends = [entry["target"]["exit"] for entry in _processes(summary) if entry["target"]["parent_pid"] not in pids]
    return -ends[0]["signal"] if ends and ends[0] and ends[0].get("signal") is not None else status


def _read(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _processes(summary):
    """Each recorded process: its target, totals and capture."""
    return summary.get("processes") or [summary]


def _bad_releases(summary):
    return sum(entry["totals"][name] for entry in _processes(summary) for name in ("bad_frees", "double_frees", "mismatched_frees"))


def _run(words, input=None, timeout=None, **how):
    """As subprocess.run. When the time is up the program is asked to end, so that its trace is whole."""
    stdin = subprocess.DEVNULL if input is None else subprocess.PIPE
    with subprocess.Popen(words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, errors="replace", **how) as process:
        try:
            out, err = process.communicate(input, timeout)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return process.returncode, out, err


def _judge(heaptap, directory, summary, sanity):
    """Why the test fails, as text; None: it doesn't."""
    lacking = [entry["failure"] for entry in _processes(summary) if entry.get("failure")]
    code, out, err = _run([heaptap, "check", "--max-leaked", "0", "--color", "never", "-n", str(MOST_LEAKS), str(directory)])
    if code == 1:
        return f"the program leaks\n{out}"
    if code != 0 or lacking:
        return "\n".join(["it isn't known whether the program leaks", out + err, *lacking])
    if sanity and _bad_releases(summary):
        _, out, _ = _run([heaptap, "show", "summary", "--color", "never", "-n", str(MOST_LEAKS), str(directory / "trace.htap")])
        return f"the program has invalid releases\n{out}"
    if sanity and not all(entry["capture"]["known"]["releases"] for entry in _processes(summary) if "capture" in entry):
        return "it isn't known whether the program's releases are valid"
    return None


@pytest.fixture
def heaptap_run(request, tmp_path):
    """Runs a program under heaptap: see above."""
    heaptap = _find(request.config)
    mark = request.node.get_closest_marker("heaptap")
    defaults = mark.kwargs if mark else {}

    def run(command, input=None, timeout=None, cwd=None, env=None, **given):
        __tracebackhide__ = True
        how = {**defaults, **given}
        how.pop("leaks", None)
        directory = tmp_path / f"heaptap-{len(list(tmp_path.glob('heaptap-*'))) + 1}"
        directory.mkdir()
        summary_file, trace = directory / "summary.json", directory / "trace.htap"
        words = [heaptap, "run", "-q", *_options(**how), "--leak-scan", f"--json={summary_file}", "-o", str(trace), "--"]
        status, out, err = _run([*words, *map(os.fspath, command)], input, timeout, cwd=cwd, env=env)
        summary = _read(summary_file)
        if summary is None:
            pytest.fail(f"heaptap recorded nothing (exit status {status})\n{err}", pytrace=False)
        if failure := _judge(heaptap, directory, summary, how.get("sanity", False)):
            pytest.fail(f"{' '.join(map(str, command))}: {failure}", pytrace=False)
        return subprocess.CompletedProcess(list(command), _own_status(summary, status), out, err)

    return run


class _Counts(ctypes.Structure):
    """heaptap_scan_counts of heaptap/heaptap.h."""

    _fields_ = [("struct_bytes", ctypes.c_size_t),
                *((f"{kind}_{unit}", ctypes.c_uint64) for kind in ("definite", "indirect", "possible", "reachable", "unknown")
                  for unit in ("blocks", "bytes"))]


class _Scans:
    """Leak scans of the process that runs the tests."""

    def __init__(self, agent):
        self.agent = agent
        self.last = None  # the last scan's errno and counts
        self.has_ended = True  # the mark of a test's end is set
        self.unknown_of = None  # the test that was failed already since its leaks aren't known

    @classmethod
    def of_this_process(cls):
        """None where no agent records this process."""
        program = ctypes.CDLL(None)
        return cls(program) if hasattr(program, "heaptap_scan") and program.heaptap_is_recording() else None

    def scan(self):
        self.agent.getpid(_Zeros())  # what earlier calls left on the stack may still point to blocks that they lost
        counts = _Counts(struct_bytes=ctypes.sizeof(_Counts))
        return self.agent.heaptap_scan(ctypes.byref(counts)), counts

    def judge(self, item):
        """Fails the test for what was lost since the last scan."""
        (status, before), self.last = self.last, self.scan()
        after_status, after = self.last
        mark = item.get_closest_marker("heaptap")
        if mark and mark.kwargs.get("leaks"):
            return
        status = status or after_status
        if status == 0 and after.definite_blocks > before.definite_blocks:
            pytest.fail(_lost_text(item, before, after), pytrace=False)
        why = self.doubt(status, before, after)
        if why and self.unknown_of is not item:
            self.unknown_of = item
            pytest.fail(f"it isn't known whether this test leaks: {why}", pytrace=False)

    def doubt(self, status, before, after):
        """Why it isn't known what was lost between two scans; None: it is."""
        if status:
            return f"heaptap's leak scan failed: {os.strerror(status)}"
        if not self.agent.heaptap_is_recording():
            return "it ended with heaptap's recording switched off"
        if after.unknown_blocks > before.unknown_blocks:
            return "of some blocks heaptap doesn't know whether they are live"
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        if self.last is None:
            self.last = self.scan()
        self.agent.heaptap_mark(_mark_of(item.nodeid).encode())
        self.has_ended = False

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_call(self, item):
        self.judge(item)  # isn't reached where the test has failed: its leaks are judged with its fixtures

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item):
        self.end(item.nodeid)  # isn't reached where a fixture's end has failed
        self.judge(item)

    def pytest_runtest_logfinish(self, nodeid):
        if not self.has_ended:
            self.end(nodeid)
            self.last = None  # what this test has lost is not the next one's

    def end(self, nodeid):
        self.agent.heaptap_mark(b"end of " + _mark_of(nodeid).encode())
        self.has_ended = True


def _lost_text(item, before, after):
    count, size = after.definite_blocks - before.definite_blocks, after.definite_bytes - before.definite_bytes
    amount = f"{count} {'block is' if count == 1 else 'blocks are'} definitely lost{f' ({size} bytes)' if size > 0 else ''}"
    name = _mark_of(item.nodeid)
    return (f"heaptap: {amount}. Their stacks, once pytest has ended:\n"
            f"  heaptap show leaks --from {shlex.quote(name)} --to {shlex.quote('end of ' + name)} TRACE")


class _Zeros(ctypes.Structure):
    """As an argument it is copied to the C stack."""

    _fields_ = [("bytes", ctypes.c_char * 65536)]


def _mark_of(nodeid):
    """The test's name as heaptap's marks can have it: they are cut after 248 bytes."""
    return nodeid.encode(errors="replace")[-200:].decode(errors="ignore")
