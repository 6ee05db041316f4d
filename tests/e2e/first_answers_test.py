"""The end of a run, and the command that it names, answer first what the program is about."""
import pathlib
import shlex
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import HEAPTAP, TARGETS, heaptap
from waiting import finished


class FirstAnswers(heaptap_test.TestCase):
    def end_of(self, *command, options=()):
        """The lines at the end of a run, without those about heaptap and the title."""
        return self.lines_of(heaptap("run", *options, "-o", self.trace, "--force", "--", TARGETS / command[0], *command[1:]))

    def lines_of(self, outcome):
        self.assertEqual(outcome.status, 0, outcome)
        lines = [line.removeprefix("heaptap: ") for line in outcome.stderr.decode().splitlines() if line.startswith("heaptap: ")]
        return lines[next(number for number, line in enumerate(lines) if " exited with 0 after " in line) + 1:]

    def shown(self, *words):
        outcome = heaptap(*words, cwd=self.directory)
        self.assertEqual(outcome.status, 0, outcome)
        return outcome.stdout.decode()

    def next_of(self, lines):
        """What the command of the last line prints."""
        self.assertTrue(lines[-1].startswith("next:  heaptap "), lines)
        return self.shown(*shlex.split(lines[-1].removeprefix("next:  heaptap ")))

    def test_a_freed_peak_is_told_by_who_made_it(self):
        lines = self.end_of("answers_peak")
        self.assertEqual(lines[0], "no leaks")
        self.assertRegex(lines[1], r"^  8\.0 MiB of the peak: #\d+  load_image answers_peak\.c:\d+ < load_all answers_peak\.c:\d+")
        top = self.next_of(lines)
        self.assertRegex(top, r"\nStacks by bytes at the peak\n\n.*\n.*\n +0 B +0 +8\.0 MiB .*\n +#\d+  load_image ")
        self.assertIn("\nStacks by bytes at the peak\n", self.shown("show", "summary", self.trace))
        self.assertIn("\nCall tree by bytes at the peak, ", self.shown("show", "tree", self.trace))
        self.assertIn("\nStacks by bytes not freed\n", self.shown("show", "top", "--sort", "usage", self.trace))

    def test_temporary_allocations_are_told_by_who_made_them(self):
        lines = self.end_of("answers_temporary")
        self.assertEqual(lines[0], "no leaks")
        self.assertRegex(lines[1], r"^  10,000 temporary allocations: #\d+  format answers_temporary\.c:\d+ < main ")
        self.assertIn("\nStacks by temporary allocations\n", self.next_of(lines))
        self.assertRegex(self.shown("show", "tree", self.trace), r"\nCall tree by temporary allocations, .*\n\n +100\.0% +10,000  ")

    def test_a_leak_comes_before_the_peak(self):
        lines = self.end_of("answers_peak", "leak")
        self.assertRegex(lines[0], r"^LEAKED 100,000 bytes in 100 blocks")
        self.assertRegex(lines[1], r"^  100,000 bytes in 100 blocks  #\d+  lose answers_peak\.c:\d+")
        self.assertRegex(lines[2], r"^  8\.0 MiB of the peak: #\d+  load_image ")
        self.assertIn("lose", self.next_of(lines))
        self.assertIn("show leaks", lines[-1])

    def check_trifle(self, options=()):
        lines = self.end_of("answers_trifle", options=options)
        self.assertRegex(lines[0], r"^no definite leaks; 1\.0 MiB still reachable, 1\.0 MiB of them by global table "
                                   r"\(answers_trifle\.c:\d+\); possibly leaked 400 bytes in 4 blocks")
        self.assertRegex(lines[1], r"^  1\.0 MiB in 256 blocks  #\d+  fill_table answers_trifle\.c:\d+")
        self.assertIn("show leaks --globals", lines[-1])
        self.assertRegex(self.next_of(lines), r"\n +1\.0 MiB +256 ")

    def test_a_possible_leak_that_is_small_comes_behind_what_is_reachable(self):
        self.check_trifle()
        report = self.directory / "report.html"
        self.shown("report", "-o", report, self.trace)
        verdict = heaptap_test.document_of(report.read_text())["verdict"]
        leaks = [finding for finding in verdict if finding["kind"] == "leaks"]
        self.assertEqual([finding["severity"] for finding in leaks], ["info"], verdict)
        self.assertEqual([finding["severity"] for finding in verdict if finding["kind"] == "leak"], ["info"], verdict)

    def test_the_same_by_ptrace(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        self.check_trifle(("--via", "ptrace"))

    def test_the_same_of_another_machine(self):
        with far.serving(str(self.directory / "far.sock"), "-q"):
            self.check_trifle(("-H", self.directory / "far.sock"))

    def check_fragmentation(self, options=()):
        """Blocks of 1,000 bytes, each the only one on its pages, in what was 20,000 such blocks."""
        lines = self.end_of("answers_frag", options=options)
        fragmentation = heaptap_test.read_report(heaptap("show", "fragmentation", "--json", self.trace).stdout)
        parts = fragmentation["totals"]["resident_parts"]
        if parts is None:
            self.skipTest("this kernel doesn't tell which pages are resident")
        self.assertRegex(lines[0], r"^2\d\.\d MiB resident: 0\.[67] live, (1[89]|2\d)\.\d free inside the allocator, ")
        self.assertEqual(parts["bytes"], sum(parts[name] for name in parts if name.endswith("_bytes")))
        self.assertGreaterEqual(parts["live_bytes"], 625 * 1000)
        self.assertGreaterEqual(parts["free_bytes"], 19_000 * 1000)
        heap = fragmentation["arenas"][0]
        self.assertEqual((heap["kind"], heap["arena"]), ("heap", None))
        self.assertEqual(heap["resident_bytes"] - heap["live_bytes"], heap["unused_page_bytes"] + fragmentation["kept_bytes"])
        self.assertGreaterEqual(heap["live_blocks"], 625)
        stack = fragmentation["stacks"][0]
        self.assertEqual((stack["live_blocks"], stack["live_bytes"]), (625, 625 * 1000))
        self.assertIn("hold_one", [frame["function"] for frame in stack["frames"]])
        self.assertGreaterEqual(stack["kept_bytes"], 600 * 3000)
        return parts

    def test_fragmentation_is_told_by_what_keeps_memory_resident(self):
        self.check_fragmentation()
        text = self.shown("show", "fragmentation", self.trace)
        self.assertRegex(text, r"\n2\d\.\d MiB resident at the end: 0\.[67] live, ")
        self.assertRegex(text, r"\n  main arena +(19|2\d)\.\d MiB +6\d\d\.\d KiB ")
        self.assertRegex(text, r"\n +[1-9]\.\d MiB +610\.4 KiB +625 +\d+\s+#\d+  hold_one answers_frag\.c:\d+")
        self.assertRegex(self.shown("show", "summary", self.trace), r"(?m)^  resident +2\d\.\d MiB   in RAM after .*: 0\.[67] live, ")

    def test_of_system_libraries_what_is_kept_is_one_line(self):
        self.end_of("leak_shop")
        if "resident at the end" not in (text := self.shown("show", "fragmentation", self.trace)):
            self.skipTest("this kernel doesn't tell which pages are resident")
        self.assertRegex(text, r"\n\(\d[\d.]* (B|KiB) kept resident by .* blocks? of system libraries: .*libstdc\+\+'s emergency pool.*\)\n")
        self.assertRegex(text, r"#\d+  take_order ")
        self.assertNotIn("eh_alloc", text)

    def test_what_keeps_free_memory_resident_is_told_first(self):
        lines = self.end_of("answers_frag")
        if "free inside the allocator" not in lines[0]:
            self.skipTest("this kernel doesn't tell which pages are resident")
        self.assertRegex(lines[1], r"^  1\d\.\d MiB of it in whole pages$")
        self.assertIn("show fragmentation ", lines[-1])
        lines = self.end_of("answers_frag", "close")
        self.assertRegex(lines[1], r"^  1\d\.\d MiB of it kept resident by 5,000 blocks  #\d+  hold_one answers_frag\.c:\d+ < main ")
        self.assertRegex(self.next_of(lines), r"\n +1\d\.\d MiB +4\.8 MiB +5,000 +[\d,]+\s+#\d+  hold_one answers_frag\.c:\d+")
        report = self.directory / "report.html"
        self.shown("report", "-o", report, self.trace)
        document = heaptap_test.document_of(report.read_text())
        (sentence,) = [finding for finding in document["verdict"] if " kept resident " in finding["text"]]
        self.assertRegex(sentence["text"], r"^1\d\.\d MiB of it kept resident by 5,000 blocks allocated in hold_one\(?\)? \(answers_frag\.c:\d+\)\.$")
        self.assertIsNotNone(sentence["stack"])

    def test_fragmentation_by_ptrace(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        self.assertEqual(self.check_fragmentation(("--via", "ptrace"))["heaptap_bytes"], 0)

    def test_fragmentation_of_another_machine(self):
        with far.serving(str(self.directory / "far.sock"), "-q"):
            self.assertGreater(self.check_fragmentation(("-H", self.directory / "far.sock"))["heaptap_bytes"], 0)

    def test_a_leak_for_certain_comes_first_however_small(self):
        lines = self.end_of("answers_trifle", "lost")
        self.assertRegex(lines[0], r"^LEAKED 7 bytes in 1 block; possibly 400 bytes in 4 blocks")
        self.assertRegex(lines[1], r"^  7 bytes in 1 block  #\d+  lose answers_trifle\.c:\d+")
        self.assertRegex(lines[2], r"^  400 bytes in 4 blocks \(possibly\)  #\d+  make_words ")
        self.assertRegex(lines[3], r"^1\.0 MiB still reachable, 1\.0 MiB of them by global table \(answers_trifle\.c:\d+\)$")
        self.assertRegex(lines[4], r"^  1\.0 MiB in 256 blocks  #\d+  fill_table answers_trifle\.c:\d+")
        self.assertIn("show leaks ", lines[-1])

    def test_a_small_possible_leak_passes_the_same_gates_as_before(self):
        for options, status in (((), 0), (("--possible",), 1)):
            self.end_of("answers_trifle")
            outcome = heaptap("check", "--max-leaked", "0", *options, self.trace)
            self.assertEqual(outcome.status, status, outcome)

    def test_a_growing_cache_with_a_static_destructor_is_told_by_who_held_it(self):
        lines = self.end_of("answers_cache")
        self.assertRegex(lines[0], r"^LEAKED 1,000,000 bytes in 1,000 blocks")
        self.assertRegex(lines[1], r"^  1,000,000 bytes in 1,000 blocks  #\d+  .*make_page.* answers_cache\.cc:\d+")
        self.assertRegex(lines[2], r"^    held by global .*g_cache \(answers_cache\.cc:\d+\) until its destructor or an exit handler ran$")
        self.assertIn("held by global ", self.next_of(lines))

    def test_of_several_processes_the_largest_is_told(self):
        lines = self.end_of("answers_child", options=("-f",))
        self.assertRegex(lines[0], r"^largest: answers_child \(pid \d+\), peak 8\.0 MiB .*; no leaks")
        self.assertRegex(lines[1], r"^  8\.0 MiB of the peak: #\d+  load_image answers_child\.c:\d+")
        self.assertRegex(lines[2], r"^all 2 processes: ")
        self.assertIn("  load_image ", self.next_of(lines))

    def script(self, *programs):
        """A script that starts them, one after the other."""
        script = self.directory / "start all.sh"
        script.write_text("\n".join(["#!/bin/sh", *(f"'{TARGETS}'/{program}" for program in programs), "exit 0\n"]))
        script.chmod(0o755)
        return script

    def test_of_a_script_the_programs_that_it_starts_are_recorded_next(self):
        script = self.script("answers_peak leak")
        lines = self.lines_of(heaptap("run", "-o", self.trace, "--", script, "an argument"))
        self.assertRegex(lines[0], r"^no leaks in what was recorded")
        self.assertEqual(lines[-1], f"next:  heaptap run -f '{script}' 'an argument'")
        lines = self.lines_of(heaptap(*shlex.split(lines[-1])[2:], cwd=self.directory))
        self.assertRegex(lines[0], r"^answers_peak \(pid \d+\): LEAKED 100,000 bytes in 100 blocks$")
        self.assertRegex(lines[1], r"^  100,000 bytes in 100 blocks  #\d+  lose answers_peak\.c:\d+")
        self.assertRegex(lines[2], r"^  8\.0 MiB of the peak: #\d+  load_image ")
        self.assertRegex(lines[3], r"^all 2 processes: .*, leaked 100,000 bytes in 100 blocks$")
        self.assertIn("definitely lost at lose answers_peak.c:", self.next_of(lines))

    def test_of_several_that_leak_all_are_shown_next(self):
        lines = self.lines_of(heaptap("run", "-f", "-o", self.trace, "--", self.script("answers_trifle lost", "answers_peak leak")))
        self.assertRegex(lines[0], r"^answers_peak \(pid \d+\): LEAKED 100,000 bytes in 100 blocks$")
        shown = self.next_of(lines)
        self.assertRegex(shown, r"(?s)97\.7 KiB in 100 blocks definitely lost at lose answers_peak\.c:.*7 B in 1 block definitely lost")


class OfACrash(heaptap_test.TestCase):
    """The stack of a program that a signal ends with a core dump."""

    def crash(self, way, number, *options):
        """What the end of a run says of the crash, and the functions of its stack; of a program without one None and []."""
        outcome = heaptap("run", *options, "-o", self.trace, "--force", "--", TARGETS / "answers_crash", way)
        self.assertEqual(outcome.status, 128 + number, outcome)
        return self.crash_in(outcome.stderr.decode())

    def crash_in(self, text):
        lines = [line.removeprefix("heaptap: ") for line in text.splitlines()]
        title = next(number for number, line in enumerate(lines) if " killed by SIG" in line)
        line = lines[title + 1] if lines[title + 1].startswith("killed by ") else None
        summary = heaptap_test.read_report(heaptap("show", "summary", "--json", self.trace).stdout)
        crash = summary.get("crash")
        self.assertEqual(crash is None, line is None, text)
        if crash is None:
            return None, []
        self.assertEqual(crash["signal"], summary["target"]["exit"]["signal"])
        self.thread = crash["thread"]
        return line, [frame["function"] for frame in crash["frames"]]

    def check_fault(self, *options):
        line, functions = self.crash("fault", signal.SIGSEGV, *options)
        self.assertRegex(line, r"^killed by SIGSEGV in parse answers_crash\.cc:\d+ < load answers_crash\.cc:\d+ < main answers_crash\.cc:\d+$")
        self.assertEqual(functions[:3], ["parse()", "load()", "main"])

    def check_ways(self, *options):
        """Ways to crash, besides a bad pointer: where each is said to be, and what its stack has."""
        ways = (("abort", signal.SIGABRT, r"SIGABRT in fail answers_crash\.cc:\d+ < main ", ("abort", "fail()", "main")),
                ("throw", signal.SIGABRT, r"SIGABRT in refuse answers_crash\.cc:\d+ < main ", ("abort", "refuse()", "main")),
                ("library", signal.SIGSEGV, r"SIGSEGV in measure answers_crash\.cc:\d+ < main ", ("measure()", "main")),
                ("call", signal.SIGSEGV, r"SIGSEGV in 0x0 < call answers_crash\.cc:\d+ < main ", ("call()", "main")),
                ("handler", signal.SIGSEGV, r"SIGSEGV in parse answers_crash\.cc:\d+ < load ", ("parse()", "load()", "main")),
                ("other_stack", signal.SIGABRT, r"SIGABRT in give_up answers_crash\.cc:\d+ < parse answers_crash\.cc:\d+ < load ",
                 ("give_up", "<signal handler called>", "parse()", "load()", "main")),
                ("thread", signal.SIGSEGV, r"SIGSEGV in parse answers_crash\.cc:\d+ < load answers_crash\.cc:\d+ < work ",
                 ("parse()", "load()", "work(void*)")))
        for way, number, expected, expected_functions in ways:
            with self.subTest(way):
                line, functions = self.crash(way, number, *options)
                self.assertRegex(line or "", "^killed by " + expected)
                rest = iter(functions)
                self.assertTrue(all(each in rest for each in expected_functions), functions)
                self.assertNotIn("on_fatal", " ".join(function or "" for function in functions), "the agent's own")
                self.assertEqual(self.thread == 1, way != "thread")

    def test_a_crash_is_told_with_its_stack(self):
        self.check_fault()
        text = heaptap("show", "summary", self.trace).stdout.decode()
        self.assertRegex(text, r"\nCrash: killed by SIGSEGV in thread 1\n\n +parse\(\)  answers_crash\.cc:\d+\n +load\(\)  .*\n +main  ")
        report = self.directory / "report.html"
        heaptap("report", "-o", report, self.trace)
        verdict = heaptap_test.document_of(report.read_text())["verdict"]
        endings = [finding["text"] for finding in verdict if finding["kind"] == "ending"]
        self.assertRegex(endings[0], r"killed by SIGSEGV in parse answers_crash\.cc:\d+ < load ")
        self.check_ways()

    def test_a_crash_by_ptrace(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        self.check_fault("--via", "ptrace")
        self.check_ways("--via", "ptrace")

    def test_a_crash_of_another_machine(self):
        with far.serving(str(self.directory / "far.sock"), "-q"):
            self.check_fault("-H", self.directory / "far.sock")
            self.check_ways("-H", self.directory / "far.sock")

    def test_a_crash_of_an_attached_program(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        program = subprocess.Popen([TARGETS / "answers_crash", "fault", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   cwd=self.directory)
        self.addCleanup(heaptap_test.end, program)
        self.assertEqual(program.stdout.readline(), "ready\n")
        attached = subprocess.Popen([HEAPTAP, "attach", "-o", self.trace, str(program.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True, cwd=self.directory)
        self.addCleanup(heaptap_test.end, attached)
        self.assertIn("recording process", attached.stderr.readline())
        program.communicate("\n")
        self.assertEqual(program.returncode, -signal.SIGSEGV)
        line, functions = self.crash_in(finished(attached)[1])
        self.assertRegex(line, r"^killed by SIGSEGV in parse answers_crash\.cc:\d+ < load ")
        self.assertEqual(functions[:3], ["parse()", "load()", "main"])

    def test_a_signal_without_a_core_dump_is_no_crash(self):
        self.assertEqual(self.crash("killed", signal.SIGTERM), (None, []))

    def test_a_stack_that_overflowed_is_told_where_it_was_seen(self):
        self.assertEqual(self.crash("overflow", signal.SIGSEGV), (None, []), "the agent's handler has no stack to run on")
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        line, functions = self.crash("overflow", signal.SIGSEGV, "--via", "ptrace")
        self.assertRegex(line, r"^killed by SIGSEGV in dig answers_crash\.cc:\d+$")
        self.assertGreater(functions.count("dig(int)"), 200)


class OfThreads(heaptap_test.TestCase):
    """Threads that ended and weren't joined."""

    def check(self, *options):
        for way, is_told in (("left", True), ("joined", False), ("detached", False)):
            outcome = heaptap("run", *options, "-o", self.trace, "--force", "--", TARGETS / "answers_unjoined", way)
            self.assertEqual(outcome.status, 0, outcome)
            expected = r"! 5 threads ended and were not joined \(pthread_join or pthread_detach\): their stacks keep (4\.9|5\.0) MiB mapped"
            text = heaptap("show", "summary", self.trace).stdout.decode()
            summary = heaptap_test.read_report(heaptap("show", "summary", "--json", self.trace).stdout)
            notes = [note for note in summary["notes"] if note["kind"] == "threads_not_joined"]
            if not is_told:
                self.assertNotIn("not joined", outcome.stderr.decode() + text)
                self.assertEqual(notes, [])
                continue
            self.assertRegex(outcome.stderr.decode(), expected)
            self.assertRegex(text, "(?m)^" + expected)
            self.assertEqual([note["count"] for note in notes], [5])
            self.assertLessEqual(notes[0]["numbers"][-1], notes[0]["numbers"][1])

    def test_threads_that_nobody_joined_are_told(self):
        self.check()

    def test_the_same_by_ptrace(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        self.check("--via", "ptrace")


class OfAService(heaptap_test.TestCase):
    """A service that is asked, by a word each, to hold a block in a global variable, or to lose one."""

    def start(self, *recorder):
        service = subprocess.Popen([*map(str, recorder), str(TARGETS / "loses_on_demand")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, cwd=self.directory)
        self.addCleanup(service.communicate)
        self.assertEqual(service.stdout.readline(), "ready\n")
        self.ask(service, "drop")  # it has its buffers
        return service

    def ask(self, service, *words):
        for word in words:
            service.stdin.write(word + "\n")
            service.stdin.flush()
            self.assertEqual(service.stdout.readline(), word + "\n")

    def end_of_attach(self, *words, options=()):
        """The lines at the end of an attach in which the service was asked for this."""
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        service = self.start()
        attached = subprocess.Popen([HEAPTAP, "attach", *map(str, options), "-o", self.trace, str(service.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True, cwd=self.directory)
        self.addCleanup(heaptap_test.end, attached)
        self.assertRegex(attached.stderr.readline(), rf"^heaptap: recording process {service.pid} \(.*loses_on_demand\)")
        self.ask(service, *words)
        attached.send_signal(signal.SIGINT)
        out, err = finished(attached)
        self.assertEqual((attached.returncode, out), (0, ""), err)
        lines = [line.removeprefix("heaptap: ") for line in err.splitlines()]
        self.assertRegex(lines[0], r"loses_on_demand \(pid \d+\) detached, still running after ")
        return lines[1:]

    def next_of(self, lines):
        self.assertTrue(lines[-1].startswith("next:  heaptap "), lines)
        return self.shown(*shlex.split(lines[-1].removeprefix("next:  heaptap ")))

    def shown(self, *words):
        outcome = heaptap(*words, cwd=self.directory)
        self.assertEqual(outcome.status, 0, outcome)
        return outcome.stdout.decode()

    def test_what_leaks_during_an_attach_is_told(self):
        lines = self.end_of_attach("hold", "lose", "lose")
        self.assertRegex(lines[0], r"^LEAKED 200 bytes in 2 blocks")
        self.assertRegex(lines[1], r"^  200 bytes in 2 blocks  #\d+  make loses_on_demand\.c:\d+ < obey ")
        self.assertRegex(self.next_of(lines), r"200 B in 2 blocks definitely lost at make loses_on_demand\.c:\d+")

    def test_the_same_on_another_machine(self):
        with far.serving(str(self.directory / "far.sock"), "-q"):
            lines = self.end_of_attach("hold", "lose", options=("-H", self.directory / "far.sock"))
        self.assertRegex(lines[0], r"^LEAKED 100 bytes in 1 block")
        self.assertRegex(lines[1], r"^  100 bytes in 1 block  #\d+  make loses_on_demand\.c:\d+ < obey ")
        self.assertIn("global held", self.shown("show", "leaks", "--globals", self.trace))

    def test_who_holds_what_was_allocated_during_an_attach_is_told(self):
        lines = self.end_of_attach("hold")
        self.assertRegex(lines[0], r"^no leaks in what was recorded; 100 B still reachable, 100 B of them by global held "
                                   r"\(loses_on_demand\.c:\d+\)")
        self.assertIn("global held", self.next_of(lines))

    def test_an_attach_that_saw_nothing_knows_nothing(self):
        lines = self.end_of_attach()
        self.assertEqual(lines[0], "UNKNOWN: no allocation was seen while it was recorded")
        self.assertNotIn("no leaks", self.next_of(lines))
        outcome = heaptap("check", "--max-leaked", "0", self.trace)
        self.assertEqual(outcome.status, 3, outcome)

    def check_live(self, service, pid):
        self.ask(service, "hold", "lose")
        leaks = heaptap("leaks", pid, cwd=self.directory)
        self.assertRegex(leaks.stdout.decode(), r"100 B in 1 block definitely lost at make loses_on_demand\.c:\d+")
        held = heaptap("leaks", "--globals", pid, cwd=self.directory)
        self.assertRegex(held.stdout.decode(), r"(?m)^ +100 B .* global held \(loses_on_demand\.c:\d+\)$")

    def check_run(self, *options):
        recorder = self.start(HEAPTAP, "run", "-q", "-o", self.trace, *options, "--")
        (pid,) = [pid for pid in heaptap_test.descendants(recorder.pid) if heaptap_test.executable(pid) == str(TARGETS / "loses_on_demand")]
        self.check_live(recorder, pid)

    def test_a_scan_while_it_runs(self):
        self.check_run()

    def test_a_scan_while_it_runs_by_ptrace(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        self.check_run("--via", "ptrace")


if __name__ == "__main__":
    unittest.main()
