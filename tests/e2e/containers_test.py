"""A process in a container is recorded from outside, from the other end of a line, and from a container beside it: names of files are
those that it sees, the files are opened through it, and its leaks are found."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import container
import far
import heaptap_test
from heaptap_test import heaptap, summary
from waiting import wait_for

LIBRARY = r"""
#include <stdlib.h>
void *part_of_the_container(unsigned size) { return malloc(size); }
"""
PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>
void *part_of_the_container(unsigned size);
static void *keep[64];
__attribute__((noinline)) static void lose(void) { void *volatile lost = part_of_the_container(77); lost = NULL; (void)lost; }
int main(void) {
  for (unsigned i = 0;; i++) {
    free(keep[i % 64]);
    keep[i % 64] = part_of_the_container(i % 100 + 1);
    if (i % 100 == 0) lose();
    usleep(1000);
  }
}
"""


class Containers(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        if not container.usable():
            heaptap_test.skip_what_is_missing("namespaces of users, mounts, processes and networks")
        assert not pathlib.Path("/app").exists(), "what is in the container is nowhere else"
        cls.built = cls.make_class_directory()
        (cls.built / "part.c").write_text(LIBRARY)
        (cls.built / "sensor.c").write_text(PROGRAM)
        subprocess.run(["gcc", "-O0", "-g", "-fno-builtin", "-shared", "-fPIC", "part.c", "-o", "libpart.so"], cwd=cls.built, check=True)
        subprocess.run(["gcc", "-O0", "-g", "-fno-builtin", "sensor.c", "-L.", "-lpart", "-Wl,-rpath,/app", "-o", "sensor"], cwd=cls.built, check=True)

    def setUp(self):
        super().setUp()
        self.root = self.directory / "root"
        container.make_root(self.root, {"/app/sensor": self.built / "sensor", "/app/libpart.so": self.built / "libpart.so"})

    def check(self, done, pid):
        self.assertEqual(done.status, 0, str(done))
        report = summary(self.trace)
        self.assertEqual(report["target"]["executable"], "/app/sensor")
        self.assertGreater(report["totals"]["allocations"], 0)
        self.assertTrue(report["leaks"]["scanned"], report["notes"])
        self.assertGreater(report["leaks"]["definite"]["blocks"], 0)
        modules = {frame["module"] for stack in report["stacks"] for frame in stack["frames"]}
        self.assertIn("/app/libpart.so", modules)
        # Their names are read from the files in the container, wherever that is told to be.
        for sysroot in (self.root, f"/proc/{pid}/root"):
            leaks = heaptap("show", "leaks", self.trace, "--sysroot", sysroot)
            self.assertEqual(leaks.status, 0, str(leaks))
            for word in (b"part_of_the_container", b"lose", b"sensor.c:"):
                self.assertIn(word, leaks.stdout, str(leaks))

    def attach(self, pid, *words):
        return heaptap("attach", "-o", self.trace, "--force", "--duration", "1s", *words, pid, cwd=self.directory)

    def test_from_outside(self):
        for user in (True, False):
            with self.subTest(user=user):
                inner = container.Container(self, self.root, "/app/sensor", user=user)
                self.check(self.attach(inner.pid), inner.pid)
                self.assertIsNone(inner.process.poll())

    def test_over_a_line_by_the_machine_outside(self):
        inner = container.Container(self, self.root, "/app/sensor")
        with far.serving(str(self.directory / "far.sock"), "-q"):
            self.check(self.attach(inner.pid, "-H", self.directory / "far.sock"), inner.pid)
        self.assertIsNone(inner.process.poll())

    def sidecar(self, inner, *words):
        """heaptap-target in a root and a mount namespace of its own, among the processes of the container and on its network."""
        root = self.directory / "sidecar"
        container.make_root(root, {"/heaptap-target": far.HEAPTAP_TARGET})
        enter = ["nsenter", "-t", str(inner.pid), "--user", "--pid", "--net", "--ipc", "--"]
        command = [*enter, "unshare", "--mount", "--fork", "--kill-child", "python3", "-c", container.ENTER, root, "/heaptap-target", *words]
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            heaptap_test.end(process)
            process.wait()

        self.addCleanup(end)
        return root

    def test_a_sidecar(self):
        inner = container.Container(self, self.root, "/app/sensor")
        root = self.sidecar(inner, "serve", "/tmp/far.sock", "-q")
        socket = root / "tmp/far.sock"
        wait_for("the sidecar serves", lambda: far.listens(inner.pid, "/tmp/far.sock"), state=inner.process)
        self.check(self.attach(1, "-H", socket), inner.pid)  # the container's first process, as the sidecar sees it
        self.assertIsNone(inner.process.poll())


if __name__ == "__main__":
    unittest.main()
