# CTEST COST 20
"""What README.md and the pages of docs/howto show is what is printed: their checked blocks are run on the programs of demo/."""
import os
import pathlib
import shutil
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
import page_session
from heaptap_test import HEAPTAP, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs/howto").glob("*.md"))]
DEMOS = pathlib.Path(HEAPTAP).resolve().parent.parent / "demo"  # that were built


def may_attach():
    """Whether a process may be traced that isn't a child."""
    try:
        scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope").read_text().strip()
    except OSError:
        scope = "0"
    return heaptap_test.has_tracer() and (scope == "0" or (scope == "1" and os.geteuid() == 0))


class Pages(heaptap_test.TestCase):
    def test_some_are_checked(self):
        self.assertTrue(hasattr(self, "test_README"))

    def end_programs(self):
        """Ends what the page began and noted in a file, should a step have failed."""
        for note in self.directory.glob("*.pid"):
            try:
                os.kill(int(note.read_text()), signal.SIGKILL)
            except (ValueError, ProcessLookupError):
                pass

    def check(self, page):
        """Runs the page's commands in a directory that has demo/, examples/ and build/demo/ as a checkout has them."""
        text = page.read_text()
        for program in page_session.needs_of(text):
            if program == "ptrace" and not may_attach():
                self.skipTest("this machine lets nobody attach to a process")
            if program != "ptrace" and shutil.which(program) is None:
                self.skipTest(f"there is no {program} on this machine")
        steps = page_session.steps_of(text)
        self.addCleanup(self.end_programs)
        (self.directory / "build").mkdir()
        (self.directory / "build/demo").symlink_to(DEMOS)
        for sources in ("demo", "examples"):
            shutil.copytree(ROOT / sources, self.directory / sources)
        environment = {**os.environ, "PATH": f"{pathlib.Path(HEAPTAP).resolve().parent}:{os.environ['PATH']}",
                       "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        for step in steps:
            outcome = run(["bash", "-c", f"exec 2>&1\n{step.command}"], cwd=self.directory, env=environment)
            printed = outcome.stdout.decode(errors="replace").splitlines()
            reason = page_session.difference_of(step, printed)
            self.assertIsNone(reason, f"{page.name}:{step.line}: {step.command}\n{reason}\n--- printed\n" + "\n".join(printed))
        return len(steps)


def add_page(page):
    setattr(Pages, "test_" + page.stem.replace("-", "_"), lambda self: self.assertGreater(self.check(page), 0))


for _page in PAGES:
    if page_session.steps_of(_page.read_text()):
        add_page(_page)


class Matcher(unittest.TestCase):
    """What is taken for equal, and what isn't."""

    def differs(self, expected, printed):
        return page_session.difference(expected.splitlines(), printed.splitlines()) is not None

    def test_forms(self):
        for expected, printed in [("exit code 0 after 2.9 ms", "exit code 0 after 31 us"), ("x (pid 12)", "x (pid 4567)"),
                                  ("at 0x55a1, reachable", "at 0x7fff00, reachable"),
                                  ("  resident   1 MiB   in RAM: 3 KiB", "  resident   2 MiB   in RAM: 9 B of files"), ("heaptap.words.1.htap", "heaptap.words.22.htap"),
                                  ("after 3.0 s: 5 blocks", "after 2 min 5 s: 5 blocks"), ("a [b] (c)*", "a [b] (c)*")]:
            self.assertFalse(self.differs(expected, printed), expected)

    def test_numbers_are_compared(self):
        for expected, printed in [("202 B in 7 blocks", "203 B in 7 blocks"), ("after 2.9 ms: 5", "after 2.9 ms: 6"), ("a", "a\nb"),
                                  ("a\nb", "a"), ("", "a"), ("a.c", "abc")]:
            self.assertTrue(self.differs(expected, printed), expected)

    def test_numbers_by_form(self):
        def is_alike(expected, printed):
            page = f"{page_session.LOOSE_MARK}\n```\n$ x\n{expected}\n```\n"
            return page_session.difference_of(page_session.steps_of(page)[0], [printed]) is None
        self.assertTrue(is_alike("  lost   557 B   in 47 blocks of 1,419", "  lost  1.1 KiB  in 9 blocks of 12"))
        self.assertTrue(is_alike("3 allocations, peak 6 B (at the end: it was still growing)", "9 allocations, peak 66.6 KiB after 9.9 s"))
        self.assertTrue(is_alike(" live  9 KiB  ▁▂█  8.86K  #9 find", " live  10 KiB  ▁▁▁▁█   126  #10 find"))
        self.assertFalse(is_alike("LEAKED 557 bytes", "no leaks, 5 bytes"))
        self.assertFalse(is_alike("log_line gate.cc:16 < serve", "log_line gate.cc:16 < main"))

    def test_any_lines(self):
        self.assertFalse(self.differs("a\n…\nb", "a\nx\ny\nb"))
        self.assertFalse(self.differs("a\n…", "a"))
        self.assertTrue(self.differs("a\n…\nb", "a\nx"))
        self.assertTrue(self.differs("…\nb\nc", "b\nx\nc"))

    def test_blocks(self):
        page = "# x\n<!-- checked -->\n```\n$ one \\\n  two\nout\n$ three\n```\n```\n$ not checked\n```\n"
        steps = page_session.steps_of(page)
        self.assertEqual([(step.line, step.command, step.printed) for step in steps], [(4, "one \\\n  two", ["out"]), (7, "three", [])])
        for wrong in ("<!-- checked -->\n\ntext\n", "<!-- checked -->\n```\nout\n```\n"):
            with self.assertRaises(ValueError):
                page_session.steps_of(wrong)


if __name__ == "__main__":
    unittest.main()
