#!/usr/bin/env python3
"""Runs ctest, and runs once more, one by one, what failed: with --retry a test that fails by luck rejects nothing, but is told.

What passes at its second run is flaky. It is printed as `flaky: NAME: CAUSE`, the cause being the first line of its output that
tells one, with numbers and paths left out, and belongs into tests/flaky.txt until it is fixed. More than three in a run fail, and
so does one that stands in that file already for the same cause.

Prints ctest's output as it comes; the closing line is `N passed, N failed`. Exit status 1 where a test failed.
--report FILE: writes what failed, what was flaky and the seconds as JSON.
Nothing that a test started outlives the run. When this is told to end it counts what has ended so far, and its status is 143."""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONTAINED = ROOT / "tools" / "contained.py"
FLAKY = ROOT / "tests" / "flaky.txt"
MAX_FLAKY = 3
# Names of parametrised tests have words behind them.
RESULT = re.compile(r"^ *\d+/\d+ Test +#\d+: (.*?) \.*( +Passed|\*\*\*.*?) +([\d.]+) sec")
SUM = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)$")
# A line that tells why a test failed: of GoogleTest, of unittest, of a script, of ctest itself.
CAUSE = re.compile(r"Failure$|^[\w.]*(?:Error|Exception|TimeoutExpired|WaitFailed)\b|^heaptap: |error:|\bfailed\b|"
                   r"Timeout|SEGFAULT|Subprocess aborted|waited for", re.IGNORECASE)


class Outcome:
    """What one run of ctest came to, read line by line."""

    def __init__(self):
        self.passed = []
        self.failed = []  # names
        self.not_run = []  # names; failed as well
        self.output = {}  # name -> lines, of those that failed
        self.seconds = {}
        self.sums = None  # what ctest says: failed, all
        self._current = None

    def add(self, line):
        if result := RESULT.match(line):
            name, verdict, seconds = result[1], result[2], float(result[3])
            self.seconds[name] = seconds
            self._current = None
            if "Disabled" in verdict:  # ctest doesn't count it
                return
            if "Passed" in verdict or "Skipped" in verdict:
                self.passed.append(name)
                return
            self.failed.append(name)
            self._current = self.output.setdefault(name, [verdict.replace("*", "").strip()])
        elif sums := SUM.match(line):
            self.sums = int(sums[1]), int(sums[2])
            self._current = None
        elif re.match(r"^ +Start +\d+: ", line):
            self._current = None
        elif self._current is not None:
            self._current.append(line.rstrip("\n"))


def cause_in(lines):
    """The line that tells why, without what differs from run to run."""
    found = next((line for line in lines[1:] if CAUSE.search(line)), lines[0] if lines else "")
    found = re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "N", found)
    return re.sub(r"(/[\w.+-]+)+/", "", found).strip()[:120]


def known_causes(text):
    """(name, cause) of each line of tests/flaky.txt: NAME | DATE | CAUSE | what it was."""
    known = set()
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) >= 3 and not line.startswith("#"):
            known.add((fields[0], fields[2]))
    return known


def verdict_on(flaky, known):
    """The flaky ones, name -> cause, that count as failures, and why."""
    bad = {name: "it is known to be flaky for this cause" for name, cause in flaky.items() if (name, cause) in known}
    if len(flaky) > MAX_FLAKY:
        bad |= {name: f"more than {MAX_FLAKY} are flaky" for name in flaky if name not in bad}
    return bad


class CutOff(Exception):
    """This program was told to end; `outcome` is what was there by then."""

    def __init__(self, outcome=None):
        super().__init__("told to end")
        self.outcome = outcome or Outcome()


def told_to_end(*_):
    raise CutOff


def run(command):
    outcome = Outcome()
    with subprocess.Popen([CONTAINED, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        try:
            for line in process.stdout:
                outcome.add(line)  # first: what was printed is counted, wherever it is cut off
                print(line, end="", flush=True)
        except CutOff:
            process.terminate()
            raise CutOff(outcome) from None
    counted = len(outcome.failed), len(outcome.passed) + len(outcome.failed)
    if outcome.sums != counted:
        sys.exit(f"run_tests: ctest ended with {process.returncode} and says (failed, all) {outcome.sums}; counted were {counted}")
    return outcome


def only(names):
    """A regular expression of ctest's for these tests."""
    return "^(" + "|".join(re.sub(r"[^\w/-]", ".", name) for name in names) + ")$"


def run_all(command, retry):
    """(the run, name -> cause of what passed at its second run, whether it was cut off)."""
    first, flaky = Outcome(), {}
    try:
        first = run(command)
        if retry and first.failed:
            print(f"run_tests: once more, one by one: {' '.join(first.failed)}", flush=True)
            without_jobs = [word for word in command if not re.fullmatch(r"-j\d+", word)]
            again = run([*without_jobs, "-j1", "-R", only(first.failed)])
            flaky = {name: cause_in(first.output[name]) for name in first.failed if name in again.passed}
    except CutOff as end:
        return (first if first.sums else end.outcome), {}, True
    return first, flaky, False


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--retry", action="store_true", help="run once more, one by one, what failed")
    parser.add_argument("--report", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--flaky", type=pathlib.Path, default=FLAKY)
    parser.add_argument("command", nargs="+", help="ctest and its arguments")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, told_to_end)
    begin = time.monotonic()
    first, flaky, cut_off = run_all(options.command, options.retry)
    known = known_causes(options.flaky.read_text(encoding="utf-8")) if options.flaky.is_file() else set()
    bad = verdict_on(flaky, known)
    failed = [name for name in first.failed if name not in flaky] + list(bad)
    for name, cause in flaky.items():
        print(f"flaky: {name}: {cause}{' (a failure: ' + bad[name] + ')' if name in bad else ''}")
    for name in failed:
        print(f"failed: {name}")
    total = len(first.passed) + len(first.failed)
    if options.report:
        options.report.write_text(json.dumps({"passed": total - len(failed), "failed": failed, "flaky": flaky,
                                              "seconds": round(time.monotonic() - begin, 1),
                                              "slowest": sorted(first.seconds.items(), key=lambda each: -each[1])[:20]}) + "\n")
    print(f"{total - len(failed)} passed, {len(failed)} failed", flush=True)
    if cut_off:
        return 128 + signal.SIGTERM
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
