"""The man pages: each command has one, and it has the options that `heaptap help COMMAND` has, under the same headings."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from heaptap_test import HEAPTAP, heaptap, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ROOT / "docs/man"
GROUPS = ("Output", "Capture", "Processes", "Symbols", "Remote", "Push", "Report", "Other")
COMING = set()  # commands that have a page before this heaptap has them


def commands():
    """Those that users know of, `help` left out, which has no options."""
    completions = heaptap("completions", "bash").stdout.decode()
    return set(re.search(r"^_heaptap_commands='(.*)'$", completions, re.MULTILINE)[1].split()) - {"help"}


def groups_in(help_text):
    """By heading, in order: the options of each group; what stands before all groups, or behind them, is left out."""
    groups = {}
    for line in help_text.splitlines():
        if heading := re.fullmatch(r"(\w+):", line):
            group = groups.setdefault(heading[1], set()) if heading[1] in GROUPS else None
        elif not line:
            group = None
        elif (row := re.match(r"  (-[^ ,]+)(?:, (--[^ ]+))?", line)) and group is not None:
            group.update(name.partition("[")[0] for name in row.groups() if name)
    return groups


def help_of(command):
    return heaptap("help", *command.split()).stdout.decode()


def options_in_help(command):
    return set().union(*groups_in(help_of(command)).values())


def whole_page(command):
    """Its source, with the parts that it includes."""
    page = PAGES / f"heaptap-{command}.1.scd"
    return subprocess.run(["awk", "-f", ROOT / "tools/man_include.awk", page], capture_output=True, text=True, check=True).stdout


def options_in_line(line):
    return set(re.findall(r"\*(--?[\w-]+)\*", line)) if line.startswith("*-") else set()


def groups_in_page(command):
    options = re.search(r"^# OPTIONS\n(.*?)^# ", whole_page(command), re.MULTILINE | re.DOTALL)[1]
    head, *sections = re.split(r"^## (.*)\n", options, flags=re.MULTILINE)
    groups = {name: set().union(*map(options_in_line, text.splitlines())) for name, text in zip(sections[::2], sections[1::2])}
    return {"": set().union(*map(options_in_line, head.splitlines())), **groups}


def in_order(groups):
    return [(name, sorted(options)) for name, options in groups.items() if options]


class ManPages(unittest.TestCase):
    maxDiff = None

    def test_each_command_has_a_page(self):
        pages = {page.name.removeprefix("heaptap-").removesuffix(".1.scd") for page in PAGES.glob("heaptap-*.1.scd")} - {"target"}
        self.assertLessEqual(commands(), pages)
        self.assertLessEqual(pages - commands(), COMING)

    def test_options_and_their_groups_are_those_of_help(self):
        for command in sorted(commands()):
            with self.subTest(command=command):
                groups = groups_in(help_of(command))
                self.assertIn("--help", groups["Other"])
                self.assertEqual(list(groups), [name for name in GROUPS if name in groups])
                self.assertEqual(in_order(groups_in_page(command)), in_order(groups))

    def test_the_targets_page_has_its_options_and_their_groups(self):
        help_text = run([pathlib.Path(HEAPTAP).parent / "heaptap-target", "--help"]).stdout.decode()
        groups = groups_in(help_text)
        self.assertIn("--token-file", groups["Remote"])
        self.assertEqual(list(groups), [name for name in GROUPS if name in groups])
        self.assertEqual(in_order(groups_in_page("target")), in_order(groups))

    def test_the_page_of_top_has_its_keys(self):
        keys = re.search(r"^Keys:\n(.*)", help_of("top"), re.MULTILINE | re.DOTALL)[1]
        named = {key for names in re.findall(r"^  (\S.*?)  ", keys, re.MULTILINE) for key in names.split()}
        page = re.search(r"^# KEYS\n(.*?)^# ", whole_page("top"), re.MULTILINE | re.DOTALL)[1]
        in_page = {key for line in page.splitlines() if line.startswith("*") for key in re.findall(r"\*([^*]+)\*", line)}
        arrows = {"↑": "Up", "↓": "Down"}
        self.assertEqual({arrows.get(key, key) for key in named}, in_page | {"Esc"})

    def test_overview_has_the_commands_under_the_headings_of_help(self):
        help_text = heaptap("help").stdout.decode()
        sections = re.findall(r"^(\w[\w ]*):\n((?:  .*\n)+)", help_text, re.MULTILINE)
        in_help = [(name, re.findall(r"^  heaptap ([\w-]+)", text, re.MULTILINE)) for name, text in sections]
        self.assertLessEqual(commands(), {command for _, named in in_help for command in named})
        page = re.search(r"^# COMMANDS\n(.*?)^# ", (PAGES / "heaptap.1.scd").read_text(), re.MULTILINE | re.DOTALL)[1]
        _, *parts = re.split(r"^## (.*)\n", page, flags=re.MULTILINE)
        in_page = [(name, re.findall(r"^\*heaptap[ -]([\w-]+)", text, re.MULTILINE)) for name, text in zip(parts[::2], parts[1::2])]
        self.assertEqual(in_page, in_help)

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
