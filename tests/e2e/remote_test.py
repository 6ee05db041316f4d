# CTEST COST 45
"""Recording over a line: the program on one side (heaptap-target), traces and reports on the other; what comes of it is what a local
recording has, whatever the network does, and the program runs on whatever becomes of the host."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from api_building import INCLUDE
from bad_network import BadNetwork
from heaptap_test import HEAPTAP, heaptap, run, summary
from waiting import ended, finished, read_until, wait_for

# Pairs, some of them lost; every thousandth a pause. Doesn't end before a file is there, if one is named.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *keep[64];
__attribute__((noinline)) static void *get(unsigned size) { return malloc(size); }
__attribute__((noinline)) static void lose(void) { void *volatile lost = get(77); lost = NULL; (void)lost; }
int main(int argc, char **argv) {
  unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000, pause_us = argc > 2 ? (unsigned)atoi(argv[2]) : 0, i;
  for (i = 0; i < rounds; i++) {
    free(keep[i % 64]);
    keep[i % 64] = get(i % 5000 + 1);
    if (i % 100 == 0) lose();
    if (pause_us != 0 && i % 1000 == 0) usleep(pause_us);
  }
  while (argc > 3 && access(argv[3], F_OK) != 0) usleep(1000);
  puts("done");
  return 7;
}
"""
# A pool in a block of malloc: of its blocks one is reachable, one is reachable from that one, three are lost.
POOLS = r"""
#include <stdlib.h>
#include <heaptap/heaptap.h>
static char *arena;
static void **kept;
__attribute__((noinline)) static void *take(heaptap_pool pool, size_t *at, size_t size) {
  char *block = arena + *at;
  *at += (size + 15) / 16 * 16;
  heaptap_allocated(pool, block, size);
  return block;
}
__attribute__((noinline)) static void fill(heaptap_pool pool) {
  size_t at = 0;
  int i;
  kept = take(pool, &at, 40);
  kept[1] = take(pool, &at, 50);
  for (i = 0; i < 3; i++) (void)take(pool, &at, 100);
  heaptap_released(pool, take(pool, &at, 60));
}
__attribute__((noinline)) static void hide(void) { char room[4096]; for (unsigned i = 0; i < sizeof room; i++) ((volatile char *)room)[i] = 0; }
int main(void) {
  heaptap_pool pool = heaptap_pool_create("arena");
  arena = calloc(1, 1 << 16);
  fill(pool);
  hide();
  return 7;
}
"""
FIGURES = ("allocations", "frees", "allocated_bytes", "temporary_allocations", "live_blocks", "live_bytes", "peak_live_bytes",
           "peak_live_blocks", "bad_frees", "double_frees", "mismatched_frees", "unknown_frees")


# Of both ends of a line that breaks.
SOON = heaptap_test.sooner(write="20ms", heartbeat="100ms", silence="1000ms", retry="100ms")


def size_of(trace):
    """0: it isn't there; one that is tried out first is there for a moment."""
    with contextlib.suppress(FileNotFoundError):
        return trace.stat().st_size
    return 0


class TestCase(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.make_class_directory()
        cls.program = directory / "churn"
        source = directory / "churn.c"
        source.write_text(SOURCE)
        subprocess.run(["gcc", "-O0", "-g", "-fno-builtin", source, "-o", cls.program], check=True)

    def setUp(self):
        super().setUp()
        self.address = str(self.directory / "far.sock")
        self.start_file = self.directory / "go"  # what the program may wait for

    def record(self, address, *words, status=7, command="run", **options):
        done = heaptap(command, "-H", address, "-q", "--force", "-o", self.trace, *words, cwd=self.directory, **options)
        self.assertEqual(done.status, status, str(done))
        return summary(self.trace)

    def run_beside(self, command, **options):
        process = subprocess.Popen([str(word) for word in command], cwd=self.directory, **options)

        def end():
            heaptap_test.end(process)
            process.wait()
            if process.stderr:
                process.stderr.close()

        self.addCleanup(end)
        return process

    def start(self, address, *words, env=heaptap_test.sooner(write="20ms")):
        """A heaptap run that goes on beside the test; what it records is in its trace soon."""
        return self.run_beside([HEAPTAP, "run", "-H", address, *words], stderr=subprocess.PIPE, env=env)

    def wait_until_it_records(self, trace, host, server):
        """Until the host has something of the program."""
        wait_for("it records", lambda: size_of(trace) > 4096, state=[host, server])

    def read_errors(self, host, word, so_far=b""):
        """What a host says, as soon as this word is in it."""
        return read_until(host.stderr.fileno(), repr(word), lambda text: word in text, state=host, so_far=so_far)

    def local(self, *words):
        trace = self.directory / "local.htap"
        done = heaptap("run", "-q", "--force", "-o", trace, "--", self.program, *words, cwd=self.directory)
        self.assertEqual(done.status, 7, str(done))
        return summary(trace)

    def assert_same(self, near, there, scanned=True):
        for name in FIGURES:
            self.assertEqual(there["totals"][name], near["totals"][name], name)
        self.assertTrue(there["capture"]["complete"], there["notes"])
        self.assertEqual(there["capture"]["lost_events"], 0)
        if not scanned:
            return
        self.assertTrue(there["leaks"]["scanned"], there["notes"])
        for report in (near, there):
            report["leaks"]["scan"] = {name: report["leaks"]["scan"][name] for name in ("at_end", "blocks", "number", "threads")}
        self.assertEqual(there["leaks"], near["leaks"])
        stacks = [sorted((json.dumps([frame["function"] for frame in stack["frames"]]), stack["allocations"], stack["frees"],
                          stack["live_bytes"], stack["leaks"]["definite"]["bytes"]) for stack in report["stacks"]) for report in (near, there)]
        self.assertEqual(stacks[0], stacks[1])


class Same(TestCase):
    """What comes over is what a recording on one machine has."""

    def test_over_a_unix_socket(self):
        near = self.local("200000")
        with far.serving(self.address, "-q") as server:
            for via in ("agent", "agent"):
                self.assert_same(near, self.record(self.address, "--via", via, "--", self.program, "200000"))
            self.assertEqual(os.stat(self.address).st_mode & 0o777, 0o600)
        self.assertEqual(server.returncode, -signal.SIGKILL)

    def test_by_ptrace(self):
        near = self.local("2000")
        with far.serving(self.address, "-q"):
            self.assert_same(near, self.record(self.address, "--via", "ptrace", "--", self.program, "2000"))

    def test_over_tcp_with_keys_and_with_a_token(self):
        near = self.local("20000")
        port = far.free_port()
        far.pair(self.directory, "127.0.0.1")
        with far.serving(f"127.0.0.1:{port}", "-q", "--keys", self.directory / "board.keys"):
            self.assert_same(near, self.record(str(port), "--", self.program, "20000"))
        token = far.make_token(self.directory)
        port = far.free_port()
        with far.serving(f"0.0.0.0:{port}", "-q", "--token-file", token):
            self.assert_same(near, self.record(f"127.0.0.1:{port}", "--token-file", token, "--", self.program, "20000"))
            wrong = {**os.environ, "HEAPTAP_TOKEN": far.new_token()}
            refused = heaptap("run", "-H", f"127.0.0.1:{port}", "--", self.program, cwd=self.directory, env=wrong)
            self.assertEqual(refused.status, 125, str(refused))
            self.assertIn(b"token", refused.stderr)

    def test_the_target_comes_to_the_host(self):
        near = self.local("20000")
        host = self.start(f"listen:{self.address}", "-q", "-o", self.trace, "--", self.program, "20000")
        wait_for("the host listens", lambda: far.listens(host.pid, self.address), state=host)
        target = self.run_beside([far.HEAPTAP_TARGET, "connect", self.address, "-q", "--once"], stdout=subprocess.DEVNULL)
        self.assertEqual(ended(host), 7)
        self.assertEqual(ended(target), 0)
        self.assert_same(near, summary(self.trace))

    def test_children_and_programs_that_they_execute(self):
        words = ["-f", "--", "/bin/sh", "-c", f"{self.program} 3000; exec {self.program} 5000"]
        with far.serving(self.address, "-q", cwd=self.directory):
            self.record(self.address, *words)
        there = sorted(summary(trace)["totals"]["allocations"] for trace in self.directory.glob("*.htap") if not trace.is_symlink())
        for trace in self.directory.glob("*.htap"):
            trace.unlink()
        self.assertEqual(heaptap("run", "-q", "-o", self.trace, *words, cwd=self.directory).status, 7)
        near = sorted(summary(trace)["totals"]["allocations"] for trace in self.directory.glob("*.htap") if not trace.is_symlink())
        self.assertEqual(there, near)

    def test_pools_of_the_programs_own(self):
        source = self.directory / "pools.c"
        source.write_text(POOLS)
        program = self.directory / "pools"
        subprocess.run(["gcc", "-O0", "-g", "-fno-builtin", "-I", INCLUDE, source, "-o", program], check=True)
        with far.serving(self.address, "-q"):
            there = self.record(self.address, "--via", "agent", "--", program)
        done = heaptap("run", "-q", "--force", "--via", "agent", "-o", self.trace, "--error-exitcode", "9", "--", program, cwd=self.directory)
        self.assertEqual(done.status, 9, str(done))  # they are leaks as others are
        near = summary(self.trace)
        checked = heaptap("check", "--max-leaked", "299", self.trace)
        self.assertEqual((checked.status, heaptap("check", "--max-leaked", "300", self.trace).status), (1, 0), str(checked))
        self.assertEqual(near["leaks"]["pools"]["definite"], {"blocks": 3, "bytes": 300}, near["leaks"])
        self.assertEqual(near["leaks"]["pools"]["reachable"], {"blocks": 2, "bytes": 90}, near["leaks"])
        for figures in ("pools", "definite", "reachable"):
            self.assertEqual(there["leaks"][figures], near["leaks"][figures], there["notes"])
        self.assertEqual(there["totals"]["pool_live_bytes"], near["totals"]["pool_live_bytes"])

    def test_a_process_that_runs(self):
        program = self.run_beside([self.program, "100000000", "1000"], stdout=subprocess.DEVNULL)
        with far.serving(self.address, "-q"):
            done = heaptap("attach", "-H", self.address, "-q", "-o", self.trace, "--duration", "1s", program.pid, cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            report = summary(self.trace)
            self.assertGreater(report["totals"]["allocations"], 0)
            self.assertTrue(report["leaks"]["scanned"], report["notes"])
            self.assertIsNone(program.poll())
            missing = heaptap("attach", "-H", self.address, "-o", self.directory / "none.htap", 4194000, cwd=self.directory)
            self.assertNotEqual(missing.status, 0)
            self.assertIn(b"4194000", missing.stderr)


class Network(TestCase):
    """Whatever the network does, each event arrives once."""

    def check_cut(self, *options):
        near = self.local("400000", "2000")
        with far.serving(self.address, "-q", "--buffer", "256K") as server, \
                BadNetwork(self.directory / "bad.sock", self.address, cut_every_s=0.05, cuts=25) as network:
            host = self.start(self.directory / "bad.sock", "-q", "-o", self.trace, *options, "--", self.program, "400000", "2000", self.start_file)
            wait_for("the connection is cut again and again", lambda: network.cuts >= 5, state=[host, server])
            self.start_file.touch()
            self.assertEqual(ended(host), 7)
        self.assert_same(near, summary(self.trace))

    def test_connections_that_are_cut(self):
        self.check_cut()

    def test_a_slow_network(self):
        near = self.local("20000")
        with far.serving(self.address, "-q", "--log-memory", "256K"), \
                BadNetwork(self.directory / "bad.sock", self.address, delay_s=0.1, bytes_per_s=125_000):
            self.assert_same(near, self.record(str(self.directory / "bad.sock"), "--", self.program, "20000"))

    def carried(self, near, *words, served=()):
        """Bytes from the target to the host, of a recording that has all."""
        with far.serving(self.address, "-q", *served), BadNetwork(self.directory / "bad.sock", self.address) as network:
            self.assert_same(near, self.record(str(self.directory / "bad.sock"), *words, "--", self.program, "200000"))
        return network.carried[1]

    def test_compression(self):
        near = self.local("200000")
        plain = self.carried(near, "--compress", "never")
        self.assertLess(self.carried(near, "--compress", "always"), plain * 9 / 10)
        # Whose machine it is has the last word.
        self.assertGreater(self.carried(near, "--compress", "always", served=["--compress", "never"]), plain * 9 / 10)
        self.assertLess(self.carried(near, "--compress", "never", served=["--compress=always"]), plain * 9 / 10)

    def test_compressed_and_cut(self):
        self.check_cut("--compress", "always")

    def test_a_cable_that_is_pulled_and_put_in_again(self):
        near = self.local("300000", "3000")
        with far.serving(self.address, "-q", env=SOON) as server, BadNetwork(self.directory / "bad.sock", self.address) as network:
            host = self.start(self.directory / "bad.sock", "-o", self.trace, "--", self.program, "300000", "3000", self.start_file, env=SOON)
            self.wait_until_it_records(self.trace, host, server)
            network.is_pulled = True
            said = self.read_errors(host, b"lost the connection")
            self.start_file.touch()
            self.assertEqual(server.stdout.readline(), b"done\n")
            network.is_pulled = False
            said = self.read_errors(host, b"reconnected to", said) + finished(host)[1]
            self.assertEqual(host.returncode, 7, said)
        self.assert_same(near, summary(self.trace), scanned=False)  # it ended while nobody could be asked


class Gone(TestCase):
    """The program continues, no matter which side is gone."""

    def test_a_host_that_is_killed(self):
        with far.serving(self.address, "--orphan-timeout", "1s", stdout=subprocess.PIPE) as server:
            host = self.start(self.address, "-q", "-o", self.trace, "--", self.program, "1000000", "3000")
            self.wait_until_it_records(self.trace, host, server)
            host.kill()
            host.wait()
            # It ends as it would alone, and another host is served.
            self.assertEqual(server.stdout.readline(), b"done\n")
            wait_for("the program ended", lambda: not heaptap_test.descendants(server.pid), state=server)
            near = self.local("3000")
            tries = []

            def is_served():
                tries.append(heaptap("run", "-H", self.address, "-q", "--force", "-o", self.trace, "--", self.program, "3000", cwd=self.directory))
                return tries[-1].status == 7

            wait_for("another host is served", is_served, state=[lambda: tries[-1], server])
            self.assert_same(near, summary(self.trace))

    def test_a_signal_is_the_programs(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number), far.serving(self.address, "-q") as server:
                host = self.start(self.address, "-q", "--force", "-o", self.trace, "--", self.program, "400000000", "5000")
                self.wait_until_it_records(self.trace, host, server)
                host.send_signal(number)
                self.assertEqual(ended(host), 128 + number)
                wait_for("the session ends", lambda: not heaptap_test.descendants(server.pid), state=server)
            self.assertEqual(summary(self.trace)["target"]["exit"]["signal"], number)
            self.trace.unlink()

    def test_what_is_typed_reaches_all_that_a_shell_started(self):
        words = ["-f", "-o", self.directory / "%p.htap", "--", "/bin/sh", "-c", f"{self.program} 400000000 5000; true"]
        with far.serving(self.address, "-q") as server:
            host = self.start(self.address, "-q", *words)
            wait_for("both are recorded", lambda: all(far.is_recorded(pid) for pid in heaptap_test.descendants(server.pid)[1:])
                     and len(heaptap_test.descendants(server.pid)) == 3, state=[host, server])
            host.send_signal(signal.SIGINT)
            self.assertEqual(ended(host), 128 + signal.SIGINT)

    def detaching(self, server, *words):
        """A host that records a program which no signal ends."""
        host = self.start(self.address, "--force", "-o", self.trace, *words, "--", "env", "--ignore-signal=INT", self.program, "400000", "5000", self.start_file)
        self.wait_until_it_records(self.trace, host, server)
        return host

    def is_detached(self, host, server, so_far=b""):
        self.read_errors(host, b"detached from the program", so_far)
        self.assertEqual(ended(host), 0)
        self.start_file.touch()
        self.assertEqual(server.stdout.readline(), b"done\n")
        report = summary(self.trace)
        self.assertFalse(report["capture"]["truncated"])
        self.assertTrue(report["leaks"]["scanned"], report["notes"])
        self.assertNotIn("no_scan_at_end", [note["kind"] for note in report["notes"]], "the scan is that of the detaching")

    def test_the_second_signal_lets_go_of_it(self):
        with far.serving(self.address, "-q") as server:
            host = self.detaching(server)
            host.send_signal(signal.SIGINT)
            said = self.read_errors(host, b"send it again")
            host.send_signal(signal.SIGINT)
            self.is_detached(host, server, said)

    def test_a_duration_lets_go_of_it(self):
        with far.serving(self.address, "-q") as server:
            self.is_detached(self.detaching(server, "--duration", "2s"), server)

    def test_a_target_side_that_is_killed(self):
        with far.serving(self.address, "-q") as server:
            host = self.start(self.address, "-o", self.trace, "--", self.program, "4000000", "3000")
            self.wait_until_it_records(self.trace, host, server)
            server.kill()
            self.read_errors(host, b"lost the connection")
            host.send_signal(signal.SIGINT)
            finished(host)
        self.assertFalse(summary(self.trace)["capture"]["complete"])

    def test_a_target_side_that_never_comes_back(self):
        with far.serving(self.address, "-q", "--orphan-timeout", "200ms") as server:
            host = self.start(self.address, "-o", self.trace, "--", self.program, "4000000", "3000", env=SOON)
            self.wait_until_it_records(self.trace, host, server)
            server.kill()
            said = finished(host)[1].decode()
        self.assertEqual(host.returncode, 125, said)
        self.assertIn("it has detached by now", said)
        self.assertRegex(said, r"\(pid \d+\) was out of reach after [1-9]")
        self.assertNotIn("damaged", said)

    def test_that_the_target_side_is_gone_is_said_again_and_again(self):
        env = heaptap_test.sooner(write="20ms", heartbeat="100ms", silence="1000ms", retry="100ms", remind="50ms")
        with far.serving(self.address, "-q") as server:
            host = self.start(self.address, "-o", self.trace, "--", self.program, "4000000", "3000", env=env)
            self.wait_until_it_records(self.trace, host, server)
            server.kill()
            read_until(host.stderr.fileno(), "three times that it is still trying", lambda text: text.count(b"; still trying, Ctrl-C ends") >= 3)
            host.send_signal(signal.SIGINT)
            finished(host)

    def test_a_served_program_ends_with_the_word_of_its_server(self):
        with far.serving(self.address, "-q") as server:
            server.send_signal(signal.SIGTERM)
            self.assertEqual(ended(server), 0)


class Refused(TestCase):
    """What can't be is refused with cause and cure."""

    def refusal(self, *words, status=2):
        done = run([far.HEAPTAP_TARGET, *words])
        self.assertEqual(done.status, status, str(done))
        return done.stderr.decode()

    def test_tcp_where_nothing_proves_who_is_who(self):
        for address in ("0.0.0.0:0", "127.0.0.1:0", "[::1]:0", "0"):
            self.assertIn("heaptap pair", self.refusal("serve", address, status=125))
            self.assertIn("heaptap pair", self.refusal("run", "--listen", address, "--", "true", status=125))
        self.assertIn("heaptap pair", self.refusal("connect", "127.0.0.1:1", status=125))
        done = heaptap("run", "-H", "127.0.0.1:1", "--", "/bin/true", cwd=self.directory)
        self.assertEqual(done.status, 125, str(done))
        self.assertIn(b"heaptap pair", done.stderr)

    def test_command_lines(self):
        self.assertIn("unexpected second address", self.refusal("serve", "a/b", "c/d"))
        self.assertIn("--log-memory", self.refusal("serve", "--log-memory", "1K"))
        self.assertIn("unknown option --colour", self.refusal("serve", "--colour"))
        self.assertIn("no host is paired with this machine", self.refusal("connect", "--keys", self.directory / "no.keys", status=125))
        self.assertIn("unknown command 'frobnicate'", self.refusal("frobnicate"))
        self.assertIn("UNIX socket", self.refusal("serve", self.address, "--announce"))

    def test_nobody_there(self):
        done = heaptap("run", "-H", self.directory / "none.sock", "--", "/bin/true", cwd=self.directory, env=heaptap_test.sooner(reach="1000ms"))
        self.assertEqual(done.status, 125)
        self.assertIn(b"heaptap-target serve", done.stderr)

    def test_what_the_target_refuses(self):
        with far.serving(self.address, "-q"):
            for words, status in ((["/no/such/program"], 127), (["/etc/passwd"], 126)):
                done = heaptap("run", "-H", self.address, "-o", self.directory / "none.htap", "--", *words, cwd=self.directory)
                self.assertEqual(done.status, status, str(done))
                self.assertIn(words[0].encode(), done.stderr)
            done = heaptap("run", "-H", self.address, "--aggregate", "--", "/bin/true", cwd=self.directory)
            self.assertEqual(done.status, 2, str(done))

    def test_a_second_host_where_one_recording_is_made(self):
        with far.serving(self.address, "-q", "--once") as server:
            host = self.start(self.address, "-q", "-o", self.trace, "--", "/bin/sleep", "1000")
            wait_for("it records", self.trace.exists, state=[host, server])
            done = heaptap("run", "-H", self.address, "--", "/bin/true", cwd=self.directory)
            self.assertEqual(done.status, 125)
            self.assertIn(b"it makes one recording only (--once), which has begun", done.stderr)
            self.assertIsNone(host.poll())


class NoMemory(TestCase):
    """What was read of the program's memory doesn't leave the machine."""

    def test_no_scan_data(self):
        near = self.local("20000")
        with far.serving(self.address, "-q", "--no-scan-data"):
            for words in (["--via", "agent"], ["--via", "ptrace"]):
                there = self.record(self.address, *words, "--", self.program, "20000")
                self.assertEqual({name: near["totals"][name] for name in FIGURES}, {name: there["totals"][name] for name in FIGURES})
                self.assertFalse(there["leaks"]["scanned"], there)
                self.assertIn("--no-scan-data", json.dumps(there["notes"]))
            program = self.run_beside([self.program, "100000000", "1000"], stdout=subprocess.DEVNULL)
            done = heaptap("attach", "-H", self.address, "-q", "--force", "-o", self.trace, "--duration", "300ms", program.pid, cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            self.assertIn("--no-scan-data", json.dumps(summary(self.trace)["notes"]))


class Several(TestCase):
    """Recordings of several hosts at once: what becomes of one is nothing to the others."""

    def test_hosts_at_once(self):
        near = self.local("300000", "2000")
        with far.serving(self.address, "-q"):
            traces = [self.directory / f"trace.{number}.htap" for number in range(4)]
            hosts = [self.start(self.address, "-q", "-o", trace, "--", self.program, "300000", "2000") for trace in traces]
            for host, trace in zip(hosts, traces):
                said = finished(host)[1].decode()
                self.assertEqual(host.returncode, 7, said)
                self.assert_same(near, summary(trace))

    def test_connections_that_are_cut(self):
        near = self.local("300000", "2000")
        with far.serving(self.address, "-q"), BadNetwork(self.directory / "bad.sock", self.address, cut_every_s=0.1, cuts=12):
            traces = [self.directory / f"trace.{number}.htap" for number in range(2)]
            hosts = [self.start(self.directory / "bad.sock", "-q", "-o", trace, "--", self.program, "300000", "2000") for trace in traces]
            for host, trace in zip(hosts, traces):
                said = finished(host)[1].decode()
                self.assertEqual(host.returncode, 7, said)
                self.assert_same(near, summary(trace))

    def test_one_that_is_killed(self):
        near = self.local("300000", "3000")
        with far.serving(self.address, "-q", "--orphan-timeout", "1s") as server:
            other = self.start(self.address, "-q", "-o", self.directory / "other.htap", "--", self.program, "4000000", "3000")
            wait_for("a session's process", lambda: heaptap_test.descendants(server.pid), state=server)
            victim = min(heaptap_test.descendants(server.pid))
            host = self.start(self.address, "-q", "-o", self.trace, "--", self.program, "300000", "3000")
            wait_for("it records", self.trace.exists, state=[host, server])
            wait_for("the other one records", (self.directory / "other.htap").exists, state=[other, server])
            os.kill(victim, signal.SIGKILL)
            self.assertIn("has ended", finished(other)[1].decode())
            self.assertEqual(ended(host), 7)
        self.assert_same(near, summary(self.trace))
        self.assertFalse(summary(self.directory / "other.htap")["capture"]["complete"])

    def test_hosts_that_are_refused_leave_room_for_others(self):
        near = self.local("3000")
        with far.serving(self.address, "-q"):
            for _ in range(17):
                done = heaptap("connect", self.address, cwd=self.directory)
                self.assertIn(b"no recording there yet", done.stderr)
            self.assert_same(near, self.record(self.address, "--", self.program, "3000"))

    def test_ended_by_a_signal(self):
        """All is let go of, and the hosts have what was recorded up to there."""
        program = self.run_beside([self.program, "100000000", "1000"], stdout=subprocess.DEVNULL)
        with far.serving(self.address, "-q") as server:
            host = self.run_beside([HEAPTAP, "attach", "-H", self.address, "-q", "-o", self.trace, program.pid], stderr=subprocess.PIPE)
            self.wait_until_it_records(self.trace, host, server)
            server.send_signal(signal.SIGTERM)
            self.assertEqual(ended(server), 0)
            finished(host)
            self.assertIsNone(program.poll())
        self.assertIn("TracerPid:\t0\n", pathlib.Path(f"/proc/{program.pid}/status").read_text())
        self.assertGreater(summary(self.trace)["totals"]["allocations"], 0)


class Steered(TestCase):
    """Commands about a recording take the machine's address, and find what is recorded there."""

    def recorded(self, stack, *words):
        """A program over there that is being recorded, and its pid."""
        server = stack.enter_context(far.serving(self.address, "-q"))
        self.start(self.address, "-q", "-o", self.trace, *words, "--", self.program, "100000000", "1000")
        wait_for("it runs", lambda: self.pids_there(server), state=server)
        return self.pids_there(server)[0]

    def test_a_report_by_a_signal_to_the_program(self):
        for via in ("agent", *(["ptrace"] if heaptap_test.has_tracer() else [])):
            with self.subTest(via), contextlib.ExitStack() as stack:
                pid = self.recorded(stack, "--force", "--via", via, "--report-signal", "USR2")
                wait_for("it is recorded", lambda: size_of(self.trace) > 4096, state=pid)
                os.kill(pid, signal.SIGUSR2)
                report = wait_for("a report", lambda: list(self.directory.glob(f"*.{pid}.1.*")) or list(self.directory.glob(f"*{pid}*1*")), state=pid)
                self.assertTrue(report)
                os.kill(pid, signal.SIGKILL)

    def pids_there(self, server):
        return [pid for pid in heaptap_test.descendants(server.pid)
                if heaptap_test.executable(pid) == str(self.program) and far.is_recorded(pid)]

    def test_by_its_number_and_address(self):
        with contextlib.ExitStack() as stack:
            pid = self.recorded(stack)
            done = heaptap("leaks", "-H", self.address, pid, "--json", cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            self.assertTrue(json.loads(done.stdout)["leaks"]["scanned"], str(done))
            done = heaptap("mark", "-H", self.address, pid, "here", cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            done = heaptap("console", "-H", self.address, pid, "-x", "status", "-x", "scan new", "-x", "show leaks",
                           cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            self.assertIn(b"1 mark", done.stdout)
            self.assertIn(b"lose", done.stdout)
            done = heaptap("top", "-H", self.address, pid, "--once", cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            self.assertIn(b"get", done.stdout)
            done = heaptap("connect", self.address, "leaks", pid, "--json", cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            self.assertTrue(json.loads(done.stdout)["leaks"]["scanned"], str(done))
            # Not of this machine.
            done = heaptap("mark", pid, "x", cwd=self.directory)
            self.assertNotEqual(done.status, 0, str(done))

    def test_without_a_number(self):
        """It is the only one there; on which machine is said where several are offered."""
        with contextlib.ExitStack() as stack:
            pid = self.recorded(stack)
            for words in (["console", "-H", self.address, "-x", "status"], ["top", "-H", self.address, "--once"]):
                done = heaptap(*words, cwd=self.directory)
                self.assertEqual(done.status, 0, str(done))
                self.assertIn(str(pid).encode(), done.stdout)
            near = self.directory / "near.htap"
            recorder = self.run_beside([HEAPTAP, "run", "-q", "-o", near, "--", self.program, "100000000", "1000"])
            wait_for("another one is recorded here", near.exists, state=recorder)
            done = heaptap("console", "-x", "status", cwd=self.directory)
            self.assertEqual(done.status, 2, str(done))
            self.assertIn(f"-H {self.address} {pid}".encode(), done.stderr)

    def test_recordings_that_they_begin(self):
        program = self.run_beside([self.program, "100000000", "1000"], stdout=subprocess.DEVNULL)
        with far.serving(self.address, "-q") as server:
            done = heaptap("top", "-H", self.address, program.pid, "--json", "--count", "2", "--delay", "200ms", cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            samples = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([sample["process"]["pid"] for sample in samples], [program.pid] * 2)
            self.assertIsNone(program.poll())
            done = heaptap("console", "-H", self.address, "-x", f"attach {program.pid}", "-x", "status", "-x", "detach", cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            self.assertIn(str(program.pid).encode(), done.stdout)
            # One that doesn't end before `top` has found it: `top` ends it.
            done = heaptap("top", "-H", self.address, "--once", "--", self.program, "100000000", "1000", cwd=self.directory)
            self.assertEqual(done.status, 0, str(done))
            wait_for("nothing runs there", lambda: not heaptap_test.descendants(server.pid), state=server)
            self.assertIsNone(program.poll())

    def test_connect_is_the_option(self):
        near = self.local("20000")
        with far.serving(self.address, "-q"):
            done = heaptap("connect", self.address, "run", "-q", "-o", self.trace, "--", self.program, "20000", cwd=self.directory)
            self.assertEqual(done.status, 7, str(done))
            self.assert_same(near, summary(self.trace))
            done = heaptap("connect", self.address, "frobnicate", cwd=self.directory)
            self.assertEqual(done.status, 2, str(done))
            done = heaptap("connect", self.address, cwd=self.directory)
            self.assertEqual(done.status, 125, str(done))
            self.assertIn(b"heaptap run -H", done.stderr)

    def test_where_nothing_is_recorded(self):
        done = heaptap("mark", "-H", self.address, 1, "x", cwd=self.directory)
        self.assertEqual(done.status, 125, str(done))
        self.assertIn(f"heaptap attach -H {self.address} 1".encode(), done.stderr)


if __name__ == "__main__":
    unittest.main()
