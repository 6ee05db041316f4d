"""What is shown of a trace that was made over a line is what is shown of one that was made on one machine, but for times, numbers of
processes, and addresses."""
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import built, heaptap

VIEWS = ("summary", "leaks", "top", "tree", "stats", "sizes", "lifetimes", "blocks")
# What differs from run to run: times, numbers of processes, addresses and how well those pack, how much memory there was, and the collector's own figures.
UNSTEADY = re.compile(r"_ns$|_unix|pid$|address|^(trace|machine|offset|read_bytes|skipped_bytes|stored_bytes)$|rss|log_")
UNSTEADY_TEXT = re.compile(r"0x[0-9a-f]+|\b[0-9.]+ (ns|us|ms|s|min|h)\b|\bpid \d+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|scanned [0-9.]+ KiB")
UNSTEADY_LINE = re.compile(r"^ *collector.*\n|^.* a second .*\n|^ *\d+ +\d+ .* leak_shop\n", re.MULTILINE)


def steady(value):
    if isinstance(value, dict):
        return {name: steady(member) for name, member in value.items() if not UNSTEADY.search(name)}
    if isinstance(value, list):
        return [steady(member) for member in value]
    return steady_text(value) if isinstance(value, str) else value


def steady_text(text):
    """Columns are as wide as what is in them."""
    return re.sub(r"[ ─]+", " ", UNSTEADY_TEXT.sub("…", UNSTEADY_LINE.sub("", text)))


class Views(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = heaptap_test.tempfile.TemporaryDirectory(prefix="heaptap-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.near, cls.there = (pathlib.Path(folder.name) / name / "trace.htap" for name in ("near", "there"))
        for trace in (cls.near, cls.there):
            trace.parent.mkdir()
        address = str(pathlib.Path(folder.name) / "far.sock")
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

    def assert_same_json(self, *words):
        near, there = (json.dumps(steady(heaptap_test.read_report(text)), indent=1).splitlines() for text in self.of_both(*words, "--json"))
        self.assertGreater(len(near), 20)
        self.assertEqual(there, near)

    def test_texts(self):
        for view in VIEWS:
            with self.subTest(view=view):
                near, there = (steady_text(text).splitlines() for text in self.of_both(view))
                if view == "lifetimes":  # which blocks live how long differs
                    near, there = ([line for line in text if "…" not in line] for text in (near, there))
                self.assertGreater(len(near), 2)
                self.assertEqual(there, near)

    def test_what_scans_found(self):
        lost = next(stack["id"] for stack in heaptap_test.summary(self.near)["stacks"] if stack["leaks"]["definite"]["blocks"])
        for words in (["--scans"], ["--why", f"#{lost}"], ["--why", "#b1"], ["--retained"], ["--globals"]):
            with self.subTest(words=words):
                self.assert_same_json("leaks", *words)


if __name__ == "__main__":
    unittest.main()
