"""Editors: `heaptap show leaks --open`, at the line of a leak, whatever a trace calls its sources; findings as lines, which vim lists."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, heaptap, run

SOURCE = """#include <stdlib.h>
void* volatile kept;
int main(void) {
  kept = malloc(100);
  kept = malloc(7);
  kept = 0;
  return 0;
}
"""
EDITOR = """#!/bin/sh
printf '%s\\n' "${0##*/}" "$@" > "$OPENED"
exit ${EDITORS_STATUS:-0}
"""


class Editor(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.tools, self.opened = self.directory / "tools", self.directory / "opened"
        self.tools.mkdir()
        for name in ("vim", "code", "xdg-open"):
            (self.tools / name).write_text(EDITOR)
            (self.tools / name).chmod(0o755)

    def record(self, name="app.c"):
        self.source = self.directory / name
        self.source.write_text(SOURCE)
        outcome = run(["gcc", "-g", "-O0", "-x", "c", "-o", self.directory / "app", f"./{name}"], cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        outcome = heaptap("run", "-q", "--force", "-o", self.trace, "--", self.directory / "app", cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))

    def open(self, *options, cwd=None, **variables):
        self.opened.unlink(missing_ok=True)
        env = {name: value for name, value in os.environ.items() if name not in ("VISUAL", "EDITOR")}
        env |= {"PATH": f"{self.tools}:{os.environ['PATH']}", "OPENED": str(self.opened), **variables}
        outcome = run([HEAPTAP, "show", "leaks", *(options or ["--open"]), self.trace], cwd=cwd or self.directory, env=env)
        return outcome, self.opened.read_text().splitlines() if self.opened.exists() else None

    def test_the_editor_opens_the_line(self):
        self.record()
        outcome, opened = self.open(EDITOR="vim")
        self.assertEqual((outcome.status, opened), (0, ["vim", "+4", str(self.source)]), str(outcome))
        self.assertEqual((outcome.stdout, outcome.stderr), (b"", b"heaptap: opening app.c:4\n"))
        outcome, opened = self.open(EDITOR="vim", VISUAL="code --wait")
        self.assertEqual(opened[:3], ["code", "--wait", "--goto"], str(outcome))
        self.assertRegex(opened[3], rf"^{self.source}:4:\d+$")

    def test_a_stack_by_its_number(self):
        self.record()
        stacks = heaptap_test.run([HEAPTAP, "show", "leaks", self.trace], cwd=self.directory).stdout.decode()
        number = stacks.split("7 B in 1 block")[0].rsplit("#", 1)[1].strip()
        for word in (f"--open={number}", f"--open=#{number}"):
            _, opened = self.open(word, EDITOR="vim")
            self.assertEqual(opened, ["vim", "+5", str(self.source)])
        outcome, opened = self.open("--open=4711", EDITOR="vim")
        self.assertEqual((outcome.status, opened), (125, None), str(outcome))
        outcome, opened = self.open("--open=x", EDITOR="vim")
        self.assertEqual((outcome.status, opened), (2, None), str(outcome))

    def test_names_of_sources_are_no_options_and_no_commands(self):
        for name in ("-x.c", "+q.c", "$(touch owned).c", "a;touch owned;.c", "two\nlines.c"):
            with self.subTest(name):
                self.record(name)
                outcome, opened = self.open(EDITOR="vim")
                self.assertEqual((outcome.status, "\n".join(opened or [])), (0, f"vim\n+4\n{self.directory}/{name}"), str(outcome))
                self.assertFalse((self.directory / "owned").exists())
                self.assertEqual(outcome.stderr.count(b"\n"), 1, str(outcome))

    def test_only_files_are_opened(self):
        self.record()
        elsewhere = self.directory / "elsewhere"
        elsewhere.mkdir()
        self.source.unlink()
        os.mkfifo(self.source)
        for cwd in (self.directory, elsewhere):
            outcome, opened = self.open(EDITOR="vim", cwd=cwd)
            self.assertEqual((outcome.status, opened), (125, None), str(outcome))
        self.source.unlink()
        outcome, opened = self.open(EDITOR="vim")
        self.assertEqual((outcome.status, opened), (125, None), str(outcome))
        self.assertIn(b"--open: ", outcome.stderr)

    def test_the_desktop_gets_no_file_that_it_would_execute(self):
        self.record("app.desktop")
        outcome, opened = self.open()
        self.assertEqual((outcome.status, opened), (125, None), str(outcome))
        self.assertIn(b"isn't called as sources are", outcome.stderr)

    def test_an_editor_that_fails_is_told(self):
        self.record()
        (self.tools / "killed").write_text("#!/bin/sh\nkill -TERM $$\n")
        (self.tools / "killed").chmod(0o755)
        cases = (({"EDITOR": "no-such-editor"}, "can't start no-such-editor: "), ({"EDITOR": "vim", "EDITORS_STATUS": "3"}, "vim exited with 3\n"),
                 ({"EDITOR": "killed"}, "killed was killed by SIGTERM\n"), ({"EDITOR": "'vim"}, "the editor ''vim': "))
        for variables, cause in cases:
            with self.subTest(variables):
                outcome, _ = self.open(**variables)
                self.assertEqual(outcome.status, 125, str(outcome))
                self.assertIn(f"--open: {cause}", outcome.stderr.decode())


LOSES = """#include <stdio.h>
#include <stdlib.h>
void* volatile kept;
int main(void) {
  kept = new char;
  free(kept);
  kept = malloc(77);
  kept = malloc(7);
  kept = 0;
  puts("ready");
  fflush(stdout);
  return getchar() == 'x';
}
"""
QUICKFIX = """set makeprg={}
silent make {}
for found in getqflist()
  if found.valid
    call writefile([bufname(found.bufnr).':'.found.lnum.':'.found.col.':'.found.text], 'found', 'a')
  endif
endfor
qall!
"""


class Lines(heaptap_test.TestCase):
    """A line for each finding."""

    def setUp(self):
        super().setUp()
        self.source = self.directory / "app.cc"
        self.source.write_text(LOSES)
        self.assertEqual(run(["g++", "-g", "-O0", "-w", "-o", "app", "app.cc"], cwd=self.directory).status, 0)
        done = heaptap("run", "-q", "-o", self.trace, "--", self.directory / "app", cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))

    def lines(self, *words, cwd=None):
        outcome = heaptap(*words, "--lines", cwd=cwd or self.directory)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        return outcome.stdout.decode().splitlines()

    def expect_leaks(self, lines):
        self.assertEqual([re.sub(r" \[#\d+\]$", "", line) for line in lines], [
            "app.cc:7:16: error: 77 bytes in 1 block is definitely lost, allocated by malloc",
            "app.cc:8:16: error: 7 bytes in 1 block is definitely lost, allocated by malloc"])

    def test_of_a_recording(self):
        leaks = self.lines("show", "leaks", self.trace)
        self.expect_leaks(leaks)
        summary = self.lines("show", "summary", self.trace)
        self.assertRegex(summary[0], r"^app\.cc:6:7: error: .* \[mismatched-free\]$")
        self.expect_leaks(summary[1:])
        self.assertEqual(len(self.lines("show", "leaks", "-n", "1", self.trace)), 1)
        (self.directory / "elsewhere").mkdir()
        self.assertTrue(self.lines("show", "leaks", self.trace, cwd=self.directory / "elsewhere")[0].startswith(f"{self.source}:7:16: error: "))

    def test_of_a_running_process(self):
        process = subprocess.Popen([HEAPTAP, "run", "-q", "--force", "-o", self.trace, "--", self.directory / "app"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, cwd=self.directory)
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        (pid,) = [pid for pid in heaptap_test.descendants(process.pid) if heaptap_test.executable(pid) == str(self.directory / "app")]
        *leaks, doubt = self.lines("leaks", pid)
        self.expect_leaks(leaks)
        self.assertEqual(doubt, "heaptap: warning: not all leaks are known: the leak scan was made before the end")

    def test_other_views_have_no_such_lines(self):
        for words in (("show", "top"), ("show", "leaks", "--globals"), ("show", "leaks", "--json"), ("show", "summary", "--by", "tag"),
                      ("leaks", "--globals", "1")):
            outcome = heaptap(*words, "--lines", *([self.trace] if words[0] == "show" else []))
            self.assertEqual(outcome.status, 2, str(outcome))
            self.assertIn(b"--lines", outcome.stderr)

    def test_vim_lists_them(self):
        if shutil.which("vim") is None:
            heaptap_test.skip_what_is_missing("vim is not installed")
        (self.directory / "commands").write_text(QUICKFIX.format(f"{HEAPTAP}\\ show\\ leaks\\ --lines", self.trace))
        run(["vim", "-u", "NONE", "-i", "NONE", "-n", "-N", "-es", "-S", "commands"], cwd=self.directory)
        found = (self.directory / "found").read_text().splitlines()
        self.assertEqual([line.partition(" bytes")[0] for line in found], ["app.cc:7:16: error: 77", "app.cc:8:16: error: 7"])


if __name__ == "__main__":
    unittest.main()
