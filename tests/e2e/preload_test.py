# CTEST COST 27
"""Programs that heaptap didn't start: LD_PRELOAD and HEAPTAP_OUTPUT record them by a collector that the agent starts, and they
notice nothing of it."""
import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
from heaptap_test import HEAPTAP, TIMEOUT_S, built, heaptap, run, shell_status, summary
from report_signal_test import Report
from waiting import wait_for

AGENT = pathlib.Path(HEAPTAP).resolve().parent / "libheaptap_agent.so"
TOTALS = ("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes", "bad_frees", "unknown_frees")
NOBODY = 65534


def collectors(pid=None):
    """The collectors of the process with this pid, as its own pid namespace has it; of all."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0") if entry.isdigit() else []
        except OSError:
            continue
        if words[1:2] == [b"--collect"] and pid in (None, int(words[2])):
            found.append(int(entry))
    return found


def wait_for_end(pid, timeout_s=TIMEOUT_S):
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], timeout_s)[0], f"process {pid} goes on"
    finally:
        os.close(descriptor)


class Preloaded(heaptap_test.TestCase):
    """Programs in an environment that has them recorded, with their traces in a directory."""

    def setUp(self):
        super().setUp()
        self.before = set(collectors())
        self.traces = self.directory / "traces"
        self.traces.mkdir()
        self.output = self.traces / "%p.htap"
        self.addCleanup(self.end_collectors)

    def end_collectors(self):
        for pid in set(collectors()) - self.before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def environment(self, **more):
        bare = {name: value for name, value in os.environ.items() if not name.startswith(("HEAPTAP_", "LD_"))}
        added = {"HEAPTAP_OUTPUT": str(self.output), "LD_PRELOAD": str(AGENT), **more}
        return bare | {name: value for name, value in added.items() if value is not None}

    def run_bare(self, *command, **options):
        return run(command, env=self.environment(LD_PRELOAD=None, HEAPTAP_OUTPUT=None), **options)

    def run_preloaded(self, *command, environment=None, **options):
        """Runs it to its end, and waits for that of the collectors that it began."""
        outcome = run(command, env=self.environment(**(environment or {})), **options)
        self.wait_for_collectors()
        return outcome

    def wait_for_collectors(self):
        for pid in set(collectors()) - self.before:
            wait_for_end(pid)

    def reports(self):
        return [summary(trace) for trace in sorted(self.traces.glob("*.htap")) if not trace.is_symlink()]

    def said(self):
        """By collectors."""
        return "".join(log.read_text() for log in self.traces.parent.rglob("*.log"))

    def report(self):
        found = self.reports()
        self.assertEqual(len(found), 1, f"{sorted(self.traces.iterdir())}\n{self.said()}")
        return found[0]

    def start(self, *command, environment=None, **options):
        process = subprocess.Popen([str(word) for word in command], env=self.environment(**(environment or {})), **options)
        self.addCleanup(process.wait)
        self.addCleanup(heaptap_test.end, process)
        return process

    def start_sleeper(self, before=(), **options):
        """A program that has allocated, and waits for the end of its standard input; and its collector's pid. `before`: a command
        that executes it, and isn't recorded itself."""
        names = ("HEAPTAP_OUTPUT", "LD_PRELOAD")
        more = ["env", *(f"{name}={self.environment()[name]}" for name in names)] if before else []
        environment = dict.fromkeys(names) if before else {}
        process = self.start(*before, *more, "/usr/bin/python3", "-S", "-c", "import sys; print('ready', flush=True); sys.stdin.read()",
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             **{"environment": environment, **options})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        found = collectors(process.pid)
        self.assertEqual(len(found), 1, self.said())
        return process, found[0]


class Recorded(Preloaded):
    def same_as_run(self, *command, **options):
        with tempfile.TemporaryDirectory() as directory:
            trace = pathlib.Path(directory) / "run.htap"
            by_run = heaptap("run", "-q", "-o", trace, "--", *command, env=self.environment(LD_PRELOAD=None, HEAPTAP_OUTPUT=None),
                             cwd=directory, **options)
            expected = summary(trace)
        outcome = self.run_preloaded(*command, **options)
        self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (by_run.status, by_run.stdout, by_run.stderr))
        report = self.report()
        for name in TOTALS:
            self.assertEqual(report["totals"][name], expected["totals"][name], name)
        for name in ("scanned", "definite", "indirect", "possible", "reachable"):
            self.assertEqual(report["leaks"][name], expected["leaks"][name], name)
        self.assertEqual(report["target"]["exit"], expected["target"]["exit"])
        self.assertEqual(report["target"]["command"], [str(word) for word in command])
        self.assertEqual([note["kind"] for note in report["notes"]], [note["kind"] for note in expected["notes"]])
        self.assertTrue(report["capture"]["complete"], report["capture"])
        self.assertEqual(self.said(), "")
        return report

    def test_a_program_with_leaks(self):
        report = self.same_as_run(built("leak_shop"))
        self.assertGreater(report["leaks"]["definite"]["blocks"], 0)

    def test_sqlite3(self):
        if shutil.which("sqlite3") is None:
            heaptap_test.skip_what_is_missing("there is no sqlite3 on this machine")
        self.same_as_run("sqlite3", ":memory:", "create table t(a); insert into t values(1),(2); select sum(a) from t;")

    def test_python3(self):
        os.environ["PYTHONHASHSEED"] = "0"
        self.same_as_run("/usr/bin/python3", "-S", "-c", "print(len([str(i) for i in range(10000)]))")

    def test_threads_of_constructors(self):
        self.same_as_run(built("constructors"))

    def test_options_come_from_the_environment(self):
        outcome = self.run_preloaded(built("leak_shop"), environment={"HEAPTAP_OPTIONS": "--no-leak-scan --aggregate"})
        self.assertEqual(outcome.status, 0, outcome)
        self.assertFalse(self.report()["leaks"]["scanned"])

    def test_options_come_from_the_configuration_file(self):
        (self.directory / ".heaptap").write_text("[run]\nno-leak-scan\n")
        self.run_preloaded(built("leak_shop"), cwd=self.directory)
        self.assertFalse(self.report()["leaks"]["scanned"])

    def test_relative_names_are_below_the_working_directory(self):
        outcome = self.run_preloaded(built("leak_shop"), cwd=self.directory, environment={"HEAPTAP_OUTPUT": "traces/one.htap"})
        self.assertEqual(outcome.status, 0, outcome)
        self.assertTrue((self.traces / "one.htap").exists(), self.said())

    def test_a_trace_that_is_there_stays(self):
        self.output = self.traces / "service.htap"
        for _ in range(3):
            self.run_preloaded(built("leak_shop"))
        names = ["service.1.htap", "service.2.htap", "service.htap"]
        self.assertEqual(sorted(trace.name for trace in self.traces.glob("s*.htap")), names)
        commands = {summary(self.traces / name)["target"]["pid"] for name in names}
        self.assertEqual(len(commands), 3)

    def test_it_can_be_asked_and_steered(self):
        process, collector = self.start_sleeper()
        self.assertEqual(heaptap("mark", process.pid, "here").status, 0)
        scan = heaptap("leaks", process.pid, "--json")
        self.assertEqual(scan.status, 0, scan)
        self.assertTrue(json.loads(scan.stdout)["leaks"]["scanned"])
        process.stdin.close()
        self.assertEqual(process.wait(), 0)
        wait_for_end(collector)
        self.assertEqual(summary(self.traces / f"{process.pid}.htap")["target"]["exit"], {"code": 0})


class AskedForReports(Preloaded):
    """By a signal to the collector, or to the program: targets/signals/signal_asked.c."""

    def start_asked(self, *arguments, **options):
        process = self.start(built("signal_asked"), *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        (collector,) = collectors(process.pid)
        return process, collector

    def say(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline().rstrip("\n")

    def memlog(self, process, number):
        path = self.traces / f"signal_asked-{process.pid}-{number}.memlog"
        wait_for(path.name, path.exists, state=[lambda: sorted(self.traces.iterdir()), self.said])
        return Report(path)

    def end(self, process, collector):
        process.stdin.close()
        self.assertEqual(process.wait(), 0)
        wait_for_end(collector)
        report = summary(self.traces / f"{process.pid}.htap")
        self.assertTrue(report["leaks"]["scanned"])
        self.assertTrue(report["capture"]["complete"], report["capture"])
        self.assertEqual(self.said(), "")

    def test_signal_to_the_collector(self):
        process, collector = self.start_asked()
        self.say(process, "small 10 100")
        os.kill(collector, signal.SIGUSR1)
        first = self.memlog(process, 1)
        self.assertEqual((first.outstanding, first.of("make_small")), (first.change, 1000))
        self.say(process, "drop 4")
        os.kill(collector, signal.SIGUSR1)
        second = self.memlog(process, 2)
        self.assertEqual((second.outstanding, second.change), (first.outstanding - 400, -400))
        self.end(process, collector)

    def test_signals_that_come_before_the_collector_can_take_them(self):
        """What it becomes sends them to itself. The report is one of the program, as soon as there is one that is recorded."""
        early = self.directory / "early"
        early.write_text(f'#!/bin/sh\nfor name in HUP USR1 USR2 40; do kill -$name $$; done\nexec {HEAPTAP} "$@"\n')
        early.chmod(0o755)
        process, collector = self.start_asked(environment={"HEAPTAP_COLLECTOR": str(early)})
        first = self.memlog(process, 1)
        self.assertEqual(first.outstanding, first.change)
        self.say(process, "small 10 100")
        os.kill(collector, signal.SIGUSR1)
        self.assertEqual(self.memlog(process, 2).of("make_small"), 1000)
        self.end(process, collector)

    def test_signal_to_all_of_a_service_that_has_a_handler_of_its_own(self):
        options = {"HEAPTAP_OPTIONS": "--report-signal=USR2"}
        process, collector = self.start_asked(signal.SIGUSR2, environment=options)
        for number in (1, 2, 3):
            self.say(process, f"small {number} 100")
            for pid in (collector, process.pid):
                os.kill(pid, signal.SIGUSR2)
            self.assertEqual(self.memlog(process, number).of("make_small"), number * 100)
            self.assertEqual(self.say(process, f"unblock {int(signal.SIGUSR2)}"), f"handled {number}")
        self.end(process, collector)


class SwitchedOff(Preloaded):
    OFF = {"HEAPTAP_ENABLED": "0"}

    def test_nothing_is_recorded_until_it_is_switched_on(self):
        self.run_preloaded(built("leak_shop"), environment=self.OFF)
        self.assertEqual(self.report()["totals"]["allocations"], 0)

    def test_under_run(self):
        for words in ((["-E", "HEAPTAP_ENABLED=0"], {}), ([], self.OFF)):
            for way in ("agent", "ptrace"):
                with self.subTest(words=words, way=way):
                    outcome = heaptap("run", "-q", "--force", "--via", way, "-o", self.trace, *words[0], "--", built("leak_shop"),
                                      env={**os.environ, **words[1]})
                    self.assertEqual(outcome.status, 0, outcome)
                    self.assertEqual(summary(self.trace)["totals"]["allocations"], 0)

    def test_a_recording_that_is_switched_on_goes_on(self):
        process, collector = self.start_sleeper(environment=self.OFF)
        outcome = heaptap("console", process.pid, "-x", "start")
        self.assertEqual(outcome.status, 0, outcome)
        process.stdin.close()
        process.wait()
        wait_for_end(collector)
        report = summary(self.traces / f"{process.pid}.htap")
        self.assertGreater(report["totals"]["frees"] + report["totals"]["unknown_frees"] + report["totals"]["allocations"], 0)

    def test_forked_children_begin_as_their_parent(self):
        self.run_preloaded(built("fork_followed"), environment=self.OFF)
        found = self.reports()
        self.assertGreater(len(found), 1)
        self.assertEqual({report["totals"]["allocations"] for report in found}, {0})

    def test_programs_that_are_executed_begin_as_the_one_before(self):
        self.run_preloaded("sh", "-c", f"exec {built('leak_shop')}", environment=self.OFF)
        found = self.reports()
        self.assertEqual(len(found), 2)
        self.assertEqual({report["totals"]["allocations"] for report in found}, {0})


class Unnoticed(Preloaded):
    def same_as_bare(self, *command, **options):
        bare = self.run_bare(*command, **options)
        outcome = self.run_preloaded(*command, **options)
        self.assertEqual((outcome.status, outcome.stdout.decode(), outcome.stderr.decode()),
                         (bare.status, bare.stdout.decode(), bare.stderr.decode()))

    def test_no_child_is_there(self):
        self.same_as_bare(built("sees_children"))
        self.assertGreaterEqual(len(self.reports()), 1)

    def test_no_child_is_there_where_orphans_become_children(self):
        self.same_as_bare(built("adopts_orphans"), built("sees_children"))
        self.assertGreaterEqual(len(self.reports()), 1)

    def test_what_it_can_see(self):
        for about in ("arguments", "environment", "environment-file", "descriptors", "signals", "limits", "process", "threads",
                      "auxiliary"):
            with self.subTest(about=about):
                self.same_as_bare(built("environment"), about)

    def test_descriptors_are_closed(self):
        for program in ("close_range_all", "closes_descriptors"):
            with self.subTest(program=program):
                self.same_as_bare(built(program))

    def test_other_preloaded_libraries_stay(self):
        other = heaptap_test.ORACLE
        script = "import os; print(os.environ.get('LD_PRELOAD'))"
        for preload in (f"{AGENT}:{other}", f"{other}:{AGENT}", f"{other} {AGENT}"):
            with self.subTest(preload=preload):
                outcome = self.run_preloaded("/usr/bin/python3", "-S", "-c", script, environment={"LD_PRELOAD": preload})
                self.assertEqual(outcome.stdout.decode().strip(), str(other), outcome)
        self.assertEqual(len(self.reports()), 3)

    def test_standard_descriptors_that_are_closed(self):
        words = "import os; print(sorted(n for n in os.listdir('/proc/self/fd') if int(n) < 3), file=open({!r}, 'w'))"
        seen = self.directory / "seen"
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                command = ["sh", "-c", f'"$@" {closed}', "sh", "/usr/bin/python3", "-S", "-c", words.format(str(seen))]
                self.run_bare(*command)
                bare = seen.read_text()
                self.run_preloaded("sh", "-c", f'exec "$@" {closed}', *command[3:])
                self.assertEqual(seen.read_text(), bare)
                self.assertGreaterEqual(len(self.reports()), 1)

    def test_children_are_recorded_by_the_same_collector(self):
        script = ("import os, subprocess; subprocess.run(['/usr/bin/env'], check=True); "
                  "print([word for word in open('/proc/self/environ').read().split(chr(0)) if 'HEAPTAP' in word])")
        self.same_as_bare("/usr/bin/python3", "-S", "-c", script)
        self.assertEqual(len(self.reports()), 2, sorted(self.traces.iterdir()))

    def test_children_needn_t_be_followed(self):
        self.run_preloaded("sh", "-c", "/usr/bin/env; exit 4", environment={"HEAPTAP_OPTIONS": "--no-follow-fork"})
        self.report()

    def test_programs_without_an_output_are_not_recorded(self):
        for output in (None, ""):
            self.same_as_bare(built("leak_shop"))
            for trace in self.traces.iterdir():
                trace.unlink()
            outcome = self.run_preloaded(built("leak_shop"), environment={"HEAPTAP_OUTPUT": output})
            self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
            self.assertEqual(list(self.traces.iterdir()), [])


class Daemons(Preloaded):
    def test_one_that_allocates_long_after_its_parents_are_gone(self):
        self.traces.chmod(0o777)
        self.directory.chmod(0o755)
        detached, go = self.directory / "detached", self.directory / "go"
        for fifo in (detached, go):
            os.mkfifo(fifo)
            fifo.chmod(0o666)
        outcome = run([built("daemon_for_long"), detached, go], env=self.environment(), cwd=self.directory)
        self.assertEqual(outcome.status, 0, outcome)
        with open(detached, "rb", buffering=0) as told:
            self.assertEqual(told.read(1), b"d")
        self.assertEqual(len(set(collectors()) - self.before), 1, f"{sorted(self.traces.iterdir())}\n{self.said()}")
        with open(go, "wb", buffering=0) as tells:
            tells.write(b"g")
        self.wait_for_collectors()
        found = self.reports()
        expected = "stack function=malloc caller=in_daemon allocations=10000 frees=10000"
        self.assertTrue(any(expectations.check(expected, report) == [] for report in found), f"{len(found)} traces {self.said()}")

    def test_in_all_that_a_service_manager_puts_it_into(self):
        """Another user, a session of its own, no descriptors, a directory that nobody else sees: all together."""
        if os.getuid() != 0 or shutil.which("setpriv") is None or run(["unshare", "-m", "true"]).status != 0:
            heaptap_test.skip_what_is_missing("another user and a mount namespace are needed")
        self.directory.chmod(0o755)
        private = self.directory / "private"
        private.mkdir()
        detached, go = self.directory / "detached", self.directory / "go"
        for fifo in (detached, go):
            os.mkfifo(fifo)
            fifo.chmod(0o666)
        script = f'mount -t tmpfs -o uid={NOBODY},mode=700 none {private} && exec setsid "$@" <&- >&- 2>&-'
        user = ("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--no-new-privs")
        words = ("env", "HOME=/nonexistent", f"HEAPTAP_OUTPUT={private}/%p.htap", f"LD_PRELOAD={AGENT}")
        outcome = self.run_bare("unshare", "-m", "sh", "-c", script, "sh", *user, *words, built("daemon_for_long"), detached, go)
        self.assertEqual(outcome.status, 0, outcome)
        with open(detached, "rb", buffering=0) as told:
            self.assertEqual(told.read(1), b"d")
        (collector,) = set(collectors()) - self.before
        inside = os.open(f"/proc/{collector}/root{private}", os.O_RDONLY)  # which keeps it
        self.addCleanup(os.close, inside)
        with open(go, "wb", buffering=0) as tells:
            tells.write(b"g")
        wait_for_end(collector)
        self.assertEqual(list(private.iterdir()), [])
        for entry in os.scandir(inside):
            with open(os.open(entry.name, os.O_RDONLY, dir_fd=inside), "rb") as file:
                self.assertEqual(os.fstat(file.fileno()).st_uid, NOBODY)
                if not entry.is_symlink():
                    (self.traces / entry.name).write_bytes(file.read())
        found = self.reports()
        expected = "stack function=malloc caller=in_daemon allocations=10000 frees=10000"
        (daemon,) = [report for report in found if expectations.check(expected, report) == []]
        self.assertTrue(daemon["leaks"]["scanned"], daemon["notes"])
        self.assertEqual((daemon["capture"]["truncated"], daemon["capture"]["lost_events"]), (False, 0), daemon["capture"])
        self.assertEqual(self.said(), "")

    def test_signals_to_all_of_a_service(self):
        """systemd's SIGTERM goes to all processes of the service, and SIGHUP where that is asked for."""
        process, collector = self.start_sleeper()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            os.kill(collector, number)
        self.assertEqual(heaptap("mark", process.pid, "here").status, 0)
        os.kill(process.pid, signal.SIGTERM)
        self.assertEqual(process.wait(), -signal.SIGTERM)
        wait_for_end(collector)
        report = summary(self.traces / f"{process.pid}.htap")
        self.assertTrue(report["leaks"]["scanned"])
        self.assertEqual(report["target"]["exit"], {"signal": signal.SIGTERM})

    def test_the_program_is_killed(self):
        process, collector = self.start_sleeper()
        process.kill()
        process.wait()
        wait_for_end(collector)
        report = summary(self.traces / f"{process.pid}.htap")
        self.assertFalse(report["leaks"]["scanned"])
        self.assertGreater(report["totals"]["allocations"], 0)

    def test_the_collector_is_killed(self):
        process, collector = self.start_sleeper()
        os.kill(collector, signal.SIGKILL)
        process.stdin.close()
        self.assertEqual(process.wait(), 0)


class Elsewhere(Preloaded):
    def need(self, *command):
        if shutil.which(command[0]) is None or subprocess.run([*command, "true"], capture_output=True).returncode != 0:
            heaptap_test.skip_what_is_missing(f"`{' '.join(command)}` doesn't work on this machine")

    def test_first_process_of_a_pid_namespace(self):
        self.need("unshare", "-pf", "--mount-proc")
        words = ["env", *(f"{name}={self.environment()[name]}" for name in ("HEAPTAP_OUTPUT", "LD_PRELOAD"))]
        bare = self.run_bare("unshare", "-pf", "--mount-proc", built("sees_children"))
        outcome = self.run_bare("unshare", "-pf", "--mount-proc", *words, built("sees_children"))
        self.assertEqual((outcome.status, outcome.stdout), (bare.status, bare.stdout), outcome)
        report = summary(self.traces / "1.htap")
        expected = "stack function=malloc caller=work allocations=100 frees=100"
        self.assertEqual(expectations.check(expected, report), [])
        self.assertTrue(report["leaks"]["scanned"])

    def test_children_that_would_begin_a_namespace(self):
        """The first one would be its first process, and with its end that of the namespace."""
        self.need("unshare", "-p")
        words = ["env", *(f"{name}={self.environment()[name]}" for name in ("HEAPTAP_OUTPUT", "LD_PRELOAD"))]
        script = "import os; pid = os.fork(); pid or os._exit(5); print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
        outcome = self.run_bare("unshare", "-p", *words, "/usr/bin/python3", "-S", "-c", script)
        self.assertEqual((outcome.status, outcome.stdout), (0, b"5\n"), outcome)
        self.assertEqual(list(self.traces.iterdir()), [])

    def test_private_directory(self):
        """As of a service with PrivateTmp=: the trace is in a mount that nobody else sees."""
        self.need("unshare", "-m")
        private = self.directory / "private"
        private.mkdir()
        self.output = private / "%p.htap"
        script = f'mount -t tmpfs none {private} && exec "$@"'
        process, collector = self.start_sleeper(before=("unshare", "-m", "sh", "-c", script, "sh"))
        with open(f"/proc/{collector}/root{private}/{process.pid}.htap", "rb") as trace:
            process.stdin.close()
            process.wait()
            wait_for_end(collector)
            self.trace.write_bytes(trace.read())
        self.assertEqual(list(private.iterdir()), [])
        self.assertTrue(summary(self.trace)["leaks"]["scanned"])

    def test_another_user(self):
        self.need("setpriv", "--reuid", str(NOBODY), "--clear-groups")
        self.directory.chmod(0o755)
        os.chown(self.traces, NOBODY, NOBODY)
        words = [f"HEAPTAP_OUTPUT={self.output}", f"LD_PRELOAD={AGENT}"]
        outcome = self.run_bare("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--no-new-privs", "env", *words,
                                built("leak_shop"))
        self.wait_for_collectors()
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
        self.assertTrue(self.report()["leaks"]["scanned"])
        self.assertEqual({trace.stat().st_uid for trace in self.traces.glob("[0-9]*.htap")}, {NOBODY})

    def test_read_only_root(self):
        self.need("unshare", "-m")
        place = pathlib.Path("/var/tmp") / self.directory.name
        place.mkdir()
        self.addCleanup(shutil.rmtree, place)
        words = [f"HEAPTAP_OUTPUT={place}/%p.htap", f"LD_PRELOAD={AGENT}"]
        outcome = self.run_bare("unshare", "-m", "sh", "-c",
                                f'mount --bind {place} {place} && mount -o remount,ro,bind / && exec env "$@"', "sh", *words,
                                built("leak_shop"))
        self.wait_for_collectors()
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
        self.traces = place
        self.report()


class NotRecorded(Preloaded):
    """What doesn't work leaves the program as it is."""

    def unharmed(self, command=None, **environment):
        command = command or [built("sees_children")]
        bare = self.run_bare(*command)
        outcome = self.run_preloaded(*command, environment=environment)
        self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (bare.status, bare.stdout, bare.stderr), str(outcome))
        self.assertEqual(list(self.traces.glob("*.htap")), [])

    def test_no_collector(self):
        for path in ("/nowhere/heaptap", "/", "/dev/null", "/bin/false", "x" * 5000):
            with self.subTest(path=path[:20]):
                self.unharmed(HEAPTAP_COLLECTOR=path)

    def test_the_agent_alone(self):
        alone = self.directory / "alone" / AGENT.name
        alone.parent.mkdir()
        shutil.copy(AGENT, alone)
        self.unharmed(LD_PRELOAD=str(alone))

    def test_a_collector_that_says_nothing(self):
        script = self.directory / "collector"
        script.write_text("#!/bin/sh\nexec sleep 60\n")
        script.chmod(0o755)
        self.before |= set(collectors())
        bare = self.run_bare(built("sees_children"))
        outcome = run([built("sees_children")], env=self.environment(HEAPTAP_COLLECTOR=str(script)))
        self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (bare.status, bare.stdout, bare.stderr), str(outcome))

    def test_options_that_make_no_sense(self):
        self.unharmed(HEAPTAP_OPTIONS="--nonsense")
        self.assertIn("--nonsense is not an option", self.said())

    def test_by_ptrace(self):
        self.unharmed(HEAPTAP_OPTIONS="--via ptrace")
        self.assertIn("the agent is already loaded into the program", self.said())

    def test_no_directory_for_the_trace(self):
        self.output = self.directory / "missing" / "trace.htap"
        self.unharmed()

    def test_a_directory_for_a_trace(self):
        self.output = self.traces / "directory"
        self.output.mkdir()
        self.unharmed()
        self.assertIn("it is a directory", self.said())

    def test_the_log_never_follows_a_link(self):
        victim = self.directory / "victim"
        victim.write_text("mine")
        self.output = self.traces / "directory"
        self.output.mkdir()
        (self.traces / "directory.log").symlink_to(victim)
        self.unharmed()
        self.assertEqual(victim.read_text(), "mine")

    def test_static_programs(self):
        self.unharmed([built("static_program")])

    def test_filters_of_system_calls(self):
        """Whether they would let the agent's calls through, nobody knows, until somebody vouches for them."""
        words = [f"HEAPTAP_OUTPUT={self.output}", f"LD_PRELOAD={AGENT}"]
        bare = self.run_bare(built("sees_children"))
        for filters, vouched, traces in (("allows-all", "0", 0), ("allows-all", "1", 1), ("refuses-clone", "1", 0), ("refuses-socket", "1", 0),
                                         ("kills-bind", "1", 0)):
            with self.subTest(filters=filters, vouched=vouched):
                for trace in self.traces.glob("*.htap"):
                    trace.unlink()
                outcome = self.run_bare(built("under_filter"), filters, "/usr/bin/env", *words, f"HEAPTAP_FILTERS={vouched}",
                                        built("sees_children"))
                self.wait_for_collectors()
                if filters != "refuses-clone":  # it forks itself
                    self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (bare.status, bare.stdout, bare.stderr), outcome)
                self.assertEqual(len([trace for trace in self.traces.glob("*.htap") if not trace.is_symlink()]), traces,
                                 self.said())

    def test_limits(self):
        program = str(built("leak_shop"))
        for limit in ("-v 200000", "-n 3", "-n 4", "-f 0"):
            with self.subTest(limit=limit):
                command = ["sh", "-c", f"ulimit {limit}; exec {program}"]
                bare = self.run_bare(*command)
                outcome = self.run_preloaded(*command)
                self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (bare.status, bare.stdout, bare.stderr))

    def test_no_process_may_be_made(self):
        if os.getuid() != 0 or shutil.which("setpriv") is None:
            heaptap_test.skip_what_is_missing("another user is needed")
        self.directory.chmod(0o755)
        self.traces.chmod(0o777)
        words = [f"HEAPTAP_OUTPUT={self.output}", f"LD_PRELOAD={AGENT}"]
        switch = ["setpriv", "--reuid", "61234", "--regid", "61234", "--clear-groups", "prlimit", "--nproc=1", "--"]
        bare = self.run_bare(*switch, built("leak_shop"))
        outcome = self.run_bare(*switch, "env", *words, built("leak_shop"))
        self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (bare.status, bare.stdout, bare.stderr), outcome)

    def test_a_privileged_program_ignores_it(self):
        if os.getuid() != 0 or shutil.which("setpriv") is None:
            heaptap_test.skip_what_is_missing("another user is needed")
        self.directory.chmod(0o755)
        self.traces.chmod(0o777)
        program = self.directory / "privileged"
        shutil.copy(built("leak_shop"), program)
        program.chmod(0o4755)
        words = [f"HEAPTAP_OUTPUT={self.output}", f"LD_PRELOAD={AGENT}"]
        outcome = self.run_bare("setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "env", *words, program)
        self.assertEqual(outcome.status, 0, outcome)
        self.assertEqual(list(self.traces.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
