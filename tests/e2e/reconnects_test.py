# CTEST COST 40
"""Two hundred connections that are cut at random moments, some in the middle of a handshake, some of a line that is slow and narrow as
well, or that the target makes: what comes of the recording is what one without a network has."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from bad_network import BadNetwork
from heaptap_test import HEAPTAP, LONG, heaptap, summary
from waiting import ended, finished, wait_for

# Pairs, some of them lost; it goes on when it is told to, and all of it is the same each time.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *keep[64];
__attribute__((noinline)) static void *get(unsigned size) { return malloc(size); }
__attribute__((noinline)) static void lose(void) { void *volatile lost = get(77); lost = NULL; (void)lost; }
static void churn(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) {
    free(keep[i % 64]);
    keep[i % 64] = get(i % 5000 + 1);
    if (i % 100 == 0) lose();
  }
}
int main(int argc, char **argv) {
  for (int i = 0; i < 400; i++) {
    churn(1000);
    if (argc > 2) usleep((unsigned)atoi(argv[2]));
  }
  while (access(argv[1], F_OK) != 0) usleep(10000);
  churn(10000);
  return 7;
}
"""
FIGURES = ("allocations", "frees", "allocated_bytes", "temporary_allocations", "live_blocks", "live_bytes", "peak_live_bytes",
           "peak_live_blocks", "bad_frees", "double_frees", "mismatched_frees", "unknown_frees")


class Reconnects(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.program, self.go_on = self.directory / "churn", self.directory / "go-on"
        source = self.directory / "churn.c"
        source.write_text(SOURCE)
        subprocess.run(["gcc", "-O0", "-g", "-fno-builtin", source, "-o", self.program], check=True)

    def local(self):
        self.go_on.touch()
        trace = self.directory / "local.htap"
        done = heaptap("run", "-q", "-o", trace, "--", self.program, self.go_on, cwd=self.directory)
        self.assertEqual(done.status, 7, str(done))
        self.go_on.unlink()
        return summary(trace)

    def start(self, address, *words, pause_us):
        return subprocess.Popen([str(word) for word in (HEAPTAP, "run", "-H", address, "-q", *words, "-o", self.trace, "--", self.program,
                                                        self.go_on, pause_us)], cwd=self.directory, stderr=subprocess.PIPE)

    def record(self, network, address, cuts, *words, pause_us):
        return self.finish(self.start(address, *words, pause_us=pause_us), network, cuts)

    def finish(self, host, network, cuts):
        """Until it was cut so often; then all is let through, and the program ends."""
        try:
            wait_for(f"{cuts} cuts", lambda: host.poll() is not None or network.cuts >= cuts, state=host)
            self.go_on.touch()
            said = finished(host)[1].decode()
            self.assertEqual(host.returncode, 7, said)
        finally:
            heaptap_test.end(host)
            host.wait()
            host.stderr.close()
        self.assertEqual(network.cuts, cuts)
        return summary(self.trace)

    def assert_same(self, near, there):
        for name in FIGURES:
            self.assertEqual(there["totals"][name], near["totals"][name], name)
        self.assertTrue(there["capture"]["complete"], there["notes"])
        self.assertEqual(there["capture"]["lost_events"], 0)
        self.assertTrue(there["leaks"]["scanned"], there["notes"])
        self.assertEqual(there["leaks"]["definite"], near["leaks"]["definite"])

    def test_two_hundred_at_random(self):
        near = self.local()
        socket = self.directory / "far.sock"
        with far.serving(str(socket), "-q", "--buffer", "256K"), \
                BadNetwork(self.directory / "bad.sock", socket, cut_every_s=0.03, cuts=200, seed=4) as network:
            self.assert_same(near, self.record(network, self.directory / "bad.sock", 200, pause_us=20_000))

    def test_with_a_token_and_cut_in_handshakes(self):
        near = self.local()
        token = far.make_token(self.directory)
        port, bad_port = far.free_port(), far.free_port()
        # From nothing to behind the handshake, which both ends keep to: who fails too often has to wait.
        behind = [100_000, 1, 150, 400, 700, 900, 1200, 50_000]
        with far.serving(f"127.0.0.1:{port}", "-q", "--token-file", token), \
                BadNetwork(f"127.0.0.1:{bad_port}", f"127.0.0.1:{port}", cut_every_s=0.3, cuts=len(behind) + 20, cut_behind=behind) as network:
            self.assert_same(near, self.record(network, f"127.0.0.1:{bad_port}", len(behind) + 20, "--token-file", token, pause_us=20_000))

    def test_slow_and_narrow_as_well(self):
        """HEAPTAP_LONG=1: two hundred."""
        near, cuts = self.local(), 200 if LONG else 20
        socket = self.directory / "far.sock"
        with far.serving(str(socket), "-q", "--buffer", "256K"), \
                BadNetwork(self.directory / "bad.sock", socket, delay_s=0.1, bytes_per_s=125_000, cut_every_s=0.5, cuts=cuts, seed=7) as network:
            self.assert_same(near, self.record(network, self.directory / "bad.sock", cuts, pause_us=10_000))

    def test_where_the_target_goes_to_the_host(self):
        near, cuts = self.local(), 5
        socket, bad = self.directory / "host.sock", self.directory / "bad.sock"
        host = self.start(f"listen:{socket}", pause_us=10_000)
        wait_for("the host listens", lambda: host.poll() is not None or far.listens(host.pid, str(socket)), state=host)
        with BadNetwork(bad, socket, cut_every_s=0.5, cuts=cuts, seed=5) as network:
            target = subprocess.Popen([far.HEAPTAP_TARGET, "connect", bad, "-q", "--once", "--buffer", "256K"], cwd=self.directory)
            try:
                self.assert_same(near, self.finish(host, network, cuts))
                self.assertEqual(ended(target), 0)
            finally:
                heaptap_test.end(target)
                target.wait()


if __name__ == "__main__":
    unittest.main()
