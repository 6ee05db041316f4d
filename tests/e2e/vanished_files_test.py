# CTEST COST 20
"""Names of code whose file is at no place where names are looked for: unlinked, replaced, in memory alone, below another root. It is
read while the process lives, and kept for later reports."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import heaptap_test
from attach_test import Attached
from heaptap_test import heaptap, summary

PLUGIN = r"""
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void *take_inside(int bytes) { void *got = malloc(bytes); return got; }
void plug_run(void) { kept = take_inside(1234); free(kept); kept = take_inside(1234); kept = 0; }
"""

LOADER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char **words) {
  char bytes[65536], path[64];
  const char *name = words[2];
  ssize_t got;
  int to = -1;
  if (!strcmp(words[1], "memory")) {
    int from = open(words[2], O_RDONLY);
    to = memfd_create("plugin", 0);
    while ((got = read(from, bytes, sizeof bytes)) > 0) if (write(to, bytes, got) != got) return 1;
    close(from);
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    name = path;
  }
  void *library = dlopen(name, RTLD_NOW);
  if (!library) return puts(dlerror()), 1;
  if (to >= 0) close(to);
  if (!strcmp(words[1], "unlinked")) unlink(words[2]);
  if (!strcmp(words[1], "replaced")) { unlink(words[2]); rename(words[3], words[2]); }
  if (!strcmp(words[1], "waits")) { puts("loaded"); fflush(stdout); getchar(); }
  ((void (*)(void))dlsym(library, "plug_run"))();
  return 0;
}
"""

SERVICE = r"""
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void lose(void) { kept = malloc(1234); kept = 0; }
int main(void) {
  puts("ready"); fflush(stdout);
  while (getchar() != EOF) { lose(); puts("lost"); fflush(stdout); }
  return 0;
}
"""


def build(path, source, *options):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-Wl,--build-id", "-x", "c", "-", "-o", path, *options],
                   input=source, text=True, check=True)
    return path


def functions_of(report):
    """The innermost functions of the stacks that allocated 1234 bytes at once, with the name of the innermost frame's module."""
    for stack in report["stacks"]:
        if stack["allocated_bytes"] % 1234 == 0 and stack["allocated_bytes"] > 0:
            return [frame["function"] for frame in stack["frames"]], stack["frames"][0]["module"]
    raise AssertionError(report["stacks"])


class TestCase(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        environment = unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.directory / "cache")})
        environment.start()
        self.addCleanup(environment.stop)


@unittest.skipUnless(os.geteuid() == 0, "the kernel opens what is mapped for root only")
class Libraries(TestCase):
    def built(self):
        """The program, its plugin, and one that may take its place."""
        return (build(self.directory / "loader", LOADER), build(self.directory / "plugin.so", PLUGIN, "-shared", "-fPIC"),
                build(self.directory / "other.so", "void other_run(void) {}" + PLUGIN.replace("take_inside", "take_elsewhere"),
                      "-shared", "-fPIC"))

    def names_of(self, how, via):
        program, plugin, other = self.built()
        done = heaptap("run", "--via", via, "--force", "-o", self.trace, program, how, plugin, other, cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))
        first = functions_of(summary(self.trace))
        self.assertEqual(first[0][:3], ["take_inside", "plug_run", "main"])
        return first[1]

    def test_a_library_that_is_unlinked_has_names(self):
        for via in ("agent", "ptrace"):
            with self.subTest(via):
                self.assertIn("plugin.so", self.names_of("unlinked", via))

    def test_a_library_that_is_replaced_has_its_own_names(self):
        for via in ("agent", "ptrace"):
            with self.subTest(via):
                self.names_of("replaced", via)

    def test_a_library_that_is_replaced_after_heaptap_has_seen_it_has_its_own_names(self):
        for via in ("agent", "ptrace"):
            with self.subTest(via):
                program, plugin, other = self.built()
                recorder = subprocess.Popen([heaptap_test.HEAPTAP, "run", "-q", "--via", via, "--force", "-o", self.trace, program, "waits", plugin],
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.directory)
                self.addCleanup(heaptap_test.end, recorder)
                self.assertEqual(recorder.stdout.readline(), b"loaded\n")
                (pid,) = [pid for pid in heaptap_test.descendants(recorder.pid) if os.path.samefile(f"/proc/{pid}/exe", program)]
                for _ in range(2):  # what is loaded has been looked at before the second one
                    self.assertEqual(heaptap("mark", pid, "loaded").status, 0)
                os.replace(other, plugin)
                recorder.communicate(b"\n")
                self.assertEqual(functions_of(summary(self.trace))[0][:3], ["take_inside", "plug_run", "main"])

    def test_a_library_in_memory_has_names_and_is_called_as_the_program_called_it(self):
        for via in ("agent", "ptrace"):
            with self.subTest(via):
                self.assertEqual(self.names_of("memory", via), "/memfd:plugin")


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class Programs(TestCase):
    def names_of(self, command, meanwhile=lambda: None):
        service = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(heaptap_test.end, service)
        if service.stdout.readline() != "ready\n":
            self.skipTest("it doesn't start here")
        (pid,) = heaptap_test.descendants(service.pid)[-1:] or [service.pid]
        meanwhile()
        attached = Attached(self, "-o", self.trace, "--force", pid)
        service.stdin.write("x")
        service.stdin.flush()
        self.assertEqual(service.stdout.readline(), "lost\n")
        self.assertEqual(attached.stop().status, 0)
        service.stdin.close()
        service.wait()
        return functions_of(summary(self.trace))[0][:2]

    def test_a_program_that_is_deleted_before_the_attach_has_names(self):
        program = build(self.directory / "service", SERVICE)
        self.assertEqual(self.names_of([program], program.unlink), ["lose", "main"])

    def test_a_program_that_is_upgraded_before_the_attach_has_its_own_names(self):
        program = build(self.directory / "service", SERVICE)
        other = build(self.directory / "other", SERVICE.replace("lose", "win"))
        self.assertEqual(self.names_of([program], lambda: other.rename(program)), ["lose", "main"])

    def test_a_program_below_another_root_has_names(self):
        root = self.directory / "root"
        program = build(root / "app/service", SERVICE)
        libraries = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        for word in libraries.split():
            if word.startswith("/"):
                (root / word[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(word, root / word[1:])
        if heaptap_test.run(["unshare", "-m", "chroot", root, "/app/service"]).status != 0:
            self.skipTest("no other root is possible here")
        self.assertEqual(self.names_of(["unshare", "-m", "chroot", root, "/app/service"]), ["lose", "main"])

    @unittest.skipUnless(os.geteuid() == 0, "needs a directory of another user")
    def test_nothing_is_written_below_a_directory_of_another_user(self):
        cache = self.directory / "cache"
        cache.mkdir()
        os.chown(cache, 12345, 12345)
        program = build(self.directory / "service", SERVICE)
        self.assertNotEqual(self.names_of([program], program.unlink), ["lose", "main"])
        self.assertEqual(list(cache.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
