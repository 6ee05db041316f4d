"""The man pages: each command has one, and it has the options that `heaptap help COMMAND` has, no more and no fewer."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from heaptap_test import HEAPTAP, heaptap, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "docs/man"
COMING = set()  # commands that have a page before this heaptap has them


def commands():
    """Those that users know of, `help` left out, which has no options."""
    completions = heaptap("completions", "bash").stdout.decode()
    return set(re.search(r"^_heaptap_commands='(.*)'$", completions, re.MULTILINE)[1].split()) - {"help"}


def options_in_help(command):
    help_text = heaptap("help", command).stdout.decode()
    found = set()
    for line in help_text.splitlines():
        names = re.match(r"  ((?:-\w,)?--[\w-]+|-\w\b)", line)
        if names:
            found.update(names[1].split(","))
    return found


def whole_page(command):
    """Its source, with the parts that it includes."""
    page = PAGES / f"heaptap-{command}.1.scd"
    return subprocess.run(["awk", "-f", ROOT / "tools/man_include.awk", page], capture_output=True, text=True, check=True).stdout


def options_in_page(command):
    return {name for line in whole_page(command).splitlines() if line.startswith("*-")
            for name in re.findall(r"\*(--?[\w-]+)\*", line)}


class ManPages(unittest.TestCase):
    maxDiff = None

    def test_each_command_has_a_page(self):
        pages = {page.name.removeprefix("heaptap-").removesuffix(".1.scd") for page in PAGES.glob("heaptap-*.1.scd")} - {"target"}
        self.assertLessEqual(commands(), pages)
        self.assertLessEqual(pages - commands(), COMING)

    def test_options_are_those_of_help(self):
        for command in sorted(commands()):
            with self.subTest(command=command):
                known = options_in_help(command)
                self.assertIn("--help", known)
                self.assertEqual(options_in_page(command), known)

    def test_the_targets_page_has_its_options(self):
        help_text = run([pathlib.Path(HEAPTAP).parent / "heaptap-target", "--help"]).stdout.decode()
        named = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", help_text, re.MULTILINE))
        self.assertIn("--token-file", named)
        self.assertEqual({name for name in options_in_page("target") if name.startswith("--")}, named | {"--help"})

    def test_overview_names_each_command(self):
        overview = (PAGES / "heaptap.1.scd").read_text()
        for command in commands():
            self.assertIn(f"*heaptap-{command}*(1)", overview)

    def test_pages_can_be_made(self):
        for page in PAGES.glob("*.scd"):
            whole = subprocess.run(["awk", "-f", ROOT / "tools/man_include.awk", page], capture_output=True, check=True).stdout
            made = subprocess.run(["scdoc"], input=whole, capture_output=True, check=False)
            self.assertEqual((made.returncode, made.stderr), (0, b""), page.name)
            self.assertNotIn(b"@include", made.stdout, page.name)


if __name__ == "__main__":
    unittest.main()
