# CTEST COST 30
"""The completions: bash, fish and zsh load them, and offer what the options' tables have."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
import man_test
from heaptap_test import HEAPTAP, heaptap

SUPPORT = pathlib.Path(__file__).resolve().parent.parent / "support"
VIEWS = {"summary", "leaks", "top", "tree", "stats", "sizes", "lifetimes", "timeline", "blocks"}


def long_options(command):
    return {name for name in man_test.options_in_help(command) if name.startswith("--")}


class Shell:
    """What all shells have to offer; each says how a line is completed."""

    def setUp(self):
        super().setUp()
        self.script = self.directory / "heaptap.completions"
        self.script.write_bytes(heaptap("completions", self.name).stdout)
        (self.directory / "one.htap").touch()
        (self.directory / "notes.txt").touch()
        (self.directory / "below").mkdir()

    def ask(self, *command, **options):
        environment = {**os.environ, "HOME": str(self.directory), "TERM": "dumb", "XDG_CONFIG_HOME": str(self.directory),
                       "XDG_DATA_HOME": str(self.directory), "PATH": f"{pathlib.Path(HEAPTAP).parent}:{os.environ['PATH']}"}
        ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=self.directory, env=environment,
                               timeout=60, check=False, stdin=subprocess.DEVNULL, **options)
        self.assertEqual(ended.stderr, "", ended)
        return ended.stdout

    def test_commands(self):
        self.assertLessEqual(man_test.commands() | {"help"}, self.complete("heaptap "))
        self.assertIn("show", self.complete("heaptap sh"))
        self.assertEqual(man_test.commands(), self.complete("heaptap help ") - {"help"})

    def test_options_are_those_of_help(self):
        for command in sorted(man_test.commands()):
            with self.subTest(command=command):
                offered = {word for word in self.complete(f"heaptap {command} --") if word.startswith("--")}
                self.assertEqual({word.rstrip("=-") for word in offered}, long_options(command))

    def test_views_and_traces(self):
        offered = self.complete("heaptap show ")
        self.assertLessEqual(VIEWS | {"one.htap"}, offered)
        self.assertNotIn("notes.txt", offered)
        behind = self.complete("heaptap show leaks ")
        self.assertIn("one.htap", behind)
        self.assertEqual(behind & VIEWS, set())
        self.assertIn("one.htap", self.complete("heaptap check o"))
        self.assertIn("notes.txt", self.complete("heaptap show --suppressions n"))

    def test_words_for_values(self):
        self.assertLessEqual({"agent", "ptrace"}, self.complete("heaptap run --via "))
        self.assertIn("leaked-bytes", self.complete("heaptap show --sort lea"))
        self.assertIn("thread-local", self.complete("heaptap leaks --no-roots "))
        formats = re.findall(r"^  ([\w-]+)  +\S", heaptap("help", "export").stdout.decode().partition("Formats")[2], re.MULTILINE)
        self.assertTrue(formats)
        self.assertLessEqual(set(formats), self.complete("heaptap export --to "))

    def test_processes(self):
        self.assertIn(str(os.getpid()), self.complete("heaptap attach "))
        self.assertIn(str(os.getpid()), self.complete("heaptap leaks "))

    def test_arguments_of_the_program_are_its_own(self):
        for line in ("heaptap run cat ", "heaptap run -d 5 -- cat ", "heaptap cat "):
            with self.subTest(line=line):
                self.assertIn("notes.txt", self.complete(line))
                self.assertNotIn("--via", self.complete(line + "--"))


class Bash(Shell, heaptap_test.TestCase):
    name = "bash"

    def complete(self, line):
        words = shlex.split(line) + ([""] if line.endswith(" ") else [])
        script = f"""source {self.script}
          COMP_WORDS=({shlex.join(words)})
          COMP_CWORD={len(words) - 1}
          _heaptap
          printf '%s\\n' "${{COMPREPLY[@]}}" """
        return set(self.ask("bash", "--norc", "-c", script).split("\n")) - {""}

    def test_values_behind_an_equals_sign(self):
        # Which is a word of its own in bash.
        script = f"""source {self.script}
          COMP_WORDS=(heaptap show --color = a)
          COMP_CWORD=4
          _heaptap
          printf '%s\\n' "${{COMPREPLY[@]}}" """
        self.assertEqual(self.ask("bash", "--norc", "-c", script).split(), ["auto", "always"])

    def test_is_sound_to_shellcheck(self):
        ended = subprocess.run(["shellcheck", "--shell=bash", "--severity=warning", self.script], capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (0, ""))


class Fish(Shell, heaptap_test.TestCase):
    name = "fish"

    def complete(self, line):
        found = self.ask("fish", "--no-config", "-c", f"source {self.script}; complete -C {shlex.quote(line)}")
        return {row.partition("\t")[0] for row in found.splitlines()}


class Zsh(Shell, heaptap_test.TestCase):
    name = "zsh"

    def setUp(self):
        super().setUp()
        self.functions = self.directory / "below"
        self.script.rename(self.functions / "_heaptap")

    def complete(self, line):
        found = self.ask("zsh", "-f", SUPPORT / "zsh_completions.zsh", self.functions, line)
        return {row for row in found.splitlines() if row}


class Refusals(heaptap_test.TestCase):
    def test_other_shells(self):
        for arguments in ([], ["tcsh"]):
            self.assertEqual(heaptap("completions", *arguments).status, 2)


if __name__ == "__main__":
    unittest.main()
