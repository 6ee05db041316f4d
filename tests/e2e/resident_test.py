"""Resident memory: sampled by agent, by ptrace, after an attach and on another machine, and told where it explains what live memory
doesn't; unknown where there are no samples."""
import gzip
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import heaptap
from waiting import finished

# 40 MB that the allocator can't give back: the last block above all of them is in use.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kBlocks = 800, kBytes = 50000 };
static char* blocks[kBlocks];
int main(void) {
  for (int i = 0; i < kBlocks; ++i) memset(blocks[i] = malloc(kBytes), 1, kBytes);
  for (int i = 0; i + 1 < kBlocks; ++i) free(blocks[i]);
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) free(malloc(100));
  return 0;
}
"""
MIB = 1 << 20
OLD_TRACE = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "corpus" / "trace_reader" / "tiny"


class Resident(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.make_class_directory()
        cls.program = directory / "fragmented"
        source = cls.program.with_suffix(".c")
        source.write_text(PROGRAM)
        subprocess.run(["cc", "-O0", "-g", "-o", cls.program, source], check=True)

    def setUp(self):
        super().setUp()
        self.trace = self.directory / "trace.htap"

    def run_program(self, *options):
        done = heaptap("run", *options, "-o", self.trace, "--", self.program)
        self.assertEqual(done.status, 0, str(done))
        return done.stderr.decode()

    def show(self, view, *options, trace=None):
        return heaptap_test.read_report(heaptap("show", view, "--json", *options, trace or self.trace).stdout)

    def resident(self):
        resident = self.show("stats")["totals"]["resident"]
        self.assertIsNotNone(resident)
        self.assertEqual(resident["bytes"], sum(resident[kind] for kind in ("anonymous_bytes", "file_bytes", "shared_bytes")))
        self.assertGreater(resident["anonymous_bytes"], 38 * MIB)
        self.assertLess(resident["anonymous_bytes"], 45 * MIB)
        self.assertGreaterEqual(resident["peak_bytes"], resident["bytes"])
        return resident

    def test_by_the_agent(self):
        said = self.run_program("--via", "agent")
        resident = self.resident()
        self.assertTrue(resident["peak_exact"])
        # The program has no shared memory of its own.
        self.assertEqual(resident["log_bytes"], resident["shared_bytes"])
        by_kernel = r"[34]\d\.\d MiB anonymous, [0-9.]+ .iB of files, about "
        by_page = r"0\.[01] live, 3\d\.\d free inside the allocator, "
        counted = self.show("stats")["totals"]["resident_parts"] is not None
        self.assertRegex(said, r"heaptap: [34]\d\.\d MiB resident" + (": " + by_page if counted else r", 5\d\.\d KiB live: " + by_kernel))
        text = heaptap("show", "summary", self.trace).stdout.decode()
        self.assertRegex(text, r"(?m)^  resident +[34]\d\.\d MiB   in RAM after .*: " + (by_page if counted else by_kernel))
        self.assertRegex(text, r"(?m)^  peak resident +[34]\d\.\d MiB$")

    def test_by_ptrace(self):
        self.run_program("--via", "ptrace")
        resident = self.resident()
        self.assertEqual((resident["log_bytes"], resident["shared_bytes"]), (0, 0))
        self.assertTrue(resident["peak_exact"])

    def test_after_an_attach(self):
        program = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(program.stdout.close)
        self.addCleanup(heaptap_test.end, program)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        done = heaptap("attach", "--duration", "1ms", "-o", self.trace, program.pid)
        self.assertEqual(done.status, 0, str(done))
        finished(program)
        self.assertEqual(self.resident()["log_bytes"], 0)

    def test_on_another_machine(self):
        address = str(self.directory / "far.sock")
        with far.serving(address, "-q"):
            for via, has_log in (("agent", True), ("ptrace", False)):
                with self.subTest(via=via):
                    self.run_program("-q", "-H", address, "--via", via, "--force")
                    resident = self.resident()
                    self.assertEqual(resident["log_bytes"], resident["shared_bytes"])
                    self.assertEqual(resident["log_bytes"] > 0, has_log)
                    self.assertTrue(resident["peak_exact"])

    def test_the_timeline_has_it(self):
        self.run_program("-q")
        points = self.show("timeline")["points"]
        self.assertEqual(points[-1]["resident_bytes"], self.show("stats", "--to", f"{points[-1]['time_ns']}ns")["totals"]["resident"]["bytes"])
        known = [point["resident_bytes"] is not None for point in points]
        self.assertEqual(known, sorted(known))
        self.assertIn("RESIDENT", heaptap("show", "timeline", self.trace).stdout.decode())

    def test_heaptracks_format_has_it_both_ways(self):
        self.run_program("-q")
        exported = self.directory / "exported.gz"
        heaptap("export", "--to", "heaptrack", "-o", exported, self.trace)
        pages = [int(line[2:], 16) for line in gzip.decompress(exported.read_bytes()).decode().splitlines() if line.startswith("R ")]
        page_bytes = 4096
        resident = self.resident()
        self.assertEqual(max(pages) * page_bytes, resident["peak_bytes"])
        imported = self.show("stats", trace=exported)["totals"]["resident"]
        self.assertEqual((imported["bytes"], imported["peak_bytes"]), (resident["bytes"], resident["peak_bytes"]))
        self.assertEqual((imported["anonymous_bytes"], imported["peak_exact"]), (None, False))

    def test_what_was_not_sampled_is_unknown(self):
        self.assertIsNone(self.show("summary", trace=OLD_TRACE)["totals"]["resident"])
        self.assertTrue(all(point["resident_bytes"] is None for point in self.show("timeline", trace=OLD_TRACE)["points"]))
        for view in ("summary", "timeline"):
            self.assertNotIn("resident", heaptap("show", view, OLD_TRACE).stdout.decode().lower())


if __name__ == "__main__":
    unittest.main()
