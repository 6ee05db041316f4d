"""Configuration files and HEAPTAP_OPTIONS; and stacks that are ignored: in the totals, and in no view, report or export."""
import json
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import built, heaptap

VIEWS = ("summary", "leaks", "top", "tree", "stats", "sizes", "lifetimes", "timeline", "blocks")
FORMATS = ("folded", "csv", "pprof", "callgrind", "speedscope", "firefox", "dhat", "massif", "heaptrack", "lsan", "sarif", "junit", "memcheck-xml", "github")
IGNORED = re.compile(r"^(\d+) stacks with .* in (\d+) blocks not freed are ignored \((.*)\)$", re.MULTILINE)


class Config(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.home = self.directory / "home"
        self.work = self.directory / "work"
        (self.home / ".config/heaptap").mkdir(parents=True)
        self.work.mkdir()
        self.trace = self.work / "t.htap"
        self.environment = {key: value for key, value in os.environ.items() if key not in ("XDG_CONFIG_HOME", "HEAPTAP_OPTIONS")}
        self.environment["HOME"] = str(self.home)
        outcome = self.heaptap("run", "-q", "-o", self.trace, "--", built("leak_shop"))
        self.assertEqual(outcome.status, 0, outcome)

    def heaptap(self, *arguments, **more):
        return heaptap(*arguments, cwd=self.work, env={**self.environment, **more})

    def text(self, *arguments, **more):
        outcome = self.heaptap(*arguments, **more)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
        return outcome.stdout.decode()

    def write(self, text, path=".heaptap"):
        path = self.work / path
        path.write_text(text)
        path.chmod(0o644)
        return path

    def json(self, view, *arguments):
        return json.loads(self.text("show", view, "--json", self.trace, *arguments))


class Files(Config):
    def test_the_first_that_is_there_counts(self):
        everything = self.text("show", "top", self.trace)
        user = self.write("skip ^take_order\n", self.home / ".config/heaptap/config")
        self.assertNotEqual(self.text("show", "top", self.trace), everything)
        self.write("# nothing\n")
        self.assertEqual(self.text("show", "top", self.trace), everything)
        self.assertNotEqual(self.text("show", "top", self.trace, "--config", user), everything)
        os.unlink(self.work / ".heaptap")
        self.assertEqual(self.text("show", "top", self.trace, "--no-config"), everything)
        other = self.directory / "xdg/heaptap"
        other.mkdir(parents=True)
        self.write("# nothing\n", other / "config")
        self.assertEqual(self.text("show", "top", self.trace, XDG_CONFIG_HOME=str(other.parent)), everything)

    def test_the_environment_beats_the_file_and_the_command_line_both(self):
        self.write("count 1\n")
        rows = lambda *arguments, **more: self.text("show", "blocks", self.trace, *arguments, **more).count("0x")
        self.assertEqual(rows(), 1)
        self.assertEqual(rows(HEAPTAP_OPTIONS="-n 2"), 2)
        self.assertEqual(rows("-n3", HEAPTAP_OPTIONS="-n 2"), 3)

    def test_what_is_wrong_is_told_with_its_line(self):
        for line, reason in (("ignore f(", "--ignore: 'f(' is not a regular expression: missing )"), ("dpeth 3", "--dpeth is not an option of any command"),
                             ("depth x", "--depth: 'x' is not a number"), ("!", "'!' is not an option"), ("output x", "--output is not accepted")):
            self.write(f"# first\n{line}\n")
            for command in (("show", "top", self.trace), ("run", "-q", "--", "/bin/true")):
                outcome = self.heaptap(*command)
                self.assertEqual(outcome.status, 2, outcome)
                self.assertTrue(outcome.stderr.startswith(f"heaptap: .heaptap:2: {reason}".encode()), outcome)
            self.assertEqual(self.heaptap("help", "show").status, 0)
            self.assertEqual(self.heaptap("doctor", "--no-config").stderr, b"")

    def test_a_file_of_a_stranger_does_nothing(self):
        path = self.write("ignore print_receipt\nenv A=b\n")
        everything = self.text("show", "leaks", self.trace, "--no-config")
        path.chmod(0o666)
        outcome = self.heaptap("show", "leaks", self.trace)
        self.assertEqual(outcome.stdout.decode(), everything)
        self.assertEqual(outcome.stderr, b"heaptap: .heaptap is not read: it is writable by everybody; `--config .heaptap` reads it, "
                         b"`--no-config` none\n")
        if os.geteuid() == 0:
            path.chmod(0o644)
            os.chown(path, 12345, 12345)
            outcome = self.heaptap("show", "leaks", self.trace)
            self.assertEqual(outcome.stdout.decode(), everything)
            self.assertIn(b"it belongs to user 12345", outcome.stderr)

    def test_nothing_waits_for_a_pipe(self):
        os.mkfifo(self.work / ".heaptap")
        outcome = self.heaptap("show", "top", self.trace)
        self.assertEqual(outcome.status, 0)
        self.assertIn(b"it is not a regular file", outcome.stderr)


class Ignoring(Config):
    def test_stacks_are_in_no_view(self):
        self.write("ignore print_receipt\n")
        for view in VIEWS:
            text = self.text("show", view, self.trace)
            self.assertNotIn("print_receipt", text, view)
            self.assertEqual(IGNORED.findall(text), [("5", "3", ".heaptap:1")], view)
            report = self.json(view)
            self.assertNotIn("print_receipt", json.dumps({**report, "ignored": None}), view)
            self.assertEqual(report["ignored"]["stacks"], 5)
            self.assertEqual(report["ignored"]["rules"][0]["place"], ".heaptap:1")
            self.assertEqual(report["ignored"]["rules"][0]["pattern"], "print_receipt")

    def test_nothing_is_lost(self):
        for pattern in ("print_receipt", "leak_shop", "libstdc", "nothing", "^operator", "take_order|reserve", "leak_shop.cc:30 "):
            whole, shown = self.json("summary", "--no-config"), self.json("summary", "--ignore", pattern)
            self.assertEqual(shown["totals"], whole["totals"])
            ignored = shown["ignored"]
            self.assertEqual(shown["stack_count"] + ignored["stacks"], whole["stack_count"], pattern)
            for key in ("allocations", "allocated_bytes", "live_blocks", "live_bytes"):
                self.assertEqual(sum(stack[key] for stack in shown["stacks"]) + ignored[key], whole["totals"][key], (pattern, key))
            lost = lambda report: sum(report["leaks"][kind]["bytes"] for kind in ("definite", "indirect", "possible", "suppressed", "ignored"))
            self.assertEqual(lost(shown), lost(whole))
            blocks = self.json("blocks", "--ignore", pattern)
            self.assertEqual(len(blocks["blocks"]) + ignored["live_blocks"], blocks["live_blocks"])
            sizes = self.json("sizes", "--ignore", pattern)
            self.assertEqual(sum(size["allocations"] for size in sizes["classes"]) + ignored["allocations"], whole["totals"]["allocations"])

    def test_exports_and_reports_leave_them_out(self):
        self.write("ignore print_receipt\n")
        for name in FORMATS:
            outcome = self.heaptap("export", "--to", name, self.trace)
            self.assertEqual(outcome.status, 0, outcome)
            self.assertNotIn(b"print_receipt", outcome.stdout, name)
        found = self.text("export", "--to", "folded", self.trace, "--no-config")
        self.assertIn("print_receipt", found)
        self.text("report", "-q", "-o", "r.html", self.trace)
        self.assertTrue((self.work / "r.html").stat().st_size > 0)

    def test_leaks_of_them_break_no_limit(self):
        check = ("check", self.trace, "--max-leaked", "0")
        self.assertEqual(self.heaptap(*check).status, 1)
        self.write("ignore print_receipt\nignore reserve\n")
        outcome = self.heaptap(*check)
        self.assertEqual(outcome.status, 0, outcome)
        self.assertIn(b"! 6 stacks with ", outcome.stdout)
        self.assertIn(b"ignored (.heaptap:1, .heaptap:2)", outcome.stdout)
        outcome = self.heaptap(*check, "--config", "/dev/null", "--ignore", "print_receipt")
        self.assertEqual(outcome.status, 1)
        self.assertNotIn(b"print_receipt", outcome.stdout)
        self.assertIn(b"reserve", outcome.stdout)

    def test_comparisons_leave_them_out(self):
        text = self.text("diff", self.trace, self.trace, "--unchanged", "-n", "0", "--ignore", "print_receipt")
        self.assertNotIn("print_receipt", text)
        self.assertEqual(len(re.findall("5 stacks with .* ignored", text)), 2, text)
        comparison = json.loads(self.text("diff", "--json", self.trace, self.trace, "--ignore", "print_receipt"))
        self.assertEqual([recording["ignored"]["stacks"] for recording in comparison["recordings"]], [5, 5])

    def test_the_end_of_a_run_says_so(self):
        self.write("ignore print_receipt\nignore reserve\n")
        outcome = self.heaptap("run", "--error-exitcode", "9", "--", built("leak_shop"))
        self.assertEqual(outcome.status, 0, outcome)
        self.assertIn(b"heaptap: no leaks; ", outcome.stderr)
        self.assertIn(b"; ignored 224 bytes in 5 blocks\n", outcome.stderr)
        self.assertNotIn(b"print_receipt", outcome.stderr)
        outcome = self.heaptap("run", "--error-exitcode", "9", "--no-config", "--", built("leak_shop"))
        self.assertEqual(outcome.status, 9, outcome)
        self.assertIn(b"print_receipt", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
