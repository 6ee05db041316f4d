# CTEST PROCESSORS 2
"""`heaptap attach --via agent` beside uprobes (perf, bpftrace) on the functions that it hooks: both work, in whatever order they come and go,
and a function that has one already isn't touched. The program has a C library of its own, so that no other test's has the probes."""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import heaptap_test
from heaptap_test import built
from inject_test import Attached, log_mappings
from process_image import Image
from waiting import finished, wait_for

TRACING = pathlib.Path("/sys/kernel/tracing")
FUNCTIONS = ("malloc", "free", "realloc", "mmap", "munmap")


def tell_kernel(name, text):
    # In one write, and without a look for the file's end.
    file = os.open(TRACING / name, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


class Probes:
    """Uprobes at the beginnings of a library's functions."""

    def __init__(self, test, library):
        self.group, self.library, self.are_set = f"heaptap_{os.getpid()}", library, False
        words = [line.split() for line in subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True,
                                                         text=True).stdout.splitlines()]
        self.offsets = {word[2].partition("@")[0]: word[0] for word in words if word[2].partition("@")[0] in FUNCTIONS}
        test.assertEqual(set(self.offsets), set(FUNCTIONS))
        test.addCleanup(self.clear)

    def set(self):
        self.are_set = True
        for name, offset in self.offsets.items():
            tell_kernel("uprobe_events", f"p:{self.group}/{name} {self.library}:0x{offset}\n")
        tell_kernel(f"events/{self.group}/enable", "1")

    def hits(self):
        lines = (TRACING / "uprobe_profile").read_text().splitlines()
        return {words[1]: int(words[2]) for words in map(str.split, lines) if words[0] == str(self.library)}

    def clear(self):
        if self.are_set:
            tell_kernel(f"events/{self.group}/enable", "0")
            for name in self.offsets:
                tell_kernel("uprobe_events", f"-:{self.group}/{name}\n")
        self.are_set = False


@unittest.skipUnless(platform.machine() == "x86_64", "nothing is injected on other CPUs")
class InjectUprobes(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not os.access(TRACING / "uprobe_events", os.W_OK):
            heaptap_test.skip_what_the_kernel_lacks("uprobes can't be set here (tracefs)")
        library = self.directory / "libc.so.6"
        said = subprocess.run(["ldd", built("busy")], check=True, capture_output=True, text=True).stdout
        shutil.copy(re.search(r"libc\.so\.6 => (\S+)", said)[1], library)
        self.probes = Probes(self, library)
        self.process = subprocess.Popen([built("busy")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "LD_LIBRARY_PATH": str(self.directory)})
        self.addCleanup(self.process.communicate)
        self.addCleanup(heaptap_test.end, self.process)
        self.assertEqual(self.process.stdout.readline(), b"ready\n")
        self.image = Image(self.process.pid, [])

    def attached(self):
        return Attached(self, self.process.pid, self.directory / "t.htap", "--no-leak-scan")

    def wait_for_hits(self):
        wait_for("the probes are met", lambda: all(self.probes.hits()[name] > 10 for name in ("malloc", "free")), state=self.process)

    def assert_as_before(self):
        # The kernel's own mapping for the probes stays.
        self.assertIsNone(self.process.poll())
        now = Image(self.process.pid, []).code
        self.assertEqual({start: now.get(start) for start in self.image.code}, self.image.code)
        self.assertEqual(log_mappings(self.process.pid), [])

    def tearDown(self):
        if self.process.poll() is None:
            out, _ = finished(self.process, b"end\n")
            self.assertEqual((self.process.returncode, out), (0, b"all is well\n"))
        super().tearDown()

    def test_set_and_cleared_while_the_agent_is_there(self):
        attached = self.attached()
        self.probes.set()
        self.wait_for_hits()
        self.probes.clear()
        attached.stop()
        self.assertEqual(attached.process.returncode, 0)
        self.assert_as_before()
        self.assertGreater(heaptap_test.summary(self.directory / "t.htap")["totals"]["allocations"], 0)

    def test_set_while_the_agent_is_there_and_cleared_afterwards(self):
        attached = self.attached()
        self.probes.set()
        self.wait_for_hits()
        attached.stop()
        self.assertEqual(attached.process.returncode, 0)
        self.wait_for_hits()
        self.probes.clear()
        self.assert_as_before()

    def test_set_before_the_agent_comes(self):
        self.probes.set()
        self.wait_for_hits()
        outcome = heaptap_test.heaptap("attach", "--via", "agent", "-o", self.directory / "no.htap", self.process.pid)
        self.assertNotEqual(outcome.status, 0)
        self.assertIn(b"another tool (a uprobe, perf, frida) is at work there", outcome.stderr)
        self.probes.clear()
        self.assert_as_before()


if __name__ == "__main__":
    unittest.main()
