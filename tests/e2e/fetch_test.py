# CTEST COST 17
"""Names of a program on another machine: from files that only this one has, and from those that only the other one has, which are
fetched over the line of the recording."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
import terminal
from bad_network import BadNetwork
from heaptap_test import heaptap, summary
from waiting import ended, wait_for

# The padding is a file's size that takes a while.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef PADDED
__asm__(".section .rodata\n.globl padding\npadding: .fill 6000000, 1, 42\n.text\n");
#endif
static void *volatile kept;
__attribute__((noinline)) static void take_a_block(void) {
  kept = malloc(1234);  /* HERE */
}
int main(int argc, char **argv) {
  int i;
#ifdef EXECUTES
  if (argc == 3) return execl(argv[0], argv[0], argv[1], (char *)0);
#endif
  for (i = 0; argc < 2 || i < atoi(argv[1]); i++) {
    take_a_block();
    free(kept);
    if (argc < 2) usleep(10000);
  }
  take_a_block();
  return 7;
}
"""
LINE = SOURCE[:SOURCE.index("HERE")].count("\n") + 1


def build(path, *options):
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.parent / "taker.c"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-O0", "-fno-builtin", "-Wl,--build-id", *options, source, "-o", path], check=True)
    source.unlink()


def build_id_of(path):
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True).stdout
    return re.search(r"Build ID: (\w+)", notes)[1]


def frame_of(report):
    """The innermost frame of the program's only site."""
    return next(stack["frames"][0] for stack in report["stacks"] if stack["allocations"] > 1)


class TestCase(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.cache = self.directory / "cache"
        environment = unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.cache)})
        environment.start()
        self.addCleanup(environment.stop)
        self.address = str(self.directory / "far.sock")
        self.program = self.directory / "seen" / "taker"  # as the target has it

    def run_host(self, *words, address=None, status=7):
        done = heaptap("run", "-H", address or self.address, "--force", "-o", self.trace, *words, cwd=self.directory)
        self.assertEqual(done.status, status, str(done))
        return done

    def cached(self):
        return [file for file in self.cache.rglob("*") if file.is_file()] if self.cache.exists() else []

    def cached_path(self, program):
        build_id = build_id_of(program)
        return self.cache / "heaptap" / ".build-id" / build_id[:2] / build_id[2:]


class Symbols(TestCase):
    """The target has a stripped program, and this machine what was stripped off."""

    def setUp(self):
        super().setUp()
        self.whole = self.directory / "symbols" / "taker"
        build(self.whole, "-g")
        self.program.parent.mkdir()
        subprocess.run(["strip", "-o", self.program, self.whole], check=True)
        self.assertEqual(build_id_of(self.program), build_id_of(self.whole))

    def assert_lines(self, *words):
        with far.serving(self.address, "-q"):
            self.run_host("-q", "--", self.program, "100")
        frame = frame_of(self.show(*words))
        self.assertEqual((frame["function"], frame["line"]), ("take_a_block", LINE))
        self.assertEqual(self.cached(), [])

    def show(self, *words):
        shown = heaptap("show", "top", "--json", *words, self.trace)
        self.assertEqual(shown.status, 0, str(shown))
        return heaptap_test.read_report(shown.stdout)

    def test_an_unstripped_copy_below_symbols(self):
        self.assert_lines("--symbols", self.whole.parent)

    def test_the_whole_path_below_a_sysroot(self):
        sysroot = self.directory / "image"
        place = pathlib.Path(f"{sysroot}{self.program}")
        place.parent.mkdir(parents=True)
        self.whole.rename(place)
        self.assert_lines("--sysroot", sysroot)

    def test_a_debug_file_by_its_build_id(self):
        build_id = build_id_of(self.whole)
        place = self.whole.parent / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
        place.parent.mkdir(parents=True)
        subprocess.run(["objcopy", "--only-keep-debug", self.whole, place], check=True)
        self.whole.unlink()
        self.assert_lines("--symbols", self.whole.parent)

    def test_the_first_directory_that_has_it(self):
        (self.directory / "empty").mkdir()
        self.assert_lines("--symbols", self.directory / "empty", "--symbols", self.whole.parent)

    def test_the_report_at_the_end_has_lines(self):
        with far.serving(self.address, "-q"):
            done = self.run_host("--symbols", self.whole.parent, "--", self.program, "100")
        self.assertIn(f"taker.c:{LINE}".encode(), done.stderr)


class StaticStripped(TestCase):
    """The target has a static program without symbols: where its malloc is, the unstripped file here says."""

    def put(self, *options, linked="-static"):
        self.whole = self.directory / "symbols" / "taker"
        build(self.whole, "-g", linked, *options)
        self.program.parent.mkdir()
        subprocess.run(["strip", "-o", self.program, self.whole], check=True)

    def assert_is_recorded(self):
        shown = heaptap("show", "top", "--json", self.trace)
        frame = frame_of(heaptap_test.read_report(shown.stdout))
        self.assertEqual((frame["function"], frame["line"]), ("take_a_block", LINE))

    def test_it_is_recorded_by_the_unstripped_file_of_the_host(self):
        self.put()
        with far.serving(self.address, "-q"):
            self.run_host("-q", "--symbols", self.whole.parent, "--", self.program, "100")
        self.assert_is_recorded()

    def test_it_may_be_of_32_bits(self):
        try:
            self.put("-m32")
        except subprocess.CalledProcessError:
            heaptap_test.skip_what_is_missing("no compiler for 32 bits")
        heaptap_test.runnable(self.program)
        with far.serving(self.address, "-q"):
            self.run_host("-q", "--symbols", self.whole.parent, "--", self.program, "100")
        self.assert_is_recorded()

    def test_it_may_be_at_any_address(self):
        self.put("-fPIE", linked="-static-pie")
        with far.serving(self.address, "-q"):
            self.run_host("-q", "--symbols", self.whole.parent, "--", self.program, "100")
        self.assert_is_recorded()

    def test_it_may_run_already(self):
        self.put()
        with far.serving(self.address, "-q"), subprocess.Popen([self.program]) as process:
            try:
                done = heaptap("attach", "-H", self.address, "-q", "--symbols", self.whole.parent, "-o", self.trace, "--duration", "1s",
                               process.pid, cwd=self.directory)
                self.assertEqual(done.status, 0, str(done))
                self.assertIsNone(process.poll(), "it goes on")
            finally:
                process.kill()
        self.assert_is_recorded()

    def test_what_it_executes_is_known_if_it_is_the_same(self):
        self.put("-DEXECUTES")
        with far.serving(self.address, "-q"):
            self.run_host("-q", "--symbols", self.whole.parent, "--", self.program, "100", "again")
        self.assert_is_recorded()

    def test_without_it_is_said_what_to_give(self):
        self.put()
        with far.serving(self.address, "-q"):
            done = self.run_host("--", self.program, "100")
        self.assertIn(b"--symbols", done.stderr)

    def test_of_another_build_it_is_not_taken(self):
        self.put()
        build(self.whole, "-g", "-static", "-O1")
        with far.serving(self.address, "-q"):
            done = self.run_host("--symbols", self.whole.parent, "--", self.program, "100")
        self.assertIn(b"--symbols", done.stderr)


@unittest.skipUnless(subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0, "no mount namespaces here")
class Fetched(TestCase):
    """Only the target has the program: where it is, this machine has nothing."""

    def setUp(self):
        super().setUp()
        self.hidden = self.directory / "hidden"
        self.program.parent.mkdir()
        self.build("-g")

    def build(self, *options):
        build(self.hidden / "taker", *options)
        self.content = (self.hidden / "taker").read_bytes()

    def wrapper(self):
        """What executes the target's side where the program is."""
        words = ["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", self.hidden, self.program.parent]
        return [str(word) for word in words]

    def serving(self, *options):
        return far.serving(self.address, "-q", *options, wrapper=self.wrapper())

    def recording(self, *words, options=()):
        """The target's side begins by itself, and waits for a host that takes over."""
        return far.waiting(self.address, "run", "--listen", self.address, "-q", *options, "--", self.program, *words,
                           wrapper=self.wrapper())

    def connect(self, what, *words):
        done = heaptap("connect", what, "--force", "-o", self.trace, *words, cwd=self.directory)
        self.assertEqual(done.status, 7, str(done))
        return done

    def assert_names(self):
        frame = frame_of(summary(self.trace))
        self.assertEqual((frame["function"], frame["line"]), ("take_a_block", LINE))

    def assert_no_names(self):
        frame = frame_of(summary(self.trace))
        self.assertEqual((frame["function"], pathlib.Path(frame["module"]).name), (None, "taker"))

    def test_names_come_out(self):
        for via in ("agent", "ptrace"):
            with self.subTest(via=via), self.serving():
                self.cached_path(self.hidden / "taker").unlink(missing_ok=True)
                done = self.run_host("--via", via, "--", self.program, "100")
                self.assertIn(b"take_a_block", done.stderr)
                self.assert_names()
                self.assertEqual(self.cached_path(self.hidden / "taker").read_bytes(), self.content)
        self.assertEqual([file.stat().st_mode & 0o777 for file in self.cached()], [0o600])

    def test_what_was_fetched_is_not_fetched_again(self):
        with self.serving(), BadNetwork(self.directory / "bad.sock", self.address) as network:
            self.run_host("--", self.program, "100", address=self.directory / "bad.sock")
            self.assertGreater(network.carried[1], len(self.content))
            before = network.carried[1]
            self.run_host("--", self.program, "100", address=self.directory / "bad.sock")
            self.assertLess(network.carried[1] - before, len(self.content))
        self.assert_names()

    def test_without_it_there_are_addresses_and_a_word_about_them(self):
        with self.serving():
            done = self.run_host("--no-fetch", "--", self.program, "100")
        self.assertIn(b"taker is not on this machine", done.stderr)
        self.assert_no_names()
        self.assertEqual(self.cached(), [])

    def test_a_target_that_gives_nothing_away(self):
        with self.serving("--no-fetch"):
            done = self.run_host("--", self.program, "100")
        self.assertIn(b"--no-fetch", done.stderr)
        self.assertIn(b"taker is not on this machine", done.stderr)
        self.assert_no_names()
        self.assertEqual(self.cached(), [])

    def test_a_file_that_is_too_large(self):
        with self.serving():
            done = self.run_host("--fetch-limit", "4K", "--", self.program, "100")
        self.assertIn(b"--fetch-limit", done.stderr)
        self.assert_no_names()
        self.assertEqual(self.cached(), [])

    def test_another_build_below_symbols_is_not_taken(self):
        other = self.directory / "symbols" / "taker"
        build(other, "-g", "-DPADDED")
        with self.serving():
            done = self.run_host("--no-fetch", "--symbols", other.parent, "--", self.program, "100")
            self.assert_no_names()
            said = done.stderr.decode()
            self.assertEqual(said.count(f"{other} is not the one that was recorded"), 1, said)
            self.assertIn(build_id_of(other), said)
            self.assertIn(build_id_of(self.hidden / "taker"), said)
            # It doesn't keep the right one from coming.
            self.run_host("--symbols", other.parent, "--", self.program, "100")
            self.assert_names()

    def test_connections_that_are_cut(self):
        self.build("-g", "-DPADDED")
        with self.serving(), BadNetwork(self.directory / "bad.sock", self.address, bytes_per_s=8_000_000, cut_every_s=0.1, cuts=6) as network:
            self.run_host("--", self.program, "1000", address=self.directory / "bad.sock")
            self.assertGreaterEqual(network.cuts, 1)
        self.assertEqual(self.cached_path(self.hidden / "taker").read_bytes(), self.content)
        self.assert_names()

    def test_a_wait_that_is_shown_and_left(self):
        self.build("-g", "-DPADDED")
        with self.serving(), BadNetwork(self.directory / "bad.sock", self.address, bytes_per_s=500_000):
            process, inner = terminal.start_on_terminal("run", "-H", self.directory / "bad.sock", "-o", self.trace, "--", self.program, "1000",
                                                        cwd=self.directory, stdout=False, stderr=True)
            self.addCleanup(lambda: process.poll() is None and heaptap_test.end(process))
            shown = b""
            for piece in terminal.pieces_of(inner):
                shown += piece
                if re.search(rb"fetching taker: \S+ KiB of 5\.\d MiB", shown):
                    break
            else:
                self.fail(f"no progress: {shown}")
            process.send_signal(signal.SIGINT)
            shown += b"".join(terminal.pieces_of(inner))
            os.close(inner)
            process.communicate()
        self.assertEqual(process.returncode, 7, shown)
        self.assertIn(b"taker not fetched from the target", shown)
        self.assertEqual(self.cached(), [])
        self.assertTrue(summary(self.trace)["capture"]["complete"])

    def test_events_come_while_a_file_is_on_its_way(self):
        self.build("-g", "-DPADDED")
        with self.serving(), BadNetwork(self.directory / "bad.sock", self.address, bytes_per_s=2_000_000):
            self.run_host("--", self.program, "300000", address=self.directory / "bad.sock")
        report = summary(self.trace)
        self.assertEqual(report["totals"]["allocations"], 300001)
        self.assertEqual(report["capture"]["lost_events"], 0)
        self.assert_names()

    def test_what_is_taken_over_has_names(self):
        for via in ("agent", "ptrace"):
            with self.subTest(via=via), self.recording("100", options=["--via", via]) as target:
                self.cached_path(self.hidden / "taker").unlink(missing_ok=True)
                done = self.connect(self.address)
                self.assertNotIn(b"not fetched", done.stderr)
                self.assert_names()
                self.assertEqual(self.cached_path(self.hidden / "taker").read_bytes(), self.content)
                self.assertEqual(ended(target), 7)

    def test_who_takes_over_may_want_none(self):
        with self.recording("100"):
            done = self.connect(self.address, "--no-fetch")
        self.assertNotIn(b"not fetched", done.stderr)
        self.assertIn(b"taker is not on this machine", done.stderr)
        self.assert_no_names()
        self.assertEqual(self.cached(), [])

    def test_who_takes_over_may_want_none_that_is_large(self):
        with self.recording("100"):
            done = self.connect(self.address, "--fetch-limit", "4K")
        self.assertIn(b"--fetch-limit", done.stderr)
        self.assert_no_names()

    def test_files_that_nobody_wants_are_closed(self):
        with self.recording() as target:
            wait_for("it is kept for a host", lambda: self.keeps_it_open(target), state=target)
            host = subprocess.Popen([heaptap_test.HEAPTAP, "connect", self.address, "-q", "--no-fetch", "-o", self.trace], cwd=self.directory)
            try:
                wait_for("the host wants none", lambda: not self.keeps_it_open(target), state=target)
                self.assertIsNone(host.poll())
                self.assertIsNone(target.poll())
            finally:
                heaptap_test.end(host)
                host.wait()

    def keeps_it_open(self, target):
        whole = os.stat(self.hidden / "taker")
        for descriptor in pathlib.Path(f"/proc/{target.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(descriptor.stat(), whole):
                    return True
        return False

    def test_a_target_that_begins_by_itself_may_give_nothing_away(self):
        with self.recording("100", options=["--no-fetch"]) as target:
            done = self.connect(self.address)
            self.assertFalse(self.keeps_it_open(target))
        self.assertIn(b"taker not fetched from the target: heaptap-target was started with --no-fetch", done.stderr)
        self.assertNotIn(b"doesn't offer it", done.stderr)
        self.assert_no_names()
        self.assertEqual(self.cached(), [])

    def test_nothing_is_fetched_from_a_file(self):
        recorded = self.directory / "taker.rec"
        done = heaptap_test.run([*self.wrapper(), far.HEAPTAP_TARGET, "record", "-q", "-o", recorded, "--", self.program, "100"])
        self.assertEqual(done.status, 7, str(done))
        for words in ((), ("--no-fetch",)):
            done = self.connect(recorded, *words)
            self.assertIn(b"taker is not on this machine", done.stderr)
            for untrue in (b"not fetched", b"shorter than"):
                self.assertNotIn(untrue, done.stderr)
            self.assert_no_names()
        self.assertIn(b"take_a_block", self.connect(recorded, "--symbols", self.hidden).stderr)


class Gone(TestCase):
    def test_a_program_whose_file_was_deleted(self):
        build(self.program, "-g")
        content = self.program.read_bytes()
        build_id_path = self.cached_path(self.program)
        process = subprocess.Popen([self.program], stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.program.unlink()
        with far.serving(self.address, "-q"):
            done = heaptap("attach", "-H", self.address, "-q", "-o", self.trace, "--duration", "1s", process.pid, cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
        self.assertIsNone(process.poll())
        self.assertEqual(build_id_path.read_bytes(), content)
        frame = frame_of(summary(self.trace))
        self.assertEqual((frame["function"], frame["line"]), ("take_a_block", LINE))


if __name__ == "__main__":
    unittest.main()
