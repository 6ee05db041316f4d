# CTEST COST 10
"""Names of code that a program made itself, from the files that it writes for profilers: believed as far as they are its own."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import heaptap, summary

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void *volatile kept;
typedef void *(*Function)(size_t);
__attribute__((noinline)) static void *take(size_t size) { void *block = malloc(size); kept = block; return block; }
static void write_map(FILE *map, void *code) {
  fprintf(map, "1 1 far away\n%lx 40 made::at_run_time(int)\n", (unsigned long)code);
  fclose(map);
}
static void write_dump(void *code) {
  struct { uint32_t magic, version, bytes, machine, padding, pid; uint64_t time, flags;
           uint32_t kind, record_bytes; uint64_t at; uint32_t process, thread; uint64_t address, code, code_bytes, number;
           char name[8], content[64]; } dump = {
      0x4A695444, 1, 40, 62, 0, getpid(), 0, 0, 0, 56 + 72, 0, getpid(), getpid(), (uint64_t)code, (uint64_t)code, 64, 0, "dumped"};
  char path[64];
  snprintf(path, sizeof path, "jit-%d.dump", getpid());
  int file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
  if (write(file, &dump, sizeof dump) != sizeof dump) exit(3);
  if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED) exit(4);
  close(file);
}
int main(int count, char **words) {
  unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void *callee = (void *)take;
  char path[64];
  memcpy(code, "\x55\x48\x89\xe5\x48\xb8", 6);  // push %rbp; mov %rsp, %rbp; mov $take, %rax
  memcpy(code + 6, &callee, 8);
  memcpy(code + 14, "\xff\xd0\x5d\xc3", 4);     // call *%rax; pop %rbp; ret
  for (int i = 0; i < 3; i++) ((Function)(void *)code)(1234);
  snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
  unlink(path);
  if (!strcmp(words[1], "map")) write_map(fopen(path, "w"), code);
  if (!strcmp(words[1], "dump")) write_dump(code);
  if (!strcmp(words[1], "foreign")) {  // never there as this user's
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file < 0 || fchown(file, 12345, 12345)) return 5;
    write_map(fdopen(file, "w"), code);
  }
  if (!strcmp(words[1], "link")) { write_map(fopen("real.map", "w"), code); if (symlink(words[2], path)) return 6; }
  puts(path);
  kept = 0;
  return 0;
}
"""


class JitNames(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        if os.uname().machine != "x86_64":
            self.skipTest("its code is of another CPU")
        self.program = self.folder / "maker"
        subprocess.run(["gcc", "-g", "-O0", "-fno-omit-frame-pointer", "-x", "c", "-", "-o", self.program], input=SOURCE,
                       text=True, check=True)

    def caller_of(self, how, *options):
        """Who called the function that allocates, by the name of the recorded program's own code."""
        done = heaptap("run", "--force", "-o", self.trace, *options, self.program, how, self.folder / "real.map", cwd=self.folder)
        pathlib.Path(done.stdout.decode().splitlines()[0]).unlink(missing_ok=True)
        self.assertEqual(done.status, 0, str(done))
        frames = next(stack["frames"] for stack in summary(self.trace)["stacks"] if stack["allocated_bytes"] == 3 * 1234)
        self.assertEqual((frames[0]["function"], frames[2]["function"]), ("take", "main"))
        return frames[1]["function"]

    def test_a_perf_map_names_it(self):
        self.assertEqual(self.caller_of("map"), "made::at_run_time(int)")

    def test_a_perf_map_names_it_with_ptrace_and_with_totals(self):
        if heaptap_test.has_tracer():
            self.assertEqual(self.caller_of("map", "--via", "ptrace"), "made::at_run_time(int)")
        self.assertEqual(self.caller_of("map", "--aggregate"), "made::at_run_time(int)")

    def test_a_jitdump_names_it(self):
        self.assertEqual(self.caller_of("dump"), "dumped")

    def test_without_such_a_file_it_has_no_name(self):
        self.assertIsNone(self.caller_of("none"))

    def test_a_link_is_not_followed(self):
        self.assertIsNone(self.caller_of("link"))

    @unittest.skipUnless(os.geteuid() == 0, "needs a file of another user")
    def test_a_file_of_another_user_is_not_believed(self):
        self.assertIsNone(self.caller_of("foreign"))


if __name__ == "__main__":
    unittest.main()
