# CTEST COST 20
"""Names of code that a program made itself, from the files that it writes for profilers: believed as far as they are its own. The same
on one machine and over a line, where the target's side reads them."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from bad_network import BadNetwork
from heaptap_test import heaptap, summary
from process_image import Image
from waiting import descendants, ended, wait_for

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
static Function compile(unsigned char *code) {
  void *callee = (void *)take;
  memcpy(code, "\x55\x48\x89\xe5\x48\xb8", 6);  // push %rbp; mov %rsp, %rbp; mov $take, %rax
  memcpy(code + 6, &callee, 8);
  memcpy(code + 14, "\xff\xd0\x5d\xc3", 4);     // call *%rax; pop %rbp; ret
  return (Function)(void *)code;
}
// One function after the other, for each line that comes in.
static void grow(const char *path, unsigned char *code) {
  char line[64];
  for (int i = 0; fgets(line, sizeof line, stdin); i++) {
    FILE *map = fopen(path, "a");
    fprintf(map, "%lx 40 made::%d(%.*s)\n", (unsigned long)(code + i * 64), i, (int)strcspn(line, "\n"), line);
    fclose(map);
    for (int k = 0; k < 3; k++) compile(code + i * 64)(5000 + i);
    puts(path);
    fflush(stdout);
  }
}
int main(int count, char **words) {
  unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
  if (!strcmp(words[1], "grow")) return grow(path, code), 0;
  for (int i = 0; i < 3; i++) compile(code)(1234);
  unlink(path);
  if (!strcmp(words[1], "map")) write_map(fopen(path, "w"), code);
  if (!strcmp(words[1], "dump")) write_dump(code);
  if (!strcmp(words[1], "foreign")) {  // never there as this user's
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (file < 0 || fchown(file, 12345, 12345)) return 5;
    write_map(fdopen(file, "w"), code);
  }
  if (!strcmp(words[1], "pipe") && mkfifo(path, 0600)) return 7;
  if (!strcmp(words[1], "link")) { write_map(fopen("real.map", "w"), code); if (symlink(words[2], path)) return 6; }
  puts(path);
  kept = 0;
  return 0;
}
"""


class TestCase(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        if os.uname().machine != "x86_64":
            self.skipTest("its code is of another CPU")
        self.program = self.directory / "maker"
        subprocess.run(["gcc", "-g", "-O0", "-fno-omit-frame-pointer", "-x", "c", "-", "-o", self.program], input=SOURCE,
                       text=True, check=True)

    def record(self, *words):
        return heaptap("run", "--force", "-o", self.trace, *words, cwd=self.directory)

    def caller_of(self, how, *options):
        """Who called the function that allocates, by the name of the recorded program's own code."""
        done = self.record(*options, self.program, how, self.directory / "real.map")
        pathlib.Path(done.stdout.decode().splitlines()[0]).unlink(missing_ok=True)
        self.assertEqual(done.status, 0, str(done))
        return self.caller_at(1234)

    def caller_at(self, size):
        frames = next(stack["frames"] for stack in summary(self.trace)["stacks"] if stack["allocated_bytes"] == 3 * size)
        self.assertEqual((frames[0]["function"], frames[-1]["function"]), ("take", "_start"))
        return frames[1]["function"]

    def notes(self):
        return "\n".join(heaptap_test.notes_of(summary(self.trace)))


class JitNames(TestCase):
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
        self.assertNotIn("generated code", self.notes())

    def test_a_link_is_not_followed(self):
        self.assertIsNone(self.caller_of("link"))
        self.assertRegex(self.notes(), r"/tmp/perf-\d+\.map is not read: it is a symbolic link")

    def test_a_pipe_is_not_waited_for(self):
        self.assertIsNone(self.caller_of("pipe"))
        self.assertRegex(self.notes(), r"/tmp/perf-\d+\.map is not read: it is not a regular file")

    @unittest.skipUnless(os.geteuid() == 0, "needs a file of another user")
    def test_a_file_of_another_user_is_not_believed(self):
        self.assertIsNone(self.caller_of("foreign"))
        self.assertRegex(self.notes(), r"/tmp/perf-\d+\.map is not read: it belongs to user 12345")


class OverALine(JitNames):
    """The target's side reads the files; what they call the codes that it tells of goes over the line."""

    def record(self, *words):
        return far.run("unix", self.directory, "--force", "-o", self.trace, *words, cwd=self.directory)

    def test_a_perf_map_names_it_with_ptrace_and_with_totals(self):
        if heaptap_test.has_tracer():
            self.assertEqual(self.caller_of("map", "--via", "ptrace"), "made::at_run_time(int)")


class Growing(TestCase):
    """A program that makes more and more code, and says so as it goes on."""

    def setUp(self):
        super().setUp()
        self.address = str(self.directory / "far.sock")

    def start(self, command, **options):
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.directory, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(heaptap_test.end, process)
        return process

    def make(self, process, name):
        """One more function: when that is done."""
        process.stdin.write(f"{name}\n".encode())
        process.stdin.flush()
        path = pathlib.Path(process.stdout.readline().decode().strip())
        self.addCleanup(path.unlink, missing_ok=True)

    def close(self, process):
        process.stdin.close()
        ended(process)

    def stacks(self):
        """None: there is no trace yet. (Whether it can be written is tried before.)"""
        shown = heaptap("show", "top", "--json", self.trace)
        return heaptap_test.read_report(shown.stdout)["stacks"] if shown.status == 0 else None

    def is_named(self, size, name):
        stacks = self.stacks() or []
        return any(stack["allocated_bytes"] == 3 * size and stack["frames"][1]["function"] == name for stack in stacks)

    def assert_named(self, *names):
        for i, name in enumerate(names):
            self.assertEqual(self.caller_at(5000 + i), f"made::{i}({name})")

    def grow(self, program, *others):
        """Each name is there while the program goes on, and comes to be known when its function is."""
        self.make(program, "first")
        wait_for("the first one is named", lambda: self.is_named(5000, "made::0(first)"), state=[program, *others])
        self.make(program, "second")
        wait_for("the second one is named", lambda: self.is_named(5001, "made::1(second)"), state=[program, *others])
        self.make(program, "third")
        self.close(program)

    def test_on_one_machine(self):
        self.grow(self.start([heaptap_test.HEAPTAP, "run", "-q", "-o", self.trace, "--", self.program, "grow"],
                             env=heaptap_test.sooner(write="20ms")))
        self.assert_named("first", "second", "third")

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_what_is_attached_to_over_a_line(self):
        program = self.start([self.program, "grow"])
        self.make(program, "before")
        image = Image(program.pid, [program.pid], makes_code=True)
        with far.serving(self.address, "-q", env=heaptap_test.sooner(write="20ms")):
            host = subprocess.Popen([heaptap_test.HEAPTAP, "attach", "-H", self.address, "-q", "-o", self.trace, str(program.pid)], cwd=self.directory,
                                    env=heaptap_test.sooner(write="20ms"))
            self.addCleanup(host.wait)
            self.addCleanup(heaptap_test.end, host)
            wait_for("it is recorded", lambda: any("code" in difference for difference in image.differences(patience_s=0)), state=host)
            self.make(program, "first")
            wait_for("it is named", lambda: self.is_named(5001, "made::1(first)"), state=[program, host])
            self.make(program, "second")
            self.close(program)
            ended(host)
        self.assertEqual(self.caller_at(5001), "made::1(first)")
        self.assertEqual(self.caller_at(5002), "made::2(second)")

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_below_another_root(self):
        """Where the program is, /tmp is another directory: what lies in this one under the same name is somebody else's."""
        alone = ["unshare", "--mount", "sh", "-c", 'mount --bind own /tmp && exec "$@"', "sh"]
        (self.directory / "own").mkdir()
        if heaptap_test.run([*alone, "/bin/true"], cwd=self.directory).status != 0:
            heaptap_test.skip_what_is_missing("a mount of one's own (`unshare --mount`) doesn't work on this machine")
        program = self.start([*alone, "./maker", "grow"])
        self.make(program, "before")
        own = self.directory / "own" / f"perf-{program.pid}.map"
        code = int(own.read_text().split()[0], 16)
        strangers = pathlib.Path("/tmp", own.name)
        strangers.write_text("".join(f"{code + i * 64:x} 40 strangers::{i}()\n" for i in range(8)))
        image = Image(program.pid, [program.pid], makes_code=True)
        host = subprocess.Popen([heaptap_test.HEAPTAP, "attach", "-q", "-o", self.trace, str(program.pid)], cwd=self.directory,
                                env=heaptap_test.sooner(write="20ms"))
        self.addCleanup(host.wait)
        self.addCleanup(heaptap_test.end, host)
        wait_for("it is recorded", lambda: any("code" in difference for difference in image.differences(patience_s=0)), state=host)
        self.make(program, "first")
        wait_for("it is named", lambda: self.is_named(5001, "made::1(first)"), state=[program, host])
        self.make(program, "second")
        self.close(program)
        ended(host)
        self.assertEqual(self.caller_at(5001), "made::1(first)")
        self.assertEqual(self.caller_at(5002), "made::2(second)")

    def recording(self, *options):
        """The target's side begins by itself."""
        return far.waiting(self.address, "run", "--listen", self.address, "-q", *options, "--", self.program, "grow", stdin=subprocess.PIPE,
                           cwd=self.directory, env=heaptap_test.sooner(write="20ms"))

    def test_what_began_without_a_host(self):
        with self.recording() as target:
            self.make(target, "early")
            self.make(target, "second")
            self.trace.unlink(missing_ok=True)
            host = subprocess.Popen([heaptap_test.HEAPTAP, "connect", self.address, "-q", "-o", self.trace], cwd=self.directory)
            self.addCleanup(host.wait)
            self.addCleanup(heaptap_test.end, host)
            wait_for("the early one is named", lambda: self.is_named(5000, "made::0(early)"), state=[target, host])
            self.make(target, "third")
            target.stdin.close()
            ended(host)
        self.assert_named("early", "second", "third")

    def test_a_host_that_follows_one_that_is_gone(self):
        """Codes have other numbers for it."""
        with self.recording() as target:
            def connect():
                host = subprocess.Popen([heaptap_test.HEAPTAP, "connect", self.address, "-q", "--force", "-o", self.trace], cwd=self.directory,
                                        env=heaptap_test.sooner(write="20ms"))
                self.addCleanup(host.wait)
                self.addCleanup(heaptap_test.end, host)
                return host
            host = connect()
            for name in ("first", "second", "third"):
                self.make(target, name)
            wait_for("the third one is named", lambda: self.is_named(5002, "made::2(third)"), state=[target, host])
            host.kill()
            host.wait()
            self.trace.unlink()
            host = connect()
            wait_for("it records", lambda: self.stacks() is not None, state=[target, host])
            self.make(target, "fourth")
            wait_for("the fourth one is named", lambda: self.is_named(5003, "made::3(fourth)"), state=[target, host])
            self.make(target, "fifth")
            target.stdin.close()
            ended(host)
        self.assertEqual(self.caller_at(5003), "made::3(fourth)")
        self.assertEqual(self.caller_at(5004), "made::4(fifth)")

    def test_a_file_of_the_target(self):
        recorded = self.directory / "maker.rec"
        program = self.start([far.HEAPTAP_TARGET, "record", "-q", "-o", recorded, "--", self.program, "grow"])
        self.make(program, "first")
        self.make(program, "second")
        self.close(program)
        done = heaptap("connect", recorded, "-q", "--force", "-o", self.trace, cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))
        self.assert_named("first", "second")

    def test_no_file_leaves_the_machine(self):
        for option, named in (("--no-fetch", False), ("--no-scan-data", True)):
            with self.subTest(option=option), self.recording(option) as target:
                self.make(target, "first")
                target.stdin.close()
                done = heaptap("connect", self.address, "-q", "--force", "-o", self.trace, cwd=self.directory)
                self.assertEqual(done.status, 0, str(done))
                self.assertEqual(self.caller_at(5000), "made::0(first)" if named else None)
                self.assertEqual("--no-fetch" in self.notes(), not named)

    def test_a_map_that_is_large_and_a_line_that_is_slow(self):
        """Of a map only what is needed crosses."""
        with self.recording() as target, BadNetwork(self.directory / "bad.sock", self.address, bytes_per_s=125_000) as network:
            self.make(target, "first")
            path = pathlib.Path(f"/tmp/perf-{self.pid_of_maker(target)}.map")
            with path.open("a") as file:
                for i in range(300_000):
                    file.write(f"{0x1000 + i * 16:x} 10 another function, one of many that nobody called {i}\n")
            self.make(target, "second")
            target.stdin.close()
            done = heaptap("connect", self.directory / "bad.sock", "-q", "--force", "-o", self.trace, cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            self.assertLess(sum(network.carried), 1_000_000)
        self.assert_named("first", "second")

    def pid_of_maker(self, target):
        return next(pid for pid in descendants(target.pid) if pathlib.Path(f"/proc/{pid}/exe").readlink() == self.program)


if __name__ == "__main__":
    unittest.main()
