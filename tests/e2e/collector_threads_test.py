"""`--collector-threads`: the trace says the same for any number of threads, and they are there only where heaptap falls behind."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import built, heaptap, summary
from waiting import ended, read_until, wait_for

# For each line of its input so many pairs: more events than a frame has, fewer than the log has room for at first.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
static void *keep[64];
static void allocate(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) {
    free(keep[i % 64]);
    keep[i % 64] = malloc(i % 5000 + 1);
  }
}
int main(void) {
  static char in[64], out[4096];
  setvbuf(stdout, out, _IOLBF, sizeof(out));
  puts("ready");
  while (fgets(in, sizeof(in), stdin) != NULL) {
    allocate((unsigned)atoi(in));
    puts("done");
  }
  return 7;
}
"""
PAIRS = 180_000
NOBODY = 65534
NAME = "heaptap-frames"


class CollectorThreads(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.make_class_directory()
        os.chmod(directory, 0o755)
        source = directory / "steps.c"
        source.write_text(SOURCE)
        cls.program = source.with_suffix("")
        subprocess.run(["gcc", "-O0", "-g", "-fno-builtin", source, "-o", cls.program], check=True)

    def start(self, *options, **popen):
        command = [heaptap_test.HEAPTAP, "run", "-q", "--force", "-o", self.trace, *options, "--", self.program]
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=self.directory, **popen)
        self.addCleanup(self.clean_up, process)
        self.received = read_until(process.stdout.fileno(), "it is ready", lambda text: b"ready" in text, state=process)
        return process

    @staticmethod
    def clean_up(process):
        heaptap_test.end(process)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()

    def step(self, process, pairs, times):
        process.stdin.write(f"{pairs}\n".encode())
        process.stdin.flush()
        self.received = read_until(process.stdout.fileno(), "it is done", lambda text: text.count(b"done") >= times, state=process,
                                   so_far=self.received)

    def fall_behind(self, process):
        """The program writes while heaptap is stopped: when that continues, it has more than a frame to make up for."""
        os.kill(process.pid, signal.SIGSTOP)
        try:
            self.step(process, PAIRS, 1)
        finally:
            os.kill(process.pid, signal.SIGCONT)

    @staticmethod
    def names(process):
        names = []
        for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
            try:
                names.append((task / "comm").read_text().strip())
            except OSError:
                pass
        return names

    def finish(self, process):
        process.stdin.close()
        self.assertEqual(ended(process), 7, process.stderr.read().decode())

    def figures(self):
        report = summary(self.trace)
        capture = report["capture"]
        self.assertTrue(capture["complete"])
        self.assertEqual(capture["lost_events"], 0)
        return capture["events"], report["totals"]

    def recorded(self, *options):
        process = self.start("--no-leak-scan", *options)
        self.fall_behind(process)
        self.step(process, 1000, 2)
        self.finish(process)
        return self.figures()

    def test_the_totals_are_the_same(self):
        events, totals = self.recorded("--collector-threads", "1")
        self.assertGreater(events, 2 * PAIRS)
        for threads in (2, 4):
            with self.subTest(threads=threads):
                more_events, more_totals = self.recorded("--collector-threads", str(threads))
                self.assertEqual(more_events, events)
                for name in ("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes"):
                    self.assertEqual(more_totals[name], totals[name], name)

    def test_a_thread_begins_where_heaptap_falls_behind(self):
        process = self.start("--no-leak-scan", "--collector-threads", "3")
        self.step(process, 1000, 1)
        self.assertNotIn(NAME, self.names(process))
        os.kill(process.pid, signal.SIGSTOP)
        try:
            self.step(process, PAIRS, 2)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        wait_for("heaptap has another thread", lambda: NAME in self.names(process), state=lambda: self.names(process))
        self.finish(process)
        self.figures()

    def test_one_is_one(self):
        process = self.start("--no-leak-scan", "--collector-threads", "1")
        self.fall_behind(process)
        # What was written is in the file: heaptap has caught up.
        [target] = heaptap_test.descendants(process.pid)
        done = heaptap("mark", str(target), "here", cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))
        self.assertNotIn(NAME, self.names(process))
        self.finish(process)
        self.figures()

    def test_a_killed_collector_leaves_whole_frames(self):
        process = self.start("--no-leak-scan", "--collector-threads", "4")
        self.fall_behind(process)
        wait_for("heaptap has another thread", lambda: NAME in self.names(process), state=lambda: self.names(process))
        os.kill(process.pid, signal.SIGKILL)
        ended(process)
        capture = summary(self.trace)["capture"]
        self.assertFalse(capture["complete"])

    def test_without_room_for_threads_it_makes_all_itself(self):
        if os.getuid() != 0 or not shutil.which("prlimit"):
            self.skipTest("needs root and prlimit")
        os.chown(self.directory, NOBODY, NOBODY)
        process = self.start("--no-leak-scan", "--collector-threads", "4", user=NOBODY, group=NOBODY, extra_groups=[])
        subprocess.run(["prlimit", f"--pid={process.pid}", "--nproc=0:0"], user=NOBODY, group=NOBODY, extra_groups=[], check=True)
        self.fall_behind(process)
        self.step(process, 1000, 2)
        self.assertNotIn(NAME, self.names(process))
        self.finish(process)
        self.assertGreater(self.figures()[0], 2 * PAIRS)

    def test_nothing_is_lost_of_many_threads(self):
        for threads in (1, 2, 4):
            with self.subTest(threads=threads):
                outcome = heaptap("run", "-q", "--force", "--no-leak-scan", f"--collector-threads={threads}", "-o", self.trace, "--",
                                  built("log_outrun"), "100000", cwd=self.directory)
                self.assertEqual(outcome.status, 0, str(outcome))
                totals = self.figures()[1]
                self.assertEqual(totals["unseen_frees"], 0)
                self.assertGreaterEqual(totals["allocations"], 1_000_000)
                self.assertEqual(totals["allocations"] - totals["frees"], totals["live_blocks"])

    def test_a_wrong_number_is_refused(self):
        for word in ("0", "65", "-1", "two", "1.5", ""):
            with self.subTest(word=word):
                outcome = heaptap("run", f"--collector-threads={word}", "--", "/bin/true", cwd=self.directory)
                self.assertEqual(outcome.status, 2, str(outcome))
                self.assertRegex(outcome.stderr, rb"--collector-threads.* (is not a number from 1 to 64|needs a value)")
                self.assertEqual(list(self.directory.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
