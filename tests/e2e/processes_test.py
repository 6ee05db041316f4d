"""Several processes: what is followed, what the end says of all of them, and the gate over their traces."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
from heaptap_test import HEAPTAP, built, heaptap, summary
from waiting import ended, wait_for


class Gate(heaptap_test.TestCase):
    """`heaptap check` of several traces, and of a directory."""

    def setUp(self):
        super().setUp()
        self.clean, self.leaky = self.directory / "a.htap", self.directory / "b.htap"
        for trace, program in ((self.clean, "leak_clean_aligned"), (self.leaky, "leak_shop")):
            outcome = heaptap("run", "-q", "-o", trace, "--", built(program), cwd=self.directory)
            self.assertEqual(outcome.status, 0, str(outcome))

    def check(self, *arguments, status):
        outcome = heaptap("check", *arguments, "--max-leaked", "0", cwd=self.directory)
        self.assertEqual(outcome.status, status, str(outcome))
        return outcome.stdout.decode()

    def test_each_trace_is_judged_and_the_worst_counts(self):
        self.check(self.clean, self.clean, status=0)
        text = self.check(self.clean, self.leaky, status=1)
        self.assertLess(text.index(f"{self.clean}:\nok: leaked 0 B"), text.index(f"{self.leaky}:\nFAIL: leaked 224 B"))
        self.check(self.leaky, self.clean, status=1)

    def test_one_trace_is_as_before(self):
        self.assertEqual(self.check(self.clean, status=0), "ok: leaked 0 B, limit 0 B\n")
        self.assertEqual(heaptap_test.read_report(self.check(self.leaky, "--json", status=1))["format"], "heaptap-check")

    def test_a_directory_is_its_traces_each_once(self):
        self.assertTrue((self.directory / "heaptap.latest.htap").is_symlink())
        self.assertEqual(self.check(self.directory, status=1).count("leaked"), 2)
        self.assertEqual(self.check(self.directory, self.leaky, "--json", status=1).count('"heaptap-check"'), 2)

    def test_a_wrapper_is_no_reason_to_fail(self):
        directory = self.directory / "together"
        directory.mkdir()
        heaptap("run", "-q", "sh", "-c", 'exec "$0"', built("leak_clean_aligned"), cwd=directory)
        text = self.check(directory, status=0)
        self.assertEqual(text.count("it executed another program"), 1, text)
        wrapper = next(directory.glob("heaptap.sh.*.htap"))
        self.check(wrapper, status=3)  # alone it says nothing of leaks
        self.check(wrapper, self.clean, status=3)  # nor beside another process

    def test_what_cannot_be_read_does_not_pass(self):
        (self.directory / "c.htap").write_text("no trace")
        found = heaptap_test.read_report(self.check(self.clean, self.directory / "c.htap", "--json", status=125))
        self.assertFalse(found["passed"])
        self.assertEqual([entry["trace"] for entry in found["failed"]], [str(self.directory / "c.htap")])
        self.check(self.directory, status=1)  # a limit that is broken is certain
        empty = self.directory / "empty"
        empty.mkdir()
        self.check(empty, status=125)


class ThroughExec(heaptap_test.TestCase):
    """What is started is followed through exec, whatever the wrapper does; nothing changes for the program."""

    def run_in_directory(self, *arguments, status=3, **options):
        outcome = heaptap("run", *arguments, cwd=self.directory, **options)
        self.assertEqual(outcome.status, status, str(outcome))
        self.assertLessEqual(outcome.stderr.count(b"\n"), 12, str(outcome))
        return outcome

    def traces(self, pattern="*.htap"):
        return [trace for trace in sorted(self.directory.glob(pattern)) if not trace.is_symlink()]

    def test_the_summary_is_that_of_the_program_that_the_wrapper_became(self):
        for via in ("agent", "ptrace"):
            with self.subTest(via):
                directory = self.directory
                self.directory = directory / via
                self.directory.mkdir()
                outcome = self.run_in_directory("--via", via, "sh", "-c", 'exec "$0"', built("one_leak"))
                text = outcome.stderr.decode()
                self.assertRegex(text, r"heaptap: one_leak \(pid \d+, executed by sh\) exited with 3 after", text)
                self.assertIn("one_leak.c:", text)
                self.assertIn("heaptap.one_leak.", os.readlink(self.directory / "heaptap.latest.htap"))
                wrapper = summary(self.traces("heaptap.sh.*.htap")[0])
                self.assertIsNone(wrapper["target"]["exit"])
                self.assertRegex(heaptap("show", "summary", self.traces("heaptap.sh.*.htap")[0]).stdout.decode(),
                                 r": executed another program after")
                self.directory = directory

    def test_the_file_that_was_named_is_the_programs(self):
        self.run_in_directory("-q", "-o", self.trace, "sh", "-c", 'exec sh -c \'exec "$0"\' "$0"', built("one_leak"))
        self.assertEqual(summary(self.trace)["target"]["command"][0], str(built("one_leak")))
        self.assertEqual([trace.name for trace in self.traces()], ["trace.1.htap", "trace.2.htap", "trace.htap"])

    def test_nothing_is_overwritten_by_that(self):
        (self.directory / "trace.1.htap").write_text("precious")
        self.run_in_directory("-q", "-o", self.trace, "sh", "-c", 'exec "$0"', built("one_leak"))
        self.assertEqual((self.directory / "trace.1.htap").read_text(), "precious")
        self.assertEqual(summary(self.trace)["target"]["command"][0], str(built("one_leak")))

    def test_it_can_be_switched_off(self):
        self.run_in_directory("--no-follow-exec", "sh", "-c", 'exec "$0"', built("one_leak"))
        self.assertEqual(len(self.traces()), 1)
        self.assertEqual(summary(self.traces()[0])["target"]["exit"], {"code": 3})

    def test_a_wrapper_that_cleans_the_environment(self):
        outcome = self.run_in_directory("/usr/bin/env", "-i", "COLOUR=blue", built("environment"), "environment", status=0)
        self.assertEqual(outcome.stdout, b"COLOUR=blue\n")
        self.assertEqual(len(self.traces("heaptap.environment.*.htap")), 1)

    def test_a_program_that_cannot_be_recorded_runs_as_without_heaptap(self):
        programs = {"static_program": b"statically linked"}
        if (heaptap_test.TARGETS / "program32").exists():
            programs["program32"] = b"32 bits"
        for name, word in programs.items():
            for options in ([], ["-f"]):
                with self.subTest(program=name, options=options):
                    command = ["sh", "-c", '"$0"; exit $?' if options else 'exec "$0"', built(name)]
                    bare = heaptap_test.run(command)
                    outcome = self.run_in_directory(*options, *command, status=bare.status)
                    self.assertEqual(outcome.stdout, bare.stdout)
                    self.assertIn(word, outcome.stderr, str(outcome))

    def test_a_child_in_another_root_says_nothing_more(self):
        root = self.directory / "root"
        (root / "bin").mkdir(parents=True)
        shutil.copy(built("environment"), root / "bin/environment")
        listing = heaptap_test.run(["ldd", built("environment")]).stdout.decode()
        for library in re.findall(r"(/\S+) \(0x", listing):
            (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, root / library[1:])
        script = 'chroot "$0" /bin/environment arguments; exit $?'
        bare = heaptap_test.run(["sh", "-c", script, root])
        if bare.status != 0:
            heaptap_test.skip_what_is_missing(f"chroot: {bare}")
        outcome = heaptap("run", "-q", "-f", "-o", self.trace, "sh", "-c", script, root)
        self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (bare.status, bare.stdout, bare.stderr))

    def test_each_way_to_execute_is_followed_with_f(self):
        ways = re.findall(r"^// RUN (\w+)", heaptap_test.TARGET_SOURCES["executes_others"].read_text(), re.MULTILINE)
        self.assertIn("execveat", ways)
        for way in ways:
            with self.subTest(way):
                shutil.rmtree(self.directory)
                self.directory.mkdir()
                self.run_in_directory("-q", "-f", built("executes_others"), way, status=0)
                found = [trace for trace in self.traces() if summary(trace)["target"]["command"][1:] == ["work"]]
                self.assertEqual(len(found), 1, f"{way}: {self.traces()}")
                self.assertEqual([stack["allocations"] for stack in summary(found[0])["stacks"]
                                  if stack["frames"] and stack["frames"][0]["function"] == "worker"], [40], way)

    def notes_of(self, trace):
        return " ".join(heaptap_test.notes_of(summary(trace)))

    def test_what_was_refused_was_not_executed(self):
        """The trace of a program whose calls of exec came to nothing is its own; the last one counts."""
        for words, status, command in ((["refused", "a", "b"], 0, "refused"), (["refused"], 7, "work")):
            with self.subTest(words=words):
                self.run_in_directory("-q", "-o", self.trace, "--force", built("exec_edges"), *words, status=status)
                self.assertEqual(summary(self.trace)["target"]["command"][1], command)
                self.assertEqual(summary(self.trace)["target"]["exit"], {"code": status})
                self.assertNotIn("executed", self.notes_of(self.trace))
        self.assertIsNone(summary(self.trace.with_name("trace.1.htap"))["target"]["exit"])

    def test_what_does_not_fit_is_executed_unrecorded_and_told(self):
        self.run_in_directory("-q", "-f", "-o", self.trace, built("exec_edges"), "limit", "execve", status=0)
        self.assertRegex(self.notes_of(self.trace), r"executed a program in a way that isn't followed \(an environment that is too large")

    def test_system_beside_threads_is_told(self):
        self.run_in_directory("-q", "-f", "-o", self.trace, built("exec_edges"), "beside-thread", status=0)
        self.assertIn("2 children executed a program by system or popen beside other threads, which isn't followed, and are not recorded there",
                      self.notes_of(self.trace))
        self.assertEqual(len(self.traces()), 2, "what posix_spawn executed is recorded")

    def test_each_system_beside_others_is_told(self):
        """Also one that is called while another thread's child still runs."""
        self.run_in_directory("-q", "-f", "-o", self.trace, built("exec_edges"), "beside-system", status=0)
        self.assertIn("2 children executed a program by system or popen beside other threads", self.notes_of(self.trace))

    def test_a_program_of_very_many_names_is_followed_and_one_with_a_sanitizer_is_not(self):
        source, names, program = self.directory / "program.c", self.directory / "names.o", self.directory / "program"
        source.write_text("".join(f"void {'long' * 50}_{i}(void) {{}}\n" for i in range(8000)))
        self.assertEqual(heaptap_test.run(["gcc", "-c", source, "-o", names]).status, 0)
        runtime = "void __asan_init(void) {}\n"
        for style in ("gnu", "sysv"):
            for more, traces in (("", 2), (runtime, 1)):
                with self.subTest(style=style, more=more):
                    source.write_text(more + "int main(void) { return 3; }\n")
                    made = heaptap_test.run(["gcc", "-rdynamic", f"-Wl,--hash-style={style}", source, names, "-o", program])
                    self.assertEqual(made.status, 0, str(made))
                    self.run_in_directory("-q", "-o", self.trace, "--force", "sh", "-c", 'exec "$0"', program)
                    self.assertEqual(len(self.traces("trace*.htap")), traces)
                    self.assertEqual("built with a sanitizer" in self.notes_of(self.trace), bool(more))
                    for trace in self.traces():
                        trace.unlink()

    def test_children_are_left_alone_without_f(self):
        for way in ("execve", "vfork", "posix_spawn", "system"):
            with self.subTest(way):
                shutil.rmtree(self.directory)
                self.directory.mkdir()
                self.run_in_directory("-q", built("executes_others"), way, status=0)
                self.assertEqual(len(self.traces()), 1)


class Spawned(heaptap_test.TestCase):
    """Children that reset their ids as they are spawned, as make's do, are recorded where that changes nothing."""

    CHANGES_DIRECTORY = r"""
#define _GNU_SOURCE
#include <spawn.h>
#include <sys/wait.h>
extern char** environ;
int main(void) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  char* arguments[] = {"program", 0};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, "there");
  if (posix_spawn(&child, "./program", &actions, 0, arguments, environ) != 0 || waitpid(child, 0, 0) != child) return 1;
  return posix_spawn_file_actions_destroy(&actions);
}
"""

    def leaks_of(self, *command):
        outcome = heaptap("run", "-q", "-f", "--via", "agent", "--error-exitcode", "9", "--", *command, cwd=self.directory)
        self.assertEqual(outcome.status, 9, str(outcome))

    def test_with_the_ids_that_it_has(self):
        spawn = "import os, sys\nos.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, resetids=True)\nos.wait()"
        self.leaks_of(sys.executable, "-c", spawn, built("leak_shop"))

    def test_by_make(self):
        if shutil.which("make") is None:
            self.skipTest("no make")
        (self.directory / "Makefile").write_text(f"check:\n\t@{built('leak_shop')} >/dev/null\nrelative:\n\t@./program\n")
        self.leaks_of("make", "check")
        (self.directory / "program").symlink_to(built("leak_shop"))
        self.leaks_of("make", "relative")  # spawned with file actions

    # A relative name means another file after a change of directory, whose rights and loader weren't looked at.
    def test_in_another_directory(self):
        spawner = self.directory / "spawner"
        spawner.with_suffix(".c").write_text(self.CHANGES_DIRECTORY)
        subprocess.run(["gcc", "-o", spawner, spawner.with_suffix(".c")], check=True)
        (self.directory / "there").mkdir()
        (self.directory / "there" / "program").symlink_to(built("leak_shop"))
        (self.directory / "program").symlink_to("/bin/true")
        outcome = heaptap("run", "-f", "--via", "agent", "--error-exitcode", "9", "--", spawner, cwd=self.directory)
        self.assertEqual(outcome.status, 3, str(outcome))
        self.assertIn("executed a program in a way that isn't followed", str(outcome))


class Late(heaptap_test.TestCase):
    """Children that are not recorded yet when the program ends: heaptap waits for them as for those that are."""

    SPAWNER = r"""
#include <spawn.h>
#include <stdlib.h>
int main(int count, char **arguments) {
  pid_t child;
  char *environment[] = {arguments[1], NULL};
  free(malloc(count));
  return posix_spawn(&child, arguments[2], NULL, NULL, arguments + 2, environment);
}
"""

    def setUp(self):
        super().setUp()
        self.directory.chmod(0o755)

    def fifo(self, name):
        fifo = self.directory / name
        os.mkfifo(fifo)
        fifo.chmod(0o666)
        self.addCleanup(lambda: os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK)))  # what waits there ends
        return fifo

    def traces(self):
        return sorted(self.directory.glob("[0-9]*.htap"))

    def start(self, *command):
        """Returns when the program has ended, and its recording."""
        process = subprocess.Popen([HEAPTAP, "run", "-q", "-f", "-o", self.directory / "%p.htap", "--", *command])
        self.addCleanup(process.wait)
        self.addCleanup(heaptap_test.end, process)

        def is_complete():
            shown = [heaptap("show", "summary", "--json", trace) for trace in self.traces()]
            return any(one.status == 0 and not heaptap_test.read_report(one.stdout)["capture"]["truncated"] for one in shown)

        wait_for("the program's trace is complete", is_complete, state=process)
        return process

    def start_daemon(self):
        detached, go = self.fifo("detached"), self.fifo("go")
        process = self.start(built("daemon_for_long"), detached, go)
        with open(detached, "rb", buffering=0) as told:
            self.assertEqual(told.read(1), b"d")
        return process, go

    def test_one_that_allocates_long_after_its_parents_are_gone(self):
        process, go = self.start_daemon()
        with open(go, "wb", buffering=0) as tells:
            tells.write(b"g")
        self.assertEqual(ended(process), 0)
        expected = "stack function=malloc caller=in_daemon allocations=10000 frees=10000"
        reports = [summary(trace) for trace in self.traces()]
        self.assertTrue(any(expectations.check(expected, report) == [] for report in reports), [report["stacks"] for report in reports])

    def test_one_whose_program_is_being_loaded(self):
        fifo, spawner = self.fifo("library"), self.directory / "spawner"
        spawner.with_suffix(".c").write_text(self.SPAWNER)
        subprocess.run(["gcc", "-o", spawner, spawner.with_suffix(".c")], check=True)
        process = self.start(spawner, f"LD_PRELOAD={fifo}", built("leak_shop"))  # its loader waits for the library
        fifo.open("wb").close()
        self.assertEqual(ended(process), 0)
        programs = [pathlib.Path(summary(trace)["target"]["command"][0]).name for trace in self.traces()]
        self.assertEqual(sorted(programs), ["leak_shop", "spawner"])

    def test_the_wait_for_them_ends_with_ctrl_c(self):
        process, _ = self.start_daemon()
        process.send_signal(signal.SIGINT)
        self.assertEqual(ended(process), 0)
        self.assertEqual(len(self.traces()), 1)


class Unanswered(heaptap_test.SteppedTestCase):
    """A child whose agent had no answer in time runs unrecorded; that is said, and it isn't known whether it leaks."""

    SPAWNER = r"""
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
int main(int count, char **arguments) {
  pid_t child;
  char *environment[] = {NULL};
  free(malloc(count));
  setvbuf(stdout, NULL, _IONBF, 0);
  puts("ready");
  while (getchar() != '\n') {}
  if (posix_spawn(&child, arguments[1], NULL, NULL, arguments + 1, environment) != 0 || waitpid(child, NULL, 0) != child) return 1;
  puts("the child has ended");
  while (getchar() != '\n') {}
  return 0;
}
"""

    def test_a_program_that_was_spawned(self):
        spawner = self.directory / "spawner"
        spawner.with_suffix(".c").write_text(self.SPAWNER)
        subprocess.run(["gcc", "-fno-builtin", "-o", spawner, spawner.with_suffix(".c")], check=True)
        process = self.start("ready", HEAPTAP, "run", "-q", "-f", "--error-exitcode", "9", "-o", self.directory / "%p.htap", "--", spawner,
                             "/bin/true")
        process.send_signal(signal.SIGSTOP)
        self.step(process, "the child has ended")
        process.send_signal(signal.SIGCONT)
        os.write(process.stdin.fileno(), b"go\n")
        self.assertEqual(ended(process), 3)
        reports = {pathlib.Path(report["target"]["executable"] or "gone").name: report for report in map(summary, self.directory.glob("[0-9]*.htap"))}
        self.assertEqual(len(reports), 2, reports.keys())
        reports.pop("spawner")
        self.assertEqual([note["kind"] for note in reports.popitem()[1]["notes"]], ["not_answered"])


class End(heaptap_test.TestCase):
    """What the end says of all processes, and of how the program ended."""

    tree = 'for i in 1 2 3 4 5 6 7 8; do "$0"; done; "$1"; exit 0'

    def test_leaks_of_children_are_counted_and_make_the_exit_status(self):
        for status, options in ((9, ["-f"]), (3, [])):
            outcome = heaptap("run", *options, "--error-exitcode", "9", "sh", "-c", '"$0"; exit 0', built("leak_shop"), cwd=self.directory)
            self.assertEqual(outcome.status, status, str(outcome))
        quiet = heaptap("run", "-q", "-f", "--error-exitcode", "9", "sh", "-c", '"$0"; exit 0', built("leak_shop"), cwd=self.directory)
        self.assertEqual((quiet.status, quiet.stderr), (9, b""), str(quiet))

    def test_each_process_has_a_line_what_leaks_first_and_the_rest_is_counted(self):
        outcome = heaptap("run", "-f", "sh", "-c", self.tree, built("leak_clean_aligned"), built("leak_shop"), cwd=self.directory)
        lines = outcome.stderr.decode().splitlines()
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertLessEqual(len(lines), 12, str(outcome))
        at = next(i for i, line in enumerate(lines) if line.startswith("heaptap: all 10 processes: "))
        self.assertIn("leaked 224 bytes in 5 blocks", lines[at], str(outcome))
        self.assertRegex(lines[at + 1], r"heaptap:   leak_shop \(pid \d+\) .*, leaked 224 bytes in 5 blocks: ", str(outcome))
        self.assertRegex(outcome.stderr.decode(), r"and \d+ more \(-v lists them\)")
        # What is lost is nothing beside the 50 MiB that another one holds.
        self.assertRegex(lines[-1], r"heaptap show leaks --globals heaptap\.leak_clean_aligned\.\d+\.htap")
        verbose = heaptap("run", "-v", "-f", "sh", "-c", self.tree, built("leak_clean_aligned"), built("leak_shop"), cwd=self.directory)
        self.assertEqual(verbose.stderr.decode().count(": heaptap.leak_clean_aligned."), 8, str(verbose))

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_a_program_from_which_the_tracer_detached_has_its_end(self):
        program = ["--via", "ptrace", "--force", "-o", self.trace, built("crash_reporter"), "names"]
        outcome = heaptap("run", *program, cwd=self.directory)
        self.assertEqual(outcome.status, 128 + signal.SIGABRT, str(outcome))
        self.assertRegex(outcome.stderr.decode(), r"crash_reporter \(pid \d+\) killed by SIGABRT after .*: 20 allocations")
        report = heaptap_test.read_report(heaptap("run", "--json", *program, cwd=self.directory).stderr)
        self.assertEqual(report["target"]["exit"]["signal"], signal.SIGABRT)

    def test_json_has_all_processes(self):
        outcome = heaptap("run", "--json", "-f", "sh", "-c", '"$0"; exit 0', built("leak_shop"), cwd=self.directory)
        report = heaptap_test.read_report(outcome.stderr)
        self.assertEqual(report["target"]["command"][0], "sh")
        self.assertEqual({process["target"]["command"][0] for process in report["processes"]} - {"sh"}, {str(built("leak_shop"))})
        self.assertEqual(report["all_processes"]["definite"]["bytes"] + report["all_processes"]["indirect"]["bytes"], 224)
        alone = heaptap_test.read_report(heaptap("run", "--json", built("leak_shop"), cwd=self.directory).stderr)
        self.assertNotIn("processes", alone)

    def test_json_into_a_file_keeps_it_apart_from_the_program(self):
        file = self.directory / "report.json"
        file.write_text("x" * 100000)
        outcome = heaptap("run", f"--json={file}", "-o", self.trace, "sh", "-c", 'echo words >&2; exec "$0"', built("leak_shop"), cwd=self.directory)
        self.assertTrue(outcome.stderr.startswith(b"words\nheaptap: leak_shop"), str(outcome))
        self.assertEqual(heaptap_test.read_report(file.read_text())["target"]["command"][0], str(built("leak_shop")))
        refused = heaptap("run", "--json=/no/such/directory/x", "-o", self.trace, "--force", "sh", "-c", f"echo ran >{self.directory}/ran", cwd=self.directory)
        self.assertEqual((refused.status, (self.directory / "ran").exists()), (125, False), str(refused))

    def test_json_of_an_earlier_run_does_not_stay(self):
        file = self.directory / "report.json"
        file.write_text("x" * 100000)
        heaptap("run", f"--json={file}", "-o", self.trace, "sh", "-c", f"wc -c <{file} >{self.directory}/size", cwd=self.directory)
        self.assertEqual((self.directory / "size").read_text().strip(), "0")
        link = self.directory / "link.json"
        link.symlink_to(self.directory / "report.json")
        refused = heaptap("run", f"--json={link}", "-o", self.trace, "--force", "true", cwd=self.directory)
        self.assertEqual(refused.status, 125, str(refused))
        through = heaptap("run", "-q", "--json=/dev/stdout", "-o", self.trace, "--force", built("leak_shop"), cwd=self.directory)
        self.assertIn(b'"heaptap-summary"', through.stdout, str(through))

    def test_json_into_a_fifo_that_is_read_later(self):
        fifo = self.directory / "fifo"
        os.mkfifo(fifo)
        command = [heaptap_test.HEAPTAP, "run", "-q", f"--json={fifo}", "-o", self.trace, built("sleeper")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            self.assertEqual(run.stdout.readline(), b"ready 1\n", "nobody has to read before the program starts")
            run.stdin.close()
            self.assertEqual(heaptap_test.read_report(fifo.read_text())["format"], "heaptap-summary")
        self.assertEqual(run.returncode, 9)

    def test_how_the_program_ended(self):
        for script, words in (("exit 4", "exited with 4"), ("kill -SEGV $$", "killed by SIGSEGV")):
            outcome = heaptap("run", "--force", "-o", self.trace, "sh", "-c", script)
            self.assertRegex(outcome.stderr.decode(), rf"heaptap: sh \(pid \d+\) {re.escape(words)} after", str(outcome))
        with subprocess.Popen([built("sleeper")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sleeper:
            sleeper.stdout.readline()
            outcome = heaptap("attach", "--duration", "10ms", "-o", self.trace, "--force", sleeper.pid)
            sleeper.kill()
        self.assertRegex(outcome.stderr.decode(), r"heaptap: sleeper \(pid \d+\) detached, still running after", str(outcome))

    def test_bad_releases_have_their_places(self):
        outcome = heaptap("run", "-o", self.trace, "--", built("mismatched"))
        text = outcome.stderr.decode()
        self.assertLessEqual(text.count("\n"), 12, text)
        self.assertRegex(text, r"heaptap: \d+ mismatched frees? \(free of operator new\) at mismatched\.cc:\d+, allocated at mismatched\.cc:\d+", text)
        self.assertNotRegex(text, r"(, |: )0 ", "what there is none of isn't named")


if __name__ == "__main__":
    unittest.main()
