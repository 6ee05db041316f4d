"""A pytest plugin: the fixture `heaptap_run` runs a program under heaptap, and the test fails where the program leaks.

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

Python 3.8 and pytest 6.2, and later."""
import json
import os
import shutil
import subprocess

import pytest

MOST_LEAKS = 3


def pytest_addoption(parser):
    parser.getgroup("heaptap").addoption("--heaptap", metavar="PATH", help="the program heaptap, for heaptap_run (default: that of the PATH)")


def pytest_configure(config):
    config.addinivalue_line("markers", "heaptap(suppressions, sanity, ptrace, options): how heaptap_run runs this test's programs")


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
