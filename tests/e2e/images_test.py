"""The programs that one process executes one after the other: one recording, an image for each, and marks that go on."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, heaptap
from waiting import ended, wait_for

# Does what each line of its input says: `keep N` allocates, `exec` executes this program again, `fork` has a child do that.
STEPS = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
extern "C" [[gnu::noinline]] void* keep_first(int size) { void* volatile block = std::malloc(size); return block; }
extern "C" [[gnu::noinline]] void* keep_second(int size) { void* volatile block = std::malloc(size); return block; }
int main(int argc, char** argv) {
  setvbuf(stdin, nullptr, _IONBF, 0);  // what another program is to read stays in the pipe
  const int image = argc > 1 ? std::atoi(argv[1]) : 1;
  char next[16];
  std::snprintf(next, sizeof next, "%d", image + 1);
  std::printf("image %d\n", image);
  std::fflush(stdout);
  static void* kept[1000];
  int count = 0;
  for (char line[64]; std::fgets(line, sizeof line, stdin) != nullptr;) {
    if (std::strncmp(line, "keep ", 5) == 0) {
      kept[count++ % 1000] = image == 1 ? keep_first(std::atoi(line + 5)) : keep_second(std::atoi(line + 5));
    }
    if (std::strcmp(line, "exec\n") == 0) execl("/proc/self/exe", argv[0], next, nullptr);
    if (std::strcmp(line, "fork\n") == 0) {
      if (fork() == 0) {
        keep_first(1);  // what allocates nothing is no program of its own in a recording
        execl("/proc/self/exe", argv[0], "7", nullptr);
      }
      wait(nullptr);
    }
    std::puts("done");
    std::fflush(stdout);
  }
}
"""


class Images(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.build = heaptap_test.tempfile.TemporaryDirectory(prefix="heaptap-images-")
        source = pathlib.Path(cls.build.name) / "steps.cc"
        source.write_text(STEPS)
        cls.program = source.with_suffix("")
        made = heaptap_test.run(["g++", "-g", "-O0", "-o", cls.program, source])
        assert made.status == 0, str(made)

    @classmethod
    def tearDownClass(cls):
        cls.build.cleanup()
        super().tearDownClass()

    def start(self, *options):
        process = subprocess.Popen([HEAPTAP, "run", "-q", *options, "--", str(self.program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.directory, text=True, bufsize=1)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(heaptap_test.end, process)
        self.assertEqual(process.stdout.readline(), "image 1\n")
        names = {pid: os.readlink(f"/proc/{pid}/exe") for pid in heaptap_test.descendants(process.pid)}
        self.pid = next(pid for pid, name in names.items() if name == str(self.program))
        return process

    def tell(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    def finish(self, process):
        process.stdin.close()
        self.assertEqual(ended(process), 0, process.stderr.read())

    def mark(self, name):
        outcome = heaptap("mark", self.pid, name)
        self.assertEqual(outcome.status, 0, str(outcome))

    def two_images(self, *options):
        """1: a block, mark `warm`, a block; exec; 2: a block, mark `later`, a block."""
        process = self.start(*options)
        self.tell(process, "keep 1000")
        self.mark("warm")
        self.tell(process, "keep 2000")
        self.assertEqual(self.tell(process, "exec"), "image 2\n")
        self.tell(process, "keep 4000")
        self.mark("later")
        self.tell(process, "keep 8000")
        return process

    def kept(self, *arguments, of=None):
        """What keep_first and keep_second are shown to have allocated."""
        outcome = heaptap("show", "top", *arguments, "--json", of or self.index(), cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        sums = {}
        report = heaptap_test.read_report(outcome.stdout)
        for stack in report["stacks"]:
            name = stack["frames"][0]["function"] if stack["frames"] else ""
            if name.startswith("keep_"):
                sums[name] = sums.get(name, 0) + stack["allocated_bytes"]
        self.last = report
        return sums

    def index(self):
        return next(self.directory.glob("*.run"))

    def test_an_image_is_chosen(self):
        for via in ("agent", "ptrace"):
            with self.subTest(via):
                for left in self.directory.iterdir():
                    left.unlink()
                self.finish(self.two_images("--via", via))
                self.assertEqual(self.kept("--image", "1"), {"keep_first": 3000})
                self.assertEqual(self.kept("--image", "2"), {"keep_second": 12000})
                self.assertEqual(self.kept(), {"keep_first": 3000, "keep_second": 12000})
                # By the trace of any of them, and in a process of several.
                for trace in self.directory.glob("heaptap.steps.*.htap"):
                    self.assertEqual(self.kept("--image", "1", of=trace), {"keep_first": 3000})
                    self.assertEqual(self.kept("--image", "2", of=trace), {"keep_second": 12000})
                self.assertEqual(self.kept("--image", "1", "--process", str(self.pid)), {"keep_first": 3000})

    def test_an_image_that_is_not_there(self):
        self.finish(self.two_images())
        outcome = heaptap("show", "top", "--image", "3", self.index())
        self.assertEqual(outcome.status, 2, str(outcome))
        self.assertIn(b"1 steps, 2 steps", outcome.stderr)
        self.assertEqual(heaptap("show", "top", "--image", "0", self.index()).status, 2)
        self.assertEqual(heaptap("show", "--by", "process", "--image", "1", self.index()).status, 2)
        trace = next(self.directory.glob("heaptap.steps.*.htap"))
        self.index().unlink()
        outcome = heaptap("show", "top", "--image", "1", trace)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertIn(b"no index", outcome.stderr)

    def test_other_commands_take_an_image(self):
        self.finish(self.two_images("-o", self.trace))
        index = self.directory / "trace.run"
        for name, image in (("keep_first", "1"), ("keep_second", "2")):
            outcome = heaptap("export", "--to", "folded", "--image", image, index)
            self.assertEqual(outcome.status, 0, str(outcome))
            self.assertIn(name.encode(), outcome.stdout)
            page = self.directory / f"{image}.html"
            outcome = heaptap("report", "-q", "--image", image, "-o", page, index)
            self.assertEqual((outcome.status, page.exists()), (0, True), str(outcome))
        self.assertEqual(heaptap("check", "--image", "2", "--max-live", "1M", self.trace).status, 0)
        self.assertEqual(heaptap("check", "--image", "2", "--max-live", "2K", self.trace).status, 1)
        outcome = heaptap("diff", "--image", "1", "--from", "warm", "--to", "end", index)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertIn(b"keep_first", outcome.stdout)
        self.assertNotIn(b"keep_second", outcome.stdout)

    def test_several_processes_need_a_choice(self):
        process = self.start("-f")
        process.stdin.write("fork\nkeep 3\n")
        process.stdin.flush()
        for expected in ("image 7\n", "done\n"):
            self.assertEqual(process.stdout.readline(), expected)
        process.stdin.close()
        ended(process)
        outcome = heaptap("show", "top", "--image", "1", self.index())
        self.assertEqual(outcome.status, 2, str(outcome))
        self.assertIn(b"--process", outcome.stderr)
        # The child's programs are counted from the fork on.
        table = heaptap("show", "--by", "process", "--json", self.index())
        images = {}
        for entry in json.loads(table.stdout)["processes"]:
            images.setdefault(entry["target"]["pid"], []).append(entry["image"])
        self.assertEqual(sorted(map(sorted, images.values())), [[1], [1, 2]])
        child = next(pid for pid, found in images.items() if len(found) == 2)
        self.assertEqual(self.kept("--process", str(child), "--image", "2"), self.kept("--process", str(child)))

    def test_marks_cross_an_exec(self):
        self.finish(self.two_images())
        first, second = ("--image", "1"), ("--image", "2")
        self.assertEqual(self.kept(*first, "--from", "warm"), {"keep_first": 2000})
        self.assertEqual(self.kept(*first, "--to", "warm"), {"keep_first": 1000})
        self.assertEqual(self.kept(*second, "--from", "later"), {"keep_second": 8000})
        # From before the exec: all of what came after it, and nothing.
        self.assertEqual(self.kept(*second, "--from", "warm"), {"keep_second": 12000})
        self.assertTrue(self.last["window"]["from_is_earlier"])
        self.assertEqual(self.kept(*second, "--from", "warm", "--to", "later"), {"keep_second": 4000})
        self.assertEqual(self.kept(*second, "--to", "warm"), {})
        self.assertTrue(self.last["window"]["to_is_earlier"])
        self.assertEqual(self.last["totals"]["allocations"], 0)
        text = heaptap("show", "top", *second, "--from", "warm", self.index()).stdout.decode()
        self.assertIn("mark warm was set before the process executed this program: everything from this program's start counts", text)
        text = heaptap("show", "top", *second, "--to", "warm", self.index()).stdout.decode()
        self.assertIn("nothing of this program was recorded before it", text)
        # Numbers go on.
        self.assertEqual([(mark["number"], mark["kind"], mark["name"]) for mark in self.last["marks"]], [(1, "earlier", "warm"), (2, "mark", "later")])
        self.assertEqual(self.kept(*second, "--from", "#2"), {"keep_second": 8000})
        self.assertEqual(self.kept(*second, "--from", "#1"), {"keep_second": 12000})

    def test_marks_at_an_interval_go_on(self):
        process = self.start("--mark-every", "5ms")
        def marks():
            return len(heaptap("console", self.pid, "-x", "marks").stdout.splitlines()[1:])

        known = 0
        for image in (1, 2, 3):
            wait_for("two more marks", lambda: marks() >= known + 2, state=process)
            known = marks()
            if image < 3:
                self.assertEqual(self.tell(process, "exec"), f"image {image + 1}\n")
        self.finish(process)
        self.kept("--image", "3")
        marks = self.last["marks"]
        self.assertEqual([mark["number"] for mark in marks], list(range(1, len(marks) + 1)))
        kinds = [mark["kind"] for mark in marks]
        self.assertEqual(kinds, sorted(kinds))  # earlier ones first
        self.assertEqual(set(kinds), {"earlier", "mark"})

    def test_what_is_switched_off_stays_so(self):
        process = self.start()
        self.assertEqual(heaptap("console", self.pid, "-x", f"stop {self.pid}").status, 0)
        self.assertEqual(self.tell(process, "exec"), "image 2\n")
        self.tell(process, "keep 4000")
        self.finish(process)
        self.assertEqual(self.kept("--image", "2"), {})

    def test_a_recording_that_goes_on(self):
        process = self.two_images()
        said = heaptap("console", self.pid, "-x", "processes", "-x", "show top --image 1", "-x", "set image 1", "-x", "show top", "-x", "dump > all",
                       "-x", "export folded > folded", "-x", "set image last", "-x", "show top", "-x", "marks", cwd=self.directory)
        self.assertEqual((said.status, said.stderr), (0, b""), str(said))
        text = said.stdout.decode()
        lines = [line.split() for line in text.splitlines() if f"{self.pid} " in line]
        self.assertEqual([(line[0], line[2]) for line in lines[:2]], [(str(self.pid), "1"), (str(self.pid), "2")], text)
        self.assertEqual((text.count("keep_first") > 1, text.count("keep_second") > 0), (True, True))
        self.assertIn("keep_first", (self.directory / "all").read_text())
        self.assertIn("keep_first", (self.directory / "folded").read_text())
        self.assertRegex(text, r"1 .* warm \(before this program\)")
        self.assertRegex(text, r"2 .* later")
        self.assertEqual(heaptap("console", self.pid, "-x", "set image 3").status, 2)
        for image, name in ((1, "keep_first"), (2, "keep_second")):
            sample = json.loads(heaptap("top", "--json", "--count", "1", "--filter", "keep_", "--image", image, self.pid).stdout)
            self.assertEqual(sample["process"]["image"], image)
            self.assertIn(name, sample["stacks"][0]["site"])
        self.finish(process)

    def test_a_trace_without_the_words_of_later_versions(self):
        self.finish(self.two_images("-o", self.trace))
        index = self.directory / "trace.run"
        lines = index.read_text().splitlines()
        self.assertEqual([line.split()[4] for line in lines[1:]], ["2", "1"])
        index.write_text("\n".join([lines[0], *(" ".join(line.split()[:4]) for line in lines[1:])]) + "\n")
        self.assertEqual(self.kept("--image", "1", of=index), {"keep_first": 3000})
        index.write_text(lines[0] + "\n" + lines[1].rsplit(" ", 1)[0] + " 0\n")
        self.assertEqual(heaptap("show", "top", index).status, 125)


if __name__ == "__main__":
    unittest.main()
