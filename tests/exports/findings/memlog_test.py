"""memlog's numbered files: what is outstanding, and the changes, which sum up to it."""
import re
import unittest

import findings
from findings import heaptap, heaptap_test

# Two threads that allocate, grow and free, by turns, so that what is outstanding goes up and down.
CHANGING = """#include <pthread.h>
#include <stdlib.h>
void* kept[64];
void* last;
static void* take(size_t size) { return malloc(size); }
static void* work(void* arg) {
  for (int i = 0; i < 4000; ++i) {
    int place = (i * 7 + *(int*)arg) % 32 + 32 * *(int*)arg;
    if (kept[place] && i % 3 == 0) kept[place] = realloc(kept[place], 100 + i);
    else { free(kept[place]); kept[place] = take(10 + i % 50); }
  }
  return 0;
}
int main(void) {
  int numbers[2] = {0, 1};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], 0, work, &numbers[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
  last = malloc(777);
  for (int i = 0; i < 100000; ++i) free(malloc(5000));
  for (int i = 0; i < 16; ++i) { free(kept[i]); kept[i] = 0; }
  void* failed = realloc(kept[40], (size_t)-1 / 4);
  return failed != 0;
}
"""


class Memlog(findings.TestCase):
    def read(self, text):
        """(outstanding, change), and (change, frames) of each stack."""
        head, _, rest = text.partition("\n")
        outstanding, change = re.fullmatch(r"(-?\d+) \(([+-]\d+)\)", head).groups()
        stacks = re.findall(r"^([+-]\d+)\n((?:\t.*\n)+)", rest, re.MULTILINE)
        self.assertEqual("".join(f"{change}\n{lines}" for change, lines in stacks), rest)
        return (int(outstanding), int(change)), [(int(change), lines) for change, lines in stacks]

    def export_next(self, *options):
        outcome = heaptap("export", "--to", "memlog", *options, self.trace, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return (self.directory / outcome.stdout.decode().rstrip("\n")).resolve()

    def test_the_first_file_has_all_that_is_outstanding(self):
        report = self.record("leak_shop")
        file = self.export_next()
        self.assertEqual(file.name, f"leak_shop-{report['target']['pid']}-1.memlog")
        (outstanding, change), stacks = self.read(file.read_text())
        self.assertEqual((outstanding, change), (report["totals"]["live_bytes"],) * 2)
        self.assertEqual(sum(bytes for bytes, _ in stacks), outstanding)
        self.assertEqual([bytes for bytes, _ in stacks], sorted((bytes for bytes, _ in stacks), reverse=True))
        receipt = next(lines for bytes, lines in stacks if lines.startswith("\tmalloc\n\tprint_receipt"))
        self.assertRegex(receipt, r"^\tmalloc\n\tprint_receipt\(int\) \(/\S+/leak_shop\)\n\tmain \(")

    def test_the_next_files_have_the_changes(self):
        report = self.record("leak_shop")
        seats = self.export_next("--function", "reserve")
        (part, _), _ = self.read(seats.read_text())
        whole = self.export_next()
        (outstanding, change), stacks = self.read(whole.read_text())
        self.assertEqual((outstanding, change), (report["totals"]["live_bytes"], report["totals"]["live_bytes"] - part))
        self.assertFalse(any("reserve" in lines for _, lines in stacks))
        (outstanding, change), stacks = self.read(self.export_next("--function", "reserve").read_text())
        self.assertEqual(outstanding, part)
        self.assertEqual(change, part - report["totals"]["live_bytes"])
        self.assertTrue(stacks and all(bytes < 0 for bytes, _ in stacks))
        self.assertEqual(self.read(self.export_next("--function", "reserve").read_text()), ((part, 0), []))
        self.assertEqual(sorted(file.name.rpartition("-")[2] for file in self.directory.glob("*.memlog")), [f"{n}.memlog" for n in (1, 2, 3, 4)])

    def test_files_are_written_into_the_directory_named(self):
        self.record("leak_shop")
        (self.directory / "logs").mkdir()
        self.assertEqual(self.export_next("-o", "logs").parent.name, "logs")
        self.assertEqual(self.export_next("-o", "made").parent.name, "made")
        outcome = heaptap("export", "--to", "memlog", "-o", "there_is_none/below", self.trace, cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))

    def record_changing(self):
        source = self.directory / "changing.c"
        source.write_text(CHANGING)
        self.read_by("gcc", "-w", "-g", "-O0", "-pthread", "-o", self.directory / "changing", source)
        outcome = heaptap("run", "-q", "-o", self.trace, "--", self.directory / "changing", cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return heaptap_test.summary(self.trace)

    def export_series(self, *options):
        """What each of the files says, in order."""
        outcome = heaptap("export", "--to", "memlog", *options, self.trace, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        files = [(self.directory / line).resolve() for line in outcome.stdout.decode().splitlines()]
        numbers = [int(re.search(r"-(\d+)\.memlog$", file.name)[1]) for file in files]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(files))))
        return [self.read(file.read_text()) for file in files]

    def live_bytes(self, *options):
        outcome = heaptap("show", "summary", "--json", *options, self.trace)
        self.assertEqual(outcome.status, 0, str(outcome))
        return heaptap_test.read_report(outcome.stdout)["totals"]["live_bytes"]

    def check_sums(self, series, before=0):
        """Each file's change is the sum of its stacks', and leads from the one before to this one. Returns the sum by stack."""
        held = {}
        for (outstanding, change), stacks in series:
            self.assertEqual(sum(bytes for bytes, _ in stacks), change)
            self.assertEqual(before + change, outstanding)
            self.assertEqual([bytes for bytes, _ in stacks], sorted((bytes for bytes, _ in stacks), reverse=True))
            for bytes, lines in stacks:
                held[lines] = held.get(lines, 0) + bytes
                self.assertNotEqual(bytes, 0)
            before = outstanding
        return {lines: bytes for lines, bytes in held.items() if bytes != 0}

    def test_a_series_has_what_was_outstanding_at_each_time(self):
        report = self.record_changing()
        step_us = max(report["capture"]["duration_ns"] // 9000, 1)
        series = self.export_series("--every", f"{step_us}us")
        self.assertEqual(len(series), -(-report["capture"]["duration_ns"] // (step_us * 1000)))
        for number, ((outstanding, _), _) in enumerate(series[:-1], 1):
            self.assertEqual(outstanding, self.live_bytes("--to", f"{number * step_us}us"), number)
        self.assertEqual(series[-1][0][0], report["totals"]["live_bytes"])
        held = self.check_sums(series)
        [whole] = self.export_series("-o", self.other_directory())
        self.assertEqual(held, {lines: bytes for bytes, lines in whole[1]})

    def other_directory(self):
        (self.directory / "other").mkdir(exist_ok=True)
        return "other"

    def test_a_series_of_moments_goes_on_after_the_files_that_are_there(self):
        report = self.record_changing()
        first = self.export_series()
        middle_us = report["capture"]["duration_ns"] // 2000
        series = self.export_series("--at", "end", "--at", f"{middle_us}us", "--at", "start", "--at", "end")
        self.assertEqual([outstanding for (outstanding, _), _ in series],
                         [self.live_bytes("--to", "0"), self.live_bytes("--to", f"{middle_us}us"), report["totals"]["live_bytes"]])
        self.check_sums(first + series)

    def test_releases_count_for_the_stack_that_allocated(self):
        self.record_changing()
        blocks = heaptap_test.read_report(heaptap("show", "blocks", "--json", self.trace).stdout)["blocks"]
        [last_ns] = [block["allocated_at_ns"] for block in blocks if block["size"] == 777]
        _, (_, stacks) = self.export_series("--at", f"{last_ns}ns", "--at", "end")
        self.assertTrue(any(bytes < 0 and "work" in lines for bytes, lines in stacks), stacks)
        self.assertFalse(any(lines.startswith("\tfree") for _, lines in stacks))

    def test_a_series_of_one_thread_or_function(self):
        self.record_changing()
        for options in (["--thread", "2"], ["--function", "take"]):
            series = self.export_series("--every", "1ms", "-o", self.other_directory(), *options)
            self.assertEqual(series[-1][0][0], self.live_bytes(*options), options)

    def test_a_series_of_a_trace_that_was_cut_off_ends_with_its_last_event(self):
        self.record_changing()
        self.trace.write_bytes(self.trace.read_bytes()[:-200])
        self.assertTrue(heaptap_test.summary(self.trace)["capture"]["truncated"])
        series = self.export_series("--every", "1ms")
        self.assertEqual(series[-1][0][0], self.live_bytes())
        self.check_sums(series)

    def test_what_a_series_cannot_be(self):
        self.record_changing()
        for options, status, cause in [
                (["--every", "0", "--to", "memlog"], 2, "--every needs a time above 0"),
                (["--every", "1s", "--to", "csv"], 2, "the format csv is a single file"),
                (["--at", "soon", "--to", "memlog"], 2, "'soon' is not a time"),
                (["--at", "100h", "--to", "memlog"], 2, "'100h' is later than the recording's end")]:
            outcome = heaptap("export", *options, self.trace, cwd=self.directory)
            self.assertEqual((outcome.status, outcome.stdout), (status, b""), str(outcome))
            self.assertIn(cause, outcome.stderr.decode())
        self.assertEqual(list(self.directory.glob("*.memlog")), [])

    def test_totals_have_no_series(self):
        self.record("leak_shop", "--aggregate")
        outcome = heaptap("export", "--to", "memlog", "--every", "1s", self.trace, cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))
        self.assertIn("record without it", outcome.stderr.decode())

    def test_hostile_names(self):
        (outstanding, _), stacks = self.read(self.hostile("memlog").decode())
        self.assertEqual((outstanding, len(stacks)), (findings.HOSTILE_BYTES, findings.HOSTILE_NAMES))
        self.assertEqual([lines.count("\n") for _, lines in stacks], [2] * len(stacks))


if __name__ == "__main__":
    unittest.main()
