"""`heaptap report`: the data in the file are those of `show --json`, for programs that leak, grow, crash and free badly."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import built, document_of, heaptap

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Report(heaptap_test.TestCase):
    def recorded(self, name, *options, status=0):
        outcome = heaptap("run", "-q", "--force", "-o", self.trace, *options, "--", built(name), cwd=self.directory)
        self.assertEqual(outcome.status, status, str(outcome))
        return self.trace

    def written(self, *options):
        """The file as text, and its data."""
        file = self.directory / "report.html"
        outcome = heaptap("report", self.trace, "-o", file, "--force", *options, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        html = file.read_text()
        return html, document_of(html)

    def assert_same_figures(self, document):
        summary = heaptap_test.summary(self.trace)
        self.assertEqual(document["summary"]["totals"], summary["totals"])
        self.assertEqual(document["summary"]["leaks"], summary["leaks"])
        stacks = document["stacks"]
        by_id = {stack["id"]: stack for stack in summary["stacks"]}
        self.assertEqual(set(stacks["id"]), set(by_id))
        for row, number in enumerate(stacks["id"]):
            stack = by_id[number]
            for name in ("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes", "peak_bytes", "temporary_allocations"):
                self.assertEqual(stacks[name][row], stack[name], name)
            for kind in ("definite", "indirect", "possible", "reachable", "below"):
                self.assertEqual(stacks[kind + "_bytes"][row], stack["leaks"][kind]["bytes"], kind)
            self.assertEqual([frame["function"] or "" for frame in stack["frames"]], self.functions(document, row))

    def functions(self, document, row):
        names, node = [], document["stacks"]["node"][row]
        while node >= 0:
            frame = document["nodes"]["frame"][node]
            names.append(document["strings"][document["frames"]["function"][frame]])
            node = document["nodes"]["parent"][node]
        return names

    def assert_cells_add_up(self, document):
        """What was allocated and not freed, by stack, is what the stack holds; and so is what is left of it."""
        stacks, cells, left = document["stacks"], document["cells"], document["left"]
        live, remaining = [0] * len(stacks["id"]), [0] * len(stacks["id"])
        for stack, allocated, freed in zip(cells["stack"], cells["allocated_bytes"], cells["freed_bytes"]):
            live[stack] += allocated - freed
        for stack, count in zip(left["stack"], left["bytes"]):
            remaining[stack] += count
        expected = [0 if mapping else held for mapping, held in zip(stacks["mapping"], stacks["live_bytes"])]
        self.assertEqual(live, expected)
        self.assertEqual(remaining, expected)
        self.assertLess(max(cells["bin"], default=0), document["bins"]["count"])
        lost = sum(count for state, count in zip(left["state"], left["bytes"]) if state in (2, 3))
        leaks = document["summary"]["leaks"]
        if leaks["scanned"]:
            self.assertEqual(lost, leaks["definite"]["bytes"] + leaks["indirect"]["bytes"])

    def test_figures_are_those_of_show(self):
        for name in ("leak_shop", "leak_thread_rounds", "mismatched", "temporary", "realloc_rules"):
            with self.subTest(name):
                self.recorded(name)
                _, document = self.written()
                self.assert_same_figures(document)
                self.assert_cells_add_up(document)

    def test_the_verdict_names_leaks_and_places(self):
        self.recorded("leak_shop")
        html, document = self.written()
        texts = [finding["text"] for finding in document["verdict"]]
        self.assertTrue(any(text.startswith("LEAKED 224 bytes in 5 blocks") for text in texts), texts)
        self.assertTrue(any("leak_shop.cc:" in text for text in texts), texts)
        self.assertIn("LEAKED 224 bytes", html, "for browsers without scripts")
        self.assertTrue(document["suppressions"])
        self.assertTrue(document["holders"])
        self.assertTrue(document["globals"])
        self.assertTrue(document["graph"]["edges"]["from"])
        self.assertTrue(document["address_space"]["pages"]["address"])

    def test_the_verdict_begins_with_what_matters(self):
        order = ["ending", "leaks", "leak", "growth", "bad-free", "peak", "reachable", "unseen"]
        source = self.directory / "killed.c"
        source.write_text("#include <stdlib.h>\nint main(void) { return malloc(10) ? raise_it() : 0; }\n".replace("raise_it()", "(abort(), 1)"))
        subprocess.run(["gcc", "-g", "-w", "-O0", "-o", self.directory / "killed", source], check=True)
        for program, status, wanted in ((built("leak_shop"), 0, "leak"), (built("mismatched"), 0, "bad-free"), (self.directory / "killed", 134, "ending")):
            with self.subTest(program):
                outcome = heaptap("run", "-q", "--force", "-o", self.trace, "--", program, cwd=self.directory)
                self.assertEqual(outcome.status, status, str(outcome))
                _, document = self.written()
                kinds = [finding["kind"] for finding in document["verdict"]]
                self.assertIn(wanted, kinds)
                self.assertEqual(kinds, sorted(kinds, key=order.index))
        self.assertEqual(document["verdict"][0]["severity"], "bad")
        self.assertIn("killed by SIGABRT", document["verdict"][0]["text"])

    def test_leaks_are_said_largest_first_by_blocks_bytes_and_place(self):
        self.recorded("leak_shop")
        _, document = self.written()
        texts = [finding["text"] for finding in document["verdict"] if finding["kind"] == "leak"]
        for text in texts:
            self.assertRegex(text, r"^[\d,]+ blocks?, [\d.]+ \w+, allocated in .+ \(.+:\d+\)(?: by \d+ stacks)?, lost")

    def test_what_something_holds_and_grows_is_growth(self):
        source = self.directory / "cache.cc"
        source.write_text("""
            #include <cstdlib>
            #include <ctime>
            struct Node { Node* next; char text[1000]; };
            Node* cache_;
            __attribute__((noinline)) void remember() { Node* node = (Node*)calloc(1, sizeof(Node)); node->next = cache_; cache_ = node; }
            int main() { for (int i = 0; i < 300; ++i) { remember(); timespec pause{0, 1000000}; nanosleep(&pause, nullptr); } }""")
        subprocess.run(["g++", "-g", "-O1", "-fno-builtin", "-o", self.directory / "cache", source], check=True)
        outcome = heaptap("run", "-q", "-o", self.trace, "--", self.directory / "cache", cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        _, document = self.written()
        texts = [finding["text"] for finding in document["verdict"] if finding["kind"] == "growth"]
        self.assertTrue(any(text.startswith("300 blocks, ") and "allocated in remember() (cache.cc:6)" in text and
                            "reachable from global cache_" in text and text.endswith("growing through the whole run.") for text in texts), texts)

    def test_spans_of_live_blocks_add_up(self):
        for name in ("leak_shop", "leak_thread_rounds"):
            self.recorded(name)
            _, document = self.written()
            space = document["address_space"]
            spans = space["spans"]
            self.assertEqual(sum(spans["live_bytes"]), document["summary"]["totals"]["live_bytes"])
            self.assertEqual(sum(spans["blocks"]), document["summary"]["totals"]["live_blocks"])
            starts = [int(start, 16) for start in spans["start"]]
            self.assertEqual(starts, sorted(starts))
            for start, length, after in zip(starts, spans["length"], starts[1:]):
                self.assertGreater(after - start - length, space["max_gap_bytes"] - 2)
            for live, touched in zip(spans["live_bytes"], spans["touched_bytes"]):
                self.assertEqual(touched % 4096, 0)
                self.assertLessEqual(live, touched)

    def test_bad_releases_have_their_stacks(self):
        self.recorded("mismatched")
        _, document = self.written()
        self.assertTrue(document["errors"])
        self.assertTrue(all(error["frames"] for error in document["errors"]))

    def test_what_a_trace_does_not_have_is_null(self):
        self.recorded("leak_shop", "--no-leak-scan")
        _, document = self.written()
        self.assertEqual(set(document["stacks"]["definite_bytes"]), {None})
        self.assertIsNone(document["graph"])
        self.recorded("leak_shop", "--aggregate")
        _, document = self.written()
        self.assertIsNone(document["timeline"])
        self.assertEqual(document["cells"]["stack"], [])
        self.assertEqual(set(document["stacks"]["peak_bytes"]), {None})

    def test_resident_memory_is_what_show_fragmentation_has(self):
        self.recorded("answers_frag")
        _, document = self.written()
        shown = heaptap_test.read_report(heaptap("show", "fragmentation", "--json", self.trace).stdout)
        text = heaptap("show", "fragmentation", self.trace).stdout.decode()
        resident, parts = document["resident"], shown["totals"]["resident_parts"]
        if parts is None:
            self.assertIn(resident["unknown"], text)
            self.skipTest("this kernel doesn't tell which pages are resident")
        self.assertEqual((resident["bytes"], resident["time_ns"], resident["moment"]), (parts["bytes"], parts["time_ns"], "the end"))
        total = sum(part["tenths"] for part in resident["parts"])
        self.assertIn(f"\n{total // 10}.{total % 10} MiB resident at the end: ", text)
        unwritten = parts["bytes"] - sum(part["bytes"] for part in resident["parts"])
        self.assertTrue(0 <= unwritten < 2**20 / 10, unwritten)
        written = ", ".join(f"{part['tenths'] // 10}.{part['tenths'] % 10} {part['name']}" for part in resident["parts"])
        self.assertIn(f" resident at the end: {written}\n", text)
        self.assertEqual([(arena["resident_bytes"], arena["live_bytes"], arena["live_blocks"], arena["unused_page_bytes"]) for arena in resident["arenas"]],
                         [(arena["resident_bytes"], arena["live_bytes"], arena["live_blocks"], arena["unused_page_bytes"]) for arena in shown["arenas"]])
        self.assertEqual(resident["arenas"][0]["name"], "main arena")
        self.assertEqual((resident["kept_bytes"], resident["unused_page_bytes"]), (shown["kept_bytes"], shown["unused_page_bytes"]))
        stacks = resident["stacks"]
        ids = [document["stacks"]["id"][row] for row in stacks["stack"]]
        self.assertEqual(list(zip(ids, stacks["live_bytes"], stacks["live_blocks"], stacks["pages"], stacks["kept_bytes"])),
                         [(stack["stack"], stack["live_bytes"], stack["live_blocks"], stack["pages"], stack["kept_bytes"]) for stack in shown["stacks"]])

    def test_resident_memory_is_unknown_without_a_scan(self):
        self.recorded("answers_frag", "--no-leak-scan")
        _, document = self.written()
        self.assertEqual(document["resident"], {"unknown": ""})
        self.assertFalse(document["summary"]["leaks"]["scanned"])

    def test_source_lines_on_request(self):
        # Built here: debug information of a cached object file may name the checkout of another build.
        source = self.directory / "shop.cc"
        source.write_text((ROOT / "demo/shop.cc").read_text())
        subprocess.run(["g++", "-g", "-O1", "-o", self.directory / "shop", source], check=True)
        outcome = heaptap("run", "-q", "-o", self.trace, "--", self.directory / "shop", cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        _, document = self.written()
        self.assertEqual(document["sources"], {})
        _, document = self.written("--source")
        path = next(path for path in document["sources"] if path.endswith("/shop.cc"))
        self.assertEqual(document["sources"][path], source.read_text().splitlines())
        self.assertFalse([path for path in document["sources"] if path.startswith("/usr/")], "libraries' headers aren't in it")

    def test_no_file_is_overwritten_and_none_is_left_half_written(self):
        self.recorded("leak_shop")
        file = self.directory / "there.html"
        file.write_text("mine")
        outcome = heaptap("report", self.trace, "-o", file)
        self.assertEqual((outcome.status, file.read_text()), (125, "mine"), str(outcome))
        self.assertIn(b"--force", outcome.stderr)
        outcome = heaptap("report", self.trace, "-o", "/no/such/directory/x.html")
        self.assertEqual(outcome.status, 125, str(outcome))
        outcome = heaptap("report", self.directory / "missing.htap", cwd=self.directory)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertFalse((self.directory / "missing.html").exists())

    def test_a_pipe_stays_a_pipe(self):
        self.recorded("temporary")
        pipe = self.directory / "pipe"
        os.mkfifo(pipe)
        for force in ((), ("--force",)):
            with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
                outcome = heaptap("report", self.trace, "-o", pipe, *force)
                self.assertEqual(outcome.status, 0, str(outcome))
                self.assertTrue(document_of(reader.stdout.read()))
            self.assertTrue(pipe.is_fifo())
        with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True):
            outcome = heaptap("export", self.trace, "--to", "sqlite", "-o", pipe, "--force")
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertIn(b"needs a regular file", outcome.stderr)
        self.assertTrue(pipe.is_fifo())

    def test_the_file_is_named_after_the_trace(self):
        self.recorded("leak_shop")
        outcome = heaptap("report", self.trace, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertTrue((self.directory / self.trace.with_suffix(".html").name).exists(), str(outcome))

    def test_without_a_name_it_is_the_newest_trace_here(self):
        self.assertEqual(heaptap("run", "-q", "--", built("temporary"), cwd=self.directory).status, 0)
        outcome = heaptap("report", "-o", "-", cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        self.assertIn("temporary", document_of(outcome.stdout.decode())["title"])
        outcome = heaptap("export", "--to", "folded", cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertIn(b"main;", outcome.stdout)

    def test_wrong_usage(self):
        for arguments in ([], ["--nonsense", self.trace]):
            outcome = heaptap("report", *arguments, cwd=self.directory)
            self.assertEqual(outcome.status, 2, str(outcome))


if __name__ == "__main__":
    unittest.main()
