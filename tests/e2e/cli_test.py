"""The command line: bad input of all kinds is a clear refusal, exit statuses are as documented, and heaptap writes only
where it said it would."""
import os
import pathlib
import random
import re
import shutil
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
import terminal
from heaptap_test import built, heaptap, summary


class Refusals(heaptap_test.TestCase):
    """What can't be run."""

    def refused(self, outcome, status, *words):
        self.assert_no_crash(outcome, allowed=[status] if isinstance(status, int) else status)
        self.assertEqual(outcome.stdout, b"", "nothing on stdout")
        for word in words:
            self.assertIn(word.lower(), outcome.stderr.decode(errors="replace").lower(), f"the message names the cause\n{outcome}")
        self.assertLessEqual(outcome.stderr.count(b"\n"), 12, str(outcome))

    def test_missing_program(self):
        self.refused(heaptap("run", "--", "/no/such/program", cwd=self.directory), 127, "/no/such/program")
        self.assertEqual(os.listdir(self.directory), [], "no trace is left behind")

    def test_program_missing_in_path(self):
        self.refused(heaptap("run", "--", "there-is-no-such-program", cwd=self.directory), 127, "there-is-no-such-program")

    def test_directory(self):
        self.refused(heaptap("run", "--", self.directory, cwd=self.directory), 126, str(self.directory))

    def test_file_without_permission(self):
        file = self.directory / "program"
        shutil.copy(built("one_leak"), file)
        file.chmod(0o644)
        self.refused(heaptap("run", "--", file, cwd=self.directory), 126, "program")

    def test_text_without_interpreter_line(self):
        file = self.directory / "script"
        file.write_text("echo from the script\nexit 4\n")
        file.chmod(0o755)
        outcome = heaptap("run", "--", file, cwd=self.directory)
        if outcome.status == 4:  # run by the shell, as execvp does
            self.assertEqual(outcome.stdout, b"from the script\n")
        else:
            self.refused(outcome, 126, "script")

    def test_missing_interpreter(self):
        file = self.directory / "script"
        file.write_text("#!/no/such/interpreter\n")
        file.chmod(0o755)
        self.refused(heaptap("run", "--", file, cwd=self.directory), (126, 127), "script")

    def test_garbage(self):
        file = self.directory / "garbage"
        file.write_bytes(b"\x7fELF" + bytes(range(256)) * 4)
        file.chmod(0o755)
        self.refused(heaptap("run", "--", file, cwd=self.directory), 126, "garbage")

    def test_static_program(self):
        outcome = heaptap("run", "-o", self.trace, "--", built("static_program"), cwd=self.directory)
        if outcome.status == 3:
            self.assertEqual(outcome.stdout, b"static\n")
            self.assertIn(b"static", outcome.stderr)
        else:
            self.refused(outcome, (125, 126), "static")

    def test_program_of_another_word_size(self):
        outcome = heaptap("run", "-o", self.trace, "--", built("program32"), cwd=self.directory)
        if outcome.status == 3:
            self.assertEqual(outcome.stdout, b"32 bits\n")
            self.assertRegex(outcome.stderr, rb"32|i386|i686")
        else:
            self.refused(outcome, (125, 126), "32")

    def test_setuid_program(self):
        if os.getuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        self.directory.chmod(0o777)
        program = self.directory / "privileged"
        shutil.copy(built("one_leak"), program)
        program.chmod(0o4755)
        tool = self.directory / "tool"  # a user can read this, whatever the build directory allows
        tool.mkdir()
        for file in pathlib.Path(heaptap_test.HEAPTAP).parent.iterdir():
            if file.is_file() and file.name.startswith(("heaptap", "libheaptap")):
                shutil.copy(file, tool / file.name)
        tool.chmod(0o755)
        outcome = heaptap_test.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", tool / "heaptap", "run", "-o",
                                    self.trace, "--", program], cwd=self.directory)
        self.assertIn(outcome.status, (3, 125, 126), str(outcome))
        self.assertRegex(outcome.stderr, rb"(?i)set-?user|setuid|set-?uid|privilege", "the note says why nothing is seen")

    def test_own_malloc(self):
        outcome = heaptap("run", "-o", self.trace, "--", built("own_malloc"), cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (0, heaptap_test.run([built("own_malloc")]).stdout), str(outcome))
        self.assertRegex(outcome.stderr, rb"(?i)own malloc|own allocator|defines|malloc.*(itself|executable|program)",
                         f"it says that the program's own malloc was not seen\n{outcome}")

    def test_nobody_at_an_address(self):
        environment = {**os.environ, "HEAPTAP_TEST_INTERVALS": "reach=100ms"}
        nobody = self.directory / "nobody.sock"
        for words in (("run", "-H", nobody, "--", "/bin/true"), ("attach", "-H", nobody, "1")):
            outcome = heaptap(*words, cwd=self.directory, env=environment)
            self.refused(outcome, 125, f"can't connect to {nobody}: No such file")
            self.assertEqual(outcome.stderr.count(b"can't connect"), 1, "it is said once")

    def test_output_in_no_directory(self):
        outcome = heaptap("run", "-o", self.directory / "none" / "trace.htap", "--", built("one_leak"))
        self.refused(outcome, 125, "none/trace.htap")

    def test_output_where_none_can_be(self):
        self.refused(heaptap("run", "-o", "/proc/trace.htap", "--", built("one_leak")), 125, "/proc/trace.htap")

    def test_output_is_a_directory(self):
        self.refused(heaptap("run", "-o", self.directory, "--", built("one_leak")), 125, str(self.directory))

    def test_existing_output(self):
        self.trace.write_text("precious")
        self.refused(heaptap("run", "-o", self.trace, "--", built("one_leak")), 125, str(self.trace), "--force")
        self.assertEqual(self.trace.read_text(), "precious")
        self.assertEqual(heaptap("run", "--force", "-o", self.trace, "--", built("one_leak")).status, 3)
        self.assertEqual(summary(self.trace)["target"]["exit"]["code"], 3)

    def test_usage(self):
        for arguments in ([], ["run"], ["run", "--"], ["run", "--no-such-option", "true"], ["run", "-o"], ["show"],
                          ["show", "no-such-view", "x"], ["run", "--depth", "many", "true"], ["run", "--depth", "-4", "true"],
                          ["show", "summary"], ["--no-such-option"]):
            with self.subTest(arguments):
                outcome = heaptap(*arguments, cwd=self.directory)
                if arguments == [] and outcome.status == 0:
                    continue  # help
                self.assert_no_crash(outcome, allowed=[2])
                self.assertNotEqual(outcome.stderr, b"", "says what is wrong")
                self.assertEqual(os.listdir(self.directory), [])

    def test_a_command_that_is_misspelt(self):
        for words, meant in ((["hlep"], "help"), (["lekas", "1"], "leaks"), (["help", "shwo"], "show")):
            with self.subTest(words):
                self.refused(heaptap(*words, cwd=self.directory), 2, f"did you mean {meant}?")
        self.assertEqual(heaptap("frobnicate", cwd=self.directory).status, 127)

    def test_a_command_of_the_target_that_is_misspelt(self):
        target = pathlib.Path(heaptap_test.HEAPTAP).parent / "heaptap-target"
        self.refused(heaptap_test.run([target, "sevre"]), 2, "did you mean serve?")
        self.refused(heaptap_test.run([target, "serve", "--kesy", "x"]), 2, "did you mean --keys?")

    def test_help_and_version(self):
        for arguments in (["--help"], ["--version"], ["run", "--help"], ["show", "--help"]):
            with self.subTest(arguments):
                outcome = heaptap(*arguments)
                self.assertEqual(outcome.status, 0, str(outcome))
                self.assertNotEqual(outcome.stdout, b"")


class BadTraces(heaptap_test.TestCase):
    """Files that are no trace, or not a whole one."""

    def show(self, path, *more):
        outcome = heaptap("show", "summary", "--json", *more, path, timeout_s=heaptap_test.TIMEOUT_S)
        self.assert_no_crash(outcome)
        if outcome.status == 125:
            self.assertIn(os.path.basename(path), outcome.stderr.decode(errors="replace"), f"the message names the file\n{outcome}")
            self.assertEqual(outcome.stdout, b"")
        return outcome

    def made(self):
        """A trace with many stacks and events, and its bytes."""
        outcome = heaptap("run", "-q", "-o", self.trace, "--", built("noise"), "20000")
        self.assertEqual(outcome.status, 0, str(outcome))
        return self.trace.read_bytes()

    def test_missing_file(self):
        self.assertEqual(self.show(self.directory / "none.htap").status, 125)

    def test_directory(self):
        self.assertEqual(self.show(self.directory).status, 125)

    def test_no_trace(self):
        for name, content in (("empty", b""), ("one", b"x"), ("text", b"not a trace\n" * 1000), ("zeros", bytes(100000)),
                              ("program", built("one_leak").read_bytes())):
            with self.subTest(name):
                path = self.directory / name
                path.write_bytes(content)
                self.assertEqual(self.show(path).status, 125)

    def test_cut_off(self):
        content = self.made()
        whole = summary(self.trace)
        generator = random.Random(1)
        offsets = {1, 7, 8, 16, 63, 64, len(content) - 1, len(content) - 8, *(generator.randrange(len(content)) for _ in range(42))}
        damaged, readable = self.directory / "cut.htap", 0
        for offset in sorted(offsets):
            with self.subTest(offset=offset):
                damaged.write_bytes(content[:offset])
                outcome = self.show(damaged)
                if outcome.status == 0:
                    readable += 1
                    report = self.json(outcome)
                    if not report["capture"]["truncated"]:
                        self.assertEqual(report, whole, "the report says that the file is cut off, or nothing is missing")
                    self.assertLessEqual(report["totals"]["allocations"], whole["totals"]["allocations"])
        self.assertGreater(readable, len(offsets) // 2, "a trace is read up to where it ends")

    def test_flipped_bytes(self):
        content = self.made()
        whole = heaptap("show", "summary", "--json", self.trace).stdout
        generator = random.Random(2)
        damaged = self.directory / "trace-flipped.htap"
        for offset in sorted(generator.randrange(len(content)) for _ in range(200)):
            with self.subTest(offset=offset):
                changed = bytearray(content)
                changed[offset] ^= generator.randrange(1, 256)
                damaged.write_bytes(changed)
                outcome = self.show(damaged)
                if outcome.status == 0 and not self.json(outcome)["capture"]["truncated"]:
                    self.assertEqual(outcome.stdout, whole, "the damage is found, or has no effect")

    def test_garbage_behind(self):
        content = self.made()
        allocations = summary(self.trace)["totals"]["allocations"]
        damaged = self.directory / "long.htap"
        damaged.write_bytes(content + b"garbage" * 100)
        outcome = self.show(damaged)
        if outcome.status == 0:
            self.assertEqual(self.json(outcome)["totals"]["allocations"], allocations)

    def test_newer_version(self):
        content = bytearray(self.made())
        damaged = self.directory / "newer.htap"
        refused = 0
        for offset in range(4, 16):  # the version stands behind the magic number
            changed = bytearray(content)
            changed[offset] = 250
            damaged.write_bytes(changed)
            outcome = self.show(damaged)
            refused += outcome.status == 125 and b"newer" in outcome.stderr
        self.assertGreater(refused, 0, "one of the bytes is the version, and the message says that a newer heaptap wrote it")

    def json(self, outcome):
        return heaptap_test.read_report(outcome.stdout)


class Output(heaptap_test.TestCase):
    """Names of files, and what is printed."""

    def only_trace(self, pattern):
        found = [name for name in os.listdir(self.directory) if re.fullmatch(pattern, name)]
        self.assertEqual(len(found), 1, f"{pattern} in {os.listdir(self.directory)}")
        return found[0]

    def test_default_name_and_link(self):
        self.assertEqual(heaptap("run", "--", built("one_leak"), cwd=self.directory).status, 3)
        name = self.only_trace(r"heaptap\.one_leak\.\d+\.htap")
        pid = summary(self.directory / name)["target"]["pid"]
        self.assertEqual(name, f"heaptap.one_leak.{pid}.htap")
        latest = self.directory / "heaptap.latest.htap"
        self.assertTrue(latest.is_symlink())
        self.assertEqual(os.path.basename(os.readlink(latest)), name)
        self.assertEqual(heaptap("run", "--", built("peak"), cwd=self.directory).status, 0)
        self.assertIn("heaptap.peak.", os.readlink(latest), "the link goes to the newest")

    def test_latest_that_is_no_link_is_left_alone(self):
        latest = self.directory / "heaptap.latest.htap"
        latest.write_text("precious")
        self.assertEqual(heaptap("run", "--", built("one_leak"), cwd=self.directory).status, 3)
        self.assertEqual(latest.read_text(), "precious")

    def test_placeholders(self):
        self.assertEqual(heaptap("run", "-o", self.directory / "a.%h.%p.htap", "--", built("one_leak")).status, 3)
        name = self.only_trace(r"a\..*\.\d+\.htap")
        self.assertEqual(name, f"a.{socket.gethostname()}.{summary(self.directory / name)['target']['pid']}.htap")

    def test_bare_form(self):
        outcome = heaptap(built("one_leak"), cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (3, b"output\n"), str(outcome))
        self.only_trace(r"heaptap\.one_leak\.\d+\.htap")

    def test_search_in_path(self):
        env = {**os.environ, "PATH": f"{heaptap_test.TARGETS}:{os.environ['PATH']}"}
        outcome = heaptap("run", "-q", "-o", self.trace, "one_leak", cwd=self.directory, env=env)
        self.assertEqual((outcome.status, outcome.stdout), (3, b"output\n"), str(outcome))

    def test_words_on_stderr(self):
        outcome = heaptap("run", "-o", self.trace, "--", built("one_leak"), cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (3, b"output\n"))
        lines = outcome.stderr.decode().splitlines()
        self.assertTrue(1 <= len(lines) <= 12, str(outcome))
        self.assertIn("trace.htap", outcome.stderr.decode(), "the next command to type")
        self.assertNotIn("\x1b", outcome.stderr.decode(), "no colours where there is no terminal")

    def test_compressed_exports_spare_a_terminal(self):
        self.assertEqual(heaptap("run", "-q", "-o", self.trace, "--", built("one_leak")).status, 3)
        for name in ("pprof", "heaptrack"):
            text, errors, status = terminal.on_terminal("export", "--to", name, self.trace)
            self.assertEqual((text, status), ("", 2))
            self.assertIn(f"{name} is compressed", errors)
            self.assertEqual(heaptap("export", "--to", name, self.trace).stdout[:2], b"\x1f\x8b")
        self.assertIn("main", terminal.on_terminal("export", "--to", "folded", self.trace)[0])

    def test_why_tells_stacks_that_hold_nothing_from_those_that_are_none(self):
        self.assertEqual(heaptap("run", "-q", "-o", self.trace, "--", built("peak")).status, 0)
        freed = [stack["id"] for stack in heaptap_test.read_report(heaptap("show", "summary", "-n", "0", "--json", self.trace).stdout)["stacks"] if stack["live_blocks"] == 0]
        for stack, why in ((freed[0], "no block of this stack was live"), (9999, " stacks that allocate: #1 and on")):
            outcome = heaptap("show", "leaks", "--why", stack, self.trace)
            self.assertEqual(outcome.status, 2, str(outcome))
            self.assertIn(why, outcome.stderr.decode())

    def test_quiet(self):
        outcome = heaptap("run", "-q", "-o", self.trace, "--", built("one_leak"), cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (3, b"output\n", b""))

    def test_same_trace_same_bytes(self):
        heaptap("run", "-q", "-o", self.trace, "--", built("noise"), "5000")
        for arguments in (["show", "summary", "--json"], ["show", "summary"]):
            first, second = (heaptap(*arguments, self.trace) for _ in range(2))
            self.assertEqual(first.status, 0, str(first))
            self.assertEqual(first.stdout, second.stdout)

    def test_report_at_the_end_is_the_one_made_later(self):
        for program in ("one_leak", "leak_realloc", "realloc_across_threads", "leak_mixed_threads", "mismatched"):
            trace = self.directory / f"{program}.htap"
            at_end = heaptap("run", "--json", "--sanity", "-o", trace, "--", built(program))
            later = heaptap("show", "summary", "--json", trace)
            self.assertEqual(at_end.stderr, later.stdout, program)

    def test_text_and_json_agree(self):
        heaptap("run", "-q", "-o", self.trace, "--", built("one_leak"))
        text = heaptap("show", "summary", self.trace)
        self.assertEqual(text.status, 0, str(text))
        self.assertIn(b"one_leak.c:", text.stdout, "file and line of the leak")
        digits = re.sub(r"[,_' ]", "", text.stdout.decode())
        self.assertIn(str(summary(self.trace)["totals"]["allocations"]), digits)

    def test_a_filter_that_matches_nothing_says_so(self):
        heaptap("run", "-q", "-o", self.trace, "--", built("one_leak"))
        for view in ("summary", "leaks", "top", "sizes"):
            for option, value in (("--function", "no_such_name"), ("--module", "no_such_name"), ("--thread", "77")):
                outcome = heaptap("show", view, option, value, self.trace)
                self.assertEqual(outcome.status, 0, str(outcome))
                self.assertIn(b"nothing in this trace matches", outcome.stdout, f"{view} {option}")
        self.assertNotIn(b"nothing in this trace matches", heaptap("show", "top", "--function", "lose", self.trace).stdout)

    def test_reader_that_goes_away(self):
        heaptap("run", "-q", "-o", self.trace, "--", built("noise"), "5000")
        outcome = heaptap_test.run(["sh", "-c", '"$0" show summary --json "$1" | head -c 10', heaptap_test.HEAPTAP, self.trace])
        self.assertEqual((outcome.status, len(outcome.stdout)), (0, 10))
        self.assert_no_crash(outcome)

    def test_full_device(self):
        heaptap("run", "-q", "-o", self.trace, "--", built("one_leak"))
        outcome = heaptap_test.run(["sh", "-c", '"$0" show summary --json "$1" >/dev/full', heaptap_test.HEAPTAP, self.trace])
        self.assert_no_crash(outcome, allowed=[125])
        self.assertNotEqual(outcome.stderr, b"")

    def test_stderr_closed(self):
        outcome = heaptap_test.run(["sh", "-c", '"$0" run -o "$1" -- "$2" 2>&-', heaptap_test.HEAPTAP, self.trace, built("one_leak")])
        self.assertEqual((outcome.status, outcome.stdout), (3, b"output\n"), str(outcome))
        self.assertEqual(summary(self.trace)["target"]["exit"]["code"], 3)

    def test_all_standard_descriptors_closed(self):
        outcome = heaptap_test.run(["sh", "-c", '"$0" run -o "$1" -- "$2" <&- >&- 2>&-', heaptap_test.HEAPTAP, self.trace,
                                    built("limit_file_size")])
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(summary(self.trace)["capture"]["lost_events"], 0)


class Options(heaptap_test.TestCase):
    def traced(self, *arguments, status=0, **options):
        outcome = heaptap("run", "-q", "-o", self.trace, *arguments, **options)
        self.assertEqual(outcome.status, status, str(outcome))
        return summary(self.trace)

    def test_depth(self):
        report = self.traced("--depth", "3", "--", built("one_leak"), status=3)
        self.assertLessEqual(max(sum(not frame["inlined"] for frame in stack["frames"]) for stack in report["stacks"]), 3)
        self.assertEqual(expectations.check("stack path=lose<descend<descend allocations=10 stacks=1", report), [])

    def test_depth_unlimited(self):
        report = self.traced("--", built("one_leak"), status=3)
        path = "<".join(["lose", *["descend"] * 21, "main"])
        self.assertEqual(expectations.check(f"stack path={path} allocations=10 stacks=1", report), [])

    def test_environment_option(self):
        outcome = heaptap("run", "-q", "-o", self.trace, "-E", "COLOUR=blue", "--", built("environment"), "environment",
                          env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(sorted(outcome.stdout.splitlines()), [b"COLOUR=blue", b"PATH=/usr/bin:/bin"], str(outcome))

    def test_empty_environment(self):
        outcome = heaptap("run", "-q", "-o", self.trace, "--", built("environment"), "environment", env={})
        self.assertEqual((outcome.status, outcome.stdout), (0, b""), str(outcome))

    def test_the_programs_own_options_are_its_own(self):
        arguments = ["arguments", "-o", "x", "-q", "--force", "--", "--help"]
        bare = heaptap_test.run([built("environment"), *arguments])
        for between in (["--"], []):
            outcome = heaptap("run", "-q", "--force", "-o", self.trace, *between, built("environment"), *arguments)
            self.assertEqual(outcome.stdout, bare.stdout, str(outcome))

    def test_no_cpp(self):
        report = self.traced("--no-cpp", "--", built("operator_new"))
        self.assertEqual(expectations.check('stack function="operator new" allocations=0', report), [])
        self.assertEqual(expectations.check("stack function=malloc through=plain allocations=2 frees=1 allocated_bytes=30", report), [])

    def test_follow_fork(self):
        outcome = heaptap("run", "-q", "--follow-fork", "--", built("fork_followed"), cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        traces = sorted(self.directory.glob("heaptap.fork_followed.*.htap"))
        reports = [summary(trace) for trace in traces]
        children = [report for report in reports if not expectations.check("stack caller=in_child allocations=1000 frees=1000", report)]
        self.assertEqual((len(reports), len(children)), (4, 3), f"one trace a process: {traces}")
        ends = [report["target"]["exit"] for report in children]  # null where only the parent is told
        self.assertLessEqual({end["code"] for end in ends if end}, {0, 1, 2})

    def test_agent_without_heaptap(self):
        """The agent in a program that no heaptap started does nothing."""
        agent = pathlib.Path(heaptap_test.HEAPTAP).parent / "libheaptap_agent.so"
        for env in ({"LD_PRELOAD": str(agent)}, {"LD_PRELOAD": str(agent), "HEAPTAP_SESSION": "there-is-none"}):
            outcome = heaptap_test.run([built("sleeper")], stdin=b"x\n", env=env)
            self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (9, b"ready 1\nline\nend\n", b""))


if __name__ == "__main__":
    unittest.main()
