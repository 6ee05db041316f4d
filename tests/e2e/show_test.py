"""How traces are shown: which one where none is named, how sites are named, and how it all fits a terminal."""
import gzip
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import heaptap_test
from heaptap_test import built, heaptap
from terminal import on_terminal, too_wide

VIEWS = ("summary", "leaks", "top", "tree", "stats", "sizes", "lifetimes", "timeline", "blocks")


class Shown(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        outcome = heaptap("run", "-q", "-o", self.trace, "--", built("leak_shop"), cwd=self.directory)
        self.assertEqual(outcome.status, 0, outcome)

    def text(self, *arguments, **environment):
        outcome = heaptap("show", *arguments, self.trace, env={**os.environ, **environment})
        self.assertEqual(outcome.status, 0, outcome)
        return outcome.stdout.decode()

    def test_the_summary_where_no_view_is_named(self):
        summary = self.text("summary")
        self.assertEqual(self.text(), summary)
        self.assertEqual(heaptap(self.trace).stdout.decode(), summary)

    def test_the_newest_where_no_trace_is_named(self):
        os.unlink(self.directory / "heaptap.latest.htap")
        missing = heaptap("show", "top", cwd=self.directory)
        self.assertEqual((missing.status, missing.stdout), (2, b""))
        self.assertIn(b"no heaptap.*.htap in the working directory", missing.stderr)
        os.rename(self.trace, self.directory / "heaptap.b.2.htap")
        self.trace = self.directory / "heaptap.b.2.htap"
        (self.directory / "heaptap.a.1.htap").write_bytes(b"old")
        os.utime(self.directory / "heaptap.a.1.htap", (1, 1))
        self.assertEqual(heaptap("show", "top", cwd=self.directory).stdout.decode(), self.text("top"))
        heaptap("run", "-q", "--", built("one_leak"), cwd=self.directory)
        self.assertIn(b"one_leak", heaptap("show", cwd=self.directory).stdout)

    def test_a_trace_and_the_link_to_it_are_one(self):
        (self.directory / "heaptap.latest.htap").unlink(missing_ok=True)
        (self.directory / "heaptap.latest.htap").symlink_to(self.trace)
        traces = sorted(map(str, self.directory.glob("*.htap")))
        self.assertEqual(len(traces), 2)
        for words in (("leaks", *traces), ("leaks", *reversed(traces)), traces):
            self.assertEqual(heaptap("show", *words).stdout.decode(), self.text(*words[:-2]), words)
        other = self.directory / "other.htap"
        other.write_bytes(self.trace.read_bytes())
        outcome = heaptap("show", "leaks", *traces, other)
        self.assertEqual(outcome.status, 2, outcome)
        self.assertIn(b"show: one trace at a time", outcome.stderr)

    def test_sites_are_named_by_what_is_no_machinery(self):
        top = self.text("top")
        self.assertRegex(top, r"\n +#\d+  take_order leak_shop\.cc:\d+ ")
        self.assertNotIn("__libc_start", top + self.text("leaks") + self.text("tree"))
        self.assertIn("__libc_start", self.text("leaks", "--full-stacks"))
        self.assertNotIn(", std::allocator<", self.text("summary"))
        self.assertIn(", std::allocator<", self.text("summary", "--full-names", "--full-stacks"))
        self.assertRegex(self.text("leaks", "--full-paths"), r"  /\S*/leak_shop\.cc:\d+\n")

    def test_a_function_can_be_skipped(self):
        skipped = self.text("top", "--skip", "^take_ord")
        self.assertNotIn("take_order", skipped)
        file = self.directory / "config"
        file.write_text("skip ^take_ord\n")
        self.assertEqual(self.text("top", "--config", file), skipped)
        verdict = heaptap("check", self.trace, "--max-leaked", "0", "--skip", "print_receipt")
        self.assertEqual(verdict.status, 1)
        self.assertNotIn(b"print_receipt", verdict.stdout)
        self.assertRegex(heaptap("check", self.trace, "--max-leaked", "0").stdout, rb"\n      print_receipt leak_shop\.cc:\d+ < main")

    def test_slices_of_glib_are_hinted_at_where_they_hide_who_allocates(self):
        hint = "hint: GLib's slices hide the callers: each slab counts for the caller that needed it; record with -E G_SLICE=always-malloc"
        for options, is_hidden in (((), True), (("-E", "G_SLICE=always-malloc"), False)):
            end = heaptap("run", "--force", *options, "-o", self.trace, "--", built("glib_slices"), cwd=self.directory)
            self.assertEqual(end.status, 0, end)
            texts = [end.stderr.decode(), self.text("summary"), self.text("top"), self.text("leaks")]
            self.assertEqual([hint in text for text in texts], [is_hidden] * 4, texts)
            self.assertEqual("second_kind" in texts[2], not is_hidden, texts[2])

    def test_what_a_program_maps_is_in_tree_and_exports(self):
        trace = self.directory / "mapper.htap"
        outcome = heaptap("run", "-q", "-o", trace, "--", built("answers_rows"), "mmap", "return", stdin=b"go\ngo\n")
        self.assertEqual(outcome.status, 0, outcome)

        def text(*words):
            shown = heaptap(*words, trace)
            self.assertEqual(shown.status, 0, shown)
            return shown.stdout.decode()

        tree = text("show", "tree")
        self.assertIn("\nCall tree by bytes not freed by malloc and mmap, ", tree)
        self.assertRegex(tree, r"(?m)^ +99\.9% +64\.0 MiB  main  answers_rows\.cc:\d+\n.*\n +map_region\(\)  answers_rows\.cc:\d+\n +mmap$")
        self.assertEqual(text("show", "tree", "--memory", "both"), tree)
        self.assertNotIn("map_region", text("show", "tree", "--memory", "malloc"))
        self.assertRegex(text("show", "tree", "--memory", "mmap"), r"(?m)^ 100\.0% +64\.0 MiB  .*main")
        self.assertNotIn("map_region", text("export", "--to", "folded"))
        self.assertRegex(text("export", "--to", "folded", "--memory", "both"), r";map_region\(\);mmap 67108864\n")
        for name in ("pprof", "speedscope", "firefox"):
            output = self.directory / name
            sizes = []
            for memory in ("malloc", "mmap"):
                text("export", "--to", name, "--memory", memory, "--force", "-o", output)
                data = output.read_bytes()
                sizes.append(b"map_region" in (gzip.decompress(data) if name == "pprof" else data))
            self.assertEqual(sizes, [name != "pprof", True], "frames of all stacks are in the tables of the others")
        refused = heaptap("show", "top", "--memory", "mmap", trace)
        self.assertEqual((refused.status, b"--memory is for `show tree`" in refused.stderr), (2, True), refused)
        refused = heaptap("export", "--to", "csv", "--memory", "mmap", trace)
        self.assertEqual((refused.status, b"--memory is for folded, pprof, speedscope and firefox" in refused.stderr), (2, True), refused)

    def test_nothing_is_wider_than_the_terminal(self):
        for columns in (80, 100, 132):
            for view in VIEWS:
                text, _, status = on_terminal("show", view, "--no-pager", self.trace, columns=columns)
                self.assertEqual(status, 0)
                self.assertEqual(too_wide(text, columns), [], f"{view}, {columns} columns")

    def test_pager(self):
        paged, _, _ = on_terminal("show", "top", self.trace, NO_COLOR="1", HEAPTAP_PAGER="sed s/^/paged:/", PAGER="false")
        self.assertTrue(paged and all(line.startswith("paged:") for line in paged.splitlines()), paged)
        for more in ({"HEAPTAP_PAGER": ""}, {"HEAPTAP_PAGER": "cat"}, {"HEAPTAP_PAGER": "no-such-pager"}):
            plain, _, status = on_terminal("show", "top", self.trace, NO_COLOR="1", PAGER="sed s/^/paged:/", **more)
            self.assertEqual((plain, status), (self.text("top", COLUMNS="80"), 0), more)
        plain, _, _ = on_terminal("show", "top", "--no-pager", self.trace, NO_COLOR="1", PAGER="sed s/^/paged:/")
        self.assertEqual(plain, self.text("top", COLUMNS="80"))
        environment = {**os.environ, "HEAPTAP_PAGER": "sed s/^/paged:/"}
        self.assertNotIn(b"paged:", heaptap("show", "top", self.trace, env=environment).stdout)

    def test_a_pager_that_is_left_early_is_no_failure(self):
        text, errors, status = on_terminal("show", "blocks", "-n", "100000", self.trace, HEAPTAP_PAGER="head -n 1")
        self.assertEqual((text.count("\n"), errors, status), (1, "", 0))

    def test_what_is_wrong_with_an_option(self):
        for arguments in (("--function", "f("), ("--module", "[a"), ("--skip", "(("), ("--sort", "colour"), ("-n", "many"),
                          ("--thread", "0"), ("--from", "soon"), ("--to", "never"), ("--depth", "-1"), ("--scan", "x"), ("--why", "?")):
            outcome = heaptap("show", "leaks", *arguments, self.trace)
            self.assertEqual((outcome.status, outcome.stdout), (2, b""), arguments)
            self.assertIn(arguments[1], outcome.stderr.decode(), arguments)

    def test_a_filter_that_matches_nothing_says_so(self):
        for arguments in (("--function", "no_such_function"), ("--module", "no_such_module"), ("--thread", "77")):
            self.assertIn("nothing in this trace matches", self.text("top", *arguments))

    def test_interrupted(self):
        cut = self.directory / "cut.htap"
        cut.write_bytes(self.trace.read_bytes()[:-200])
        text = heaptap("show", cut).stdout.decode()
        self.assertRegex(text, r"! incomplete: ")
        self.assertNotIn("still being recorded", text)


if __name__ == "__main__":
    unittest.main()
