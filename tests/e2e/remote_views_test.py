"""What is shown of a trace that was made over a line is what is shown of one that was made on one machine, but for times, numbers of
processes, and addresses."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import built, heaptap

VIEWS = ("summary", "leaks", "top", "tree", "stats", "sizes", "lifetimes", "blocks")
# Of JSON: what is the same in each run of the program. The rest are times, numbers of processes, addresses, how well those pack, how
# much memory there was, and the collector's own figures.
BLOCK = "number size state suppressed type function stack caller.file caller.function caller.line caller.module caller.offset"
ROOT = "kind name file line module offset frame thread thread_name"
COUNTS = "blocks bytes"


def paths(prefix, names):
    return [f"{prefix}.{name}" for name in names.split()]


OF_ALL = ["format", "version", *paths("capture", "complete damage events events_kept from_start heaptap_version lost_events running truncated via"),
          *paths("target", "arch command.[] executable exit.code")]
OF_A_SCAN = paths("scan", "at_end blocks number threads")
STABLE = {
    ("--scans",): [*paths("scans.[]", "at_end blocks number threads"),
                   *[path for kind in ("definite", "indirect", "possible", "reachable", "suppressed", "ignored")
                     for path in paths(f"scans.[].{kind}", COUNTS)]],
    ("--why", "LOST"): [*OF_A_SCAN, "asked", *paths("block", BLOCK), *paths("of_stack", COUNTS), *paths("of_kind", COUNTS),
                        *paths("same_root", COUNTS)],
    ("--why", "BELOW"): [*OF_A_SCAN, "asked", *paths("block", BLOCK), *paths("below.steps.[].block", BLOCK), "below.steps.[].offset"],
    ("--why", "#b1"): [*OF_A_SCAN, "asked", *paths("block", BLOCK), *paths("held.root", ROOT), "held.pointer"],
    ("--retained",): [*OF_A_SCAN, "by", "entry_count", *paths("entries.[].block", BLOCK), *paths("entries.[].own", COUNTS),
                      *paths("entries.[].retained", COUNTS), *paths("held", COUNTS)],
    ("--globals",): [*OF_A_SCAN, "entry_count", *paths("entries.[].variable", ROOT), *paths("entries.[].direct", COUNTS),
                     *paths("entries.[].retained", COUNTS), *paths("held", COUNTS), *paths("unlisted", COUNTS), *paths("shared", COUNTS), *paths("elsewhere", COUNTS)],
}
# Of the text.
UNSTEADY_TEXT = re.compile(r"0x[0-9a-f]+|\b[0-9.]+ (ns|us|ms|s|min|h)\b|\bpid \d+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|(scanned|trace) +[0-9.]+ KiB")
UNSTEADY_LINE = re.compile(r"^ *collector.*\n|^ *(peak )?resident .*\n|^.* a second .*\n|^ *\d+ +\d+ .* leak_shop\n", re.MULTILINE)


def values_at(value, path):
    """What is there: "scans.[].blocks" are the blocks of each scan."""
    name, _, rest = path.partition(".")
    if name == "[]":
        return [found for item in value for found in (values_at(item, rest) if rest else [item])]
    if not isinstance(value, dict) or name not in value:
        return []
    return values_at(value[name], rest) if rest else [value[name]]


def steady_text(text):
    """Columns are as wide as what is in them."""
    return re.sub(r"[ ─]+", " ", UNSTEADY_TEXT.sub("…", UNSTEADY_LINE.sub("", text)))


class Views(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.make_class_directory()
        cls.near, cls.there = (directory / name / "trace.htap" for name in ("near", "there"))
        for trace in (cls.near, cls.there):
            trace.parent.mkdir()
        address = str(directory / "far.sock")
        words = ["-q", "--via", "agent", "-o"]
        with far.serving(address, "-q"):
            for place, trace in (([], cls.near), (["-H", address], cls.there)):
                done = heaptap("run", *place, *words, trace, "--", built("leak_shop"), cwd=trace.parent)
                assert done.status == 0, str(done)

    def of_both(self, *words):
        for trace in (self.near, self.there):
            done = heaptap("show", *words, trace, cwd=trace.parent)
            self.assertEqual(done.status, 0, str(done))
            yield done.stdout.decode()

    def assert_same_json(self, words, stable):
        near, there = (heaptap_test.read_report(text) for text in self.of_both("leaks", *words, "--json"))
        for path in stable:
            wanted = values_at(near, path)
            self.assertTrue(wanted, f"there is no {path}, which would be compared")
            self.assertEqual(values_at(there, path), wanted, path)

    def test_texts(self):
        for view in VIEWS:
            with self.subTest(view=view):
                near, there = (steady_text(text).splitlines() for text in self.of_both(view))
                if view == "lifetimes":  # which blocks live how long differs
                    near, there = ([line for line in text if "…" not in line] for text in (near, there))
                self.assertGreater(len(near), 2)
                self.assertEqual(there, near)

    def test_what_scans_found(self):
        lost = next(stack["id"] for stack in heaptap_test.summary(self.near)["stacks"]
                    if stack["leaks"]["definite"]["blocks"] and stack["leaks"]["indirect"]["blocks"])
        asked = {"LOST": f"#{lost}", "BELOW": f"#b{self.block_below(lost)}"}
        for words, stable in STABLE.items():
            with self.subTest(words=words):
                self.assert_same_json([asked.get(word, word) for word in words], [*OF_ALL, *stable])

    def block_below(self, stack):
        """One of its blocks that another lost one leads to."""
        for block in heaptap_test.read_report(heaptap("show", "blocks", "--json", "-n", "1000", self.near).stdout)["blocks"]:
            if block["stack"] != stack:
                continue
            why = heaptap("show", "leaks", "--why", f"#b{block['number']}", "--json", self.near)
            if heaptap_test.read_report(why.stdout)["block"]["state"] == "indirect":
                return block["number"]
        raise AssertionError("there is none")


if __name__ == "__main__":
    unittest.main()
