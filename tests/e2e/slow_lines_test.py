# CTEST COST 24
"""What a line can't carry, or not soon: events that are lost are counted, each of them; scans come behind all that waits, and the
program is not stopped for the network."""
import contextlib
import json
import pathlib
import select
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import far
import heaptap_test
from bad_network import BadNetwork
from heaptap_test import LONG, heaptap, summary
from remote_test import TestCase
from waiting import ended, finished, read_until, until_it_woke, wait_for

# Pairs, as many as it is told, between two files that are waited for.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *keep[64];
static void wait_for(const char *file) { while (access(file, F_OK) != 0) usleep(1000); }
int main(int argc, char **argv) {
  unsigned rounds = (unsigned)atoi(argv[argc - 1]), i;
  wait_for(argv[1]);
  for (i = 0; i < rounds; i++) {
    free(keep[i % 64]);
    keep[i % 64] = malloc(i % 5000 + 1);
  }
  puts("all of it");
  fflush(stdout);
  wait_for(argv[2]);
  return 7;
}
"""
ROUNDS = "400000"


def names_below(pid):
    names = []
    for each in heaptap_test.descendants(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            names.append(pathlib.Path(f"/proc/{each}/comm").read_text().strip())
    return names


class Lost(TestCase):
    """Of a log that is full nothing is lost that isn't counted, and the program goes on."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = cls.program.parent / "gated.c"
        source.write_text(SOURCE)
        cls.gated = cls.program.parent / "gated"
        subprocess.run(["gcc", "-O0", "-g", "-fno-builtin", source, "-o", cls.gated], check=True)

    def local_events(self):
        here = self.directory / "here"
        here.touch()
        done = heaptap("run", "-q", "--no-leak-scan", "-o", self.trace, "--force", "--", self.gated, here, here, ROUNDS, cwd=self.directory)
        self.assertEqual(done.status, 7, str(done))
        capture = summary(self.trace)["capture"]
        self.assertEqual(capture["lost_events"], 0)
        return capture["events"]

    def check(self, policy):
        begin, end = self.directory / "begin", self.directory / "end"
        words = ["-q", "--force", "--no-leak-scan", "--on-overflow", policy, "-o", self.trace, "--", self.gated, begin, end, ROUNDS]
        with far.serving(self.address, "-q", "--log-memory", "256K", "--buffer", "256K") as server, \
                BadNetwork(self.directory / "bad.sock", self.address) as network:
            host = self.start(self.directory / "bad.sock", *words)
            # The trace alone may be a look whether it can be written.
            wait_for("the program runs", lambda: "gated" in names_below(server.pid), state=host)
            wait_for("it records", self.trace.exists, state=host)
            network.is_pulled = True
            begin.touch()
            # While nothing gets through.
            self.assertTrue(select.select([server.stdout], [], [], heaptap_test.TIMEOUT_S)[0], "the program is held up")
            self.assertEqual(server.stdout.readline(), b"all of it\n")
            network.is_pulled = False
            end.touch()
            said = finished(host)[1].decode()
            self.assertEqual(host.returncode, 7, said)
        report = summary(self.trace)
        lost, made_up = report["capture"]["lost_events"], report["totals"]["unseen_frees"]
        self.assertGreater(lost, 0)
        self.assertEqual(report["capture"]["events"] - made_up + lost, self.local_events())

    def test_where_it_drops(self):
        self.check("drop")

    def test_where_it_waits_for_a_bounded_time(self):
        self.check("wait")


class Ends(TestCase):
    """Of a program whose events are still under way."""

    def test_the_target_waits_at_rest(self):
        with far.serving(self.address, "-q", "--log-memory", "256K", "--buffer", "256K") as server, \
                BadNetwork(self.directory / "bad.sock", self.address) as network:
            began = time.monotonic()
            host = self.start(self.directory / "bad.sock", "-q", "--no-leak-scan", "--on-overflow", "drop", "-o", self.trace, "--", self.program,
                              ROUNDS, "1000", self.start_file)
            wait_for("it records", lambda: network.carried[1] > 10_000, state=host)
            network.is_pulled = True
            self.start_file.touch()
            session = heaptap_test.descendants(server.pid)[0]
            wait_for("the program ends", lambda: self.program.name not in names_below(server.pid), state=server)
            took_s = time.monotonic() - began
            # One that is woken again and again never rests.
            until_it_woke(session, 20)
            wait_for("a while", lambda: time.monotonic() - began > took_s + 1)
            network.is_pulled = False
            self.assertEqual(ended(host, state=server), 7)
        self.assertLess(summary(self.trace)["capture"]["duration_ns"] / 1e9, took_s)

    def test_the_program_does_not_wait_for_long(self):
        words = ["--log-memory", "256K", "--buffer", "256K", "--exit-wait", "300ms"]
        with far.serving(self.address, *words) as server, BadNetwork(self.directory / "bad.sock", self.address) as network:
            host = self.start(self.directory / "bad.sock", "-q", "--on-overflow", "drop", "-o", self.trace, "--", self.program, ROUNDS, "1000",
                              self.start_file)
            wait_for("it records", lambda: network.carried[1] > 10_000, state=host)
            network.is_pulled = True
            self.start_file.touch()
            wait_for("the program ends", lambda: self.program.name not in names_below(server.pid), state=server)
            read_until(server.stderr.fileno(), "what it waits for", lambda text: b"an exiting process waits for the connection, at most 300.0 ms" in text)
            network.is_pulled = False
            self.assertEqual(ended(host, state=server), 7)
        self.assertTrue([note for note in heaptap_test.notes_of(summary(self.trace)) if "--exit-wait" in note])


class Scans(TestCase):
    def recorded(self, address, network, *words):
        """A busy program over there, of which much is under way; its number."""
        host = self.start(address, "-q", "-o", self.trace, *words, "--", self.program, "100000000", "1000")
        wait_for("it records", lambda: network.carried[1] > 100_000, state=[host, lambda: f"{network.carried} bytes came over"])
        return summary(self.trace)["target"]["pid"]

    def scan_of(self, address, pid):
        done = heaptap("leaks", "-H", address, pid, "--json", cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))
        report = json.loads(done.stdout)
        self.assertTrue(report["leaks"]["scanned"], str(done))
        return report["leaks"]["scan"]

    def test_behind_all_that_waits(self):
        """What waits takes seconds, all by itself; HEAPTAP_LONG=1: longer than an end that is silent is waited for."""
        buffer, bytes_per_s = ("2M", 30_000) if LONG else ("256K", 150_000)
        address = str(self.directory / "bad.sock")
        with far.serving(self.address, "-q", "--buffer", buffer, "--log-memory", "256K"), \
                BadNetwork(address, self.address, bytes_per_s=bytes_per_s) as network:
            self.scan_of(address, self.recorded(address, network))

    def test_the_program_is_not_stopped_for_the_network(self):
        delay_s = 1
        address = str(self.directory / "bad.sock")
        with far.serving(self.address, "-q", "--log-memory", "256K"), BadNetwork(address, self.address, delay_s=delay_s) as network:
            scan = self.scan_of(address, self.recorded(address, network))
        self.assertLess(scan["stopped_ns"], delay_s * 1e9 / 2)

    @unittest.skipUnless(LONG, "takes half a minute: HEAPTAP_LONG=1 runs it")
    def test_the_end_comes_behind_all_that_waits(self):
        address = str(self.directory / "bad.sock")
        with far.serving(self.address, "-q", "--buffer", "256K", "--log-memory", "256K"), \
                BadNetwork(address, self.address, bytes_per_s=15_000) as network:
            host = self.start(address, "-q", "--no-leak-scan", "-o", self.trace, "--", self.program, "100000000", "1000")
            wait_for("it records", lambda: network.carried[1] > 50_000, state=[host, lambda: f"{network.carried} bytes came over"])
            host.send_signal(signal.SIGINT)
            finished(host)
        report = summary(self.trace)
        self.assertFalse(report["capture"]["truncated"])
        self.assertFalse([note for note in heaptap_test.notes_of(report) if "in time" in note or "lost" in note], report["notes"])


if __name__ == "__main__":
    unittest.main()
