#!/usr/bin/env python3
"""heaptap under load, for as long as it takes: servers that are attached to while clients ask them, heaptap killed at any moment, a million
events a second for minutes, a board with little memory behind a slow line. The programs go on as they would, and nothing grows.

load_test.py [--install] [unittest's arguments]   with the programs under $HEAPTAP and $TARGETS, as root (a database server refuses root
                                                  and is run as its own user). LOAD_SHARE: 0.1 is a tenth of the rounds and seconds.
"""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from bad_network import BadNetwork
from heaptap_test import HEAPTAP, TARGETS
from memory_group import MemoryGroup
from process_image import Image, code_of_files, threads, tracers
from waiting import at_any_moment, descendants, ended, finished, wait_for

SHARE = float(os.environ.get("LOAD_SHARE", 1))
ATTACHES = max(3, int(100 * SHARE))
KILLS = max(10, int(1000 * SHARE))
RATE_S = max(20, int(600 * SHARE))
BOARD_S = max(10, int(60 * SHARE))
PACKAGES = "redis-server redis-tools nginx-light postgresql nodejs gcc libc6-dev util-linux"

# Asks a server over a UNIX socket again and again, and ends with status 1 at the first answer that isn't the right one.
CLIENT = """
import signal, socket, sys
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
count = 0
while not stopped:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sys.argv[1])
        line.sendall(b"GET /page HTTP/1.0\\r\\nHost: here\\r\\n\\r\\n")
        answer = b""
        while piece := line.recv(65536):
            answer += piece
    if not answer.startswith(b"HTTP/1.1 200") or not answer.endswith(b"x" * 20000):
        sys.exit(f"request {count}: {answer[:300]!r}")
    count += 1
print(count)
"""
NODE = """
const page = () => [...Array(100)].map((_, i) => ({i, text: String(i).repeat(20)})) && 'x'.repeat(20000);
const server = require('http').createServer((_, answer) => answer.end(page()));
server.listen(process.argv[2]);
process.on('SIGTERM', () => process.exit(0));
"""
NGINX = """daemon off; worker_processes 1; pid nginx.pid; error_log error.log; user root;
events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {{ listen unix:{socket}; root {directory}; gzip on; }} }}
"""
# steady EVENTS_PER_S SECONDS: so many allocations and releases a second, of any size from 64 call paths; each eighth block stays for a while.
STEADY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
enum { kKept = 4096, kBurst = 500 };
static void* volatile kept[kKept];
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
__attribute__((noinline)) static void pair(unsigned long number, int way) {
  if (way > 0) {
    if (way & 1) { pair(number, way >> 1); __asm__ volatile("" ::: "memory"); return; }
    pair(number, way >> 1);
    __asm__ volatile("nop" ::: "memory");
    return;
  }
  void* volatile block = malloc(16 + number * 2654435761u % 4096 % 500);
  if (number % 8 == 0) {
    void* old = kept[number / 8 % kKept];
    kept[number / 8 % kKept] = block;
    block = old;
  }
  free(block);
}
int main(int argc, char** argv) {
  const double rate = argc > 2 ? atof(argv[1]) / 2 : 1, seconds = argc > 2 ? atof(argv[2]) : 0, begin = now();
  unsigned long pairs = 0, chance = 88172645463325252;
  double late = 0;
  for (double at = begin; at - begin < seconds; at = now()) {
    if ((double)pairs > (at - begin) * rate) {
      nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
      continue;
    }
    late = (at - begin) - (double)pairs / rate;
    for (int i = 0; i < kBurst; ++i, ++pairs) {
      chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
      pair(pairs ^ (chance & 7), 64 + (int)(chance >> 32 & 63));
    }
  }
  printf("%lu pairs, %.3f s late\n", pairs, late);
  return 0;
}
"""


def words_of(text):
    return [str(word) for word in text.split()]


class Server(contextlib.AbstractContextManager):
    """A server and a client that asks it all the time. `pids()`: whom to attach to."""
    needs = ()
    makes_code = False  # while it runs
    sessions = 0  # of its own processes, that have to be there

    def __init__(self, directory):
        self.directory, self.socket = directory, directory / "socket"

    def __enter__(self):
        self.process = subprocess.Popen(self.command(), cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_for("the server listens", self.listens, state=self.process)
        self.client = subprocess.Popen(self.client_command(), cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        wait_for("the server has those that are attached to", lambda: len(self.pids()) >= self.sessions, state=self.client)
        return self

    def __exit__(self, *_):
        for process in (self.client, self.process):
            heaptap_test.end(process)
            process.communicate()

    def listens(self):
        return self.socket.exists()

    def pids(self):
        return [self.process.pid]

    def client_command(self):
        return [sys.executable, "-c", CLIENT, str(self.socket)]

    def stop_client(self):
        """What it says at its end, and its status."""
        self.client.terminate()
        said, _ = finished(self.client)
        return self.client.returncode, said.decode(errors="replace")

    def stop(self):
        self.process.terminate()
        return ended(self.process)


class Redis(Server):
    needs = ("redis-server", "redis-benchmark")

    def command(self):
        return ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", ""]

    def client_command(self):
        return ["sh", "-c", f"trap 'exit 0' TERM; while redis-benchmark -s {self.socket} -q -c 20 -n 20000 -d 200 -r 1000 "
                            "-t set,get,lpush,lpop,hset,zadd > benchmark.txt 2>&1; do :; done; cat benchmark.txt; exit 1"]

    def stop_client(self):
        status, said = super().stop_client()
        subprocess.run(["redis-cli", "-s", self.socket, "ping"], check=True, stdout=subprocess.DEVNULL)
        return status, said


class Nginx(Server):
    needs = ("nginx",)
    sessions = 1

    def command(self):
        (self.directory / "page").write_text("x" * 20000)
        (self.directory / "conf").write_text(NGINX.format(socket=self.socket, directory=self.directory))
        return ["nginx", "-p", self.directory, "-c", self.directory / "conf", "-e", self.directory / "error.log"]

    def pids(self):
        return descendants(self.process.pid)


class Node(Server):
    needs = ("node",)
    makes_code = True

    def command(self):
        (self.directory / "server.js").write_text(NODE)
        return ["node", self.directory / "server.js", self.socket]


class Postgres(Server):
    """Its sessions are attached to, one after the other."""
    needs = ("pgbench", "runuser")
    sessions = 4
    programs = next(iter(sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), pathlib.Path("/nowhere"))

    def command(self):
        shutil.chown(self.directory, "postgres")
        os.chmod(self.directory, 0o755)
        self.as_its_user(self.programs / "initdb", "-D", self.directory / "data", "-A", "trust", "-N")
        return ["runuser", "-u", "postgres", "--", self.programs / "postgres", "-D", self.directory / "data", "-k", self.directory, "-h", ""]

    def as_its_user(self, *words):
        return subprocess.run(["runuser", "-u", "postgres", "--", *map(str, words)], cwd=self.directory, check=True, capture_output=True)

    def listens(self):
        return subprocess.run([self.programs / "pg_isready", "-q", "-h", self.directory], check=False).returncode == 0

    def client_command(self):
        self.as_its_user("pgbench", "-h", self.directory, "-i", "-q", "postgres")
        return ["runuser", "-u", "postgres", "--", "pgbench", "-h", self.directory, "-c", "4", "-T", "100000", "postgres"]

    def pids(self):
        def is_session(pid):
            try:
                return b": postgres postgres [local]" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            except (FileNotFoundError, ProcessLookupError):  # one that was there for a moment: autovacuum's
                return False
        return [pid for pid in descendants(self.process.pid) if is_session(pid)]

    def stop_client(self):
        for pid in descendants(self.client.pid) or [self.client.pid]:
            os.kill(pid, signal.SIGINT)
        said, _ = finished(self.client)
        return 0 if b"aborted" not in said and b"failed" not in said.replace(b"failed transactions: 0 ", b"") else 1, said.decode()

    def stop(self):
        for pid in descendants(self.process.pid)[:1]:
            os.kill(pid, signal.SIGINT)
        return ended(self.process)


class Attaches(heaptap_test.TestCase):
    """Servers under load, attached to a hundred times each way: each answer is right, and the process is as it was."""

    def attach_to(self, kind, via):
        for need in kind.needs:
            if not shutil.which(need):
                heaptap_test.skip_what_is_missing(f"{need} isn't installed")
        chance = random.Random(kind.__name__)
        events = 0
        with kind(self.directory) as server:
            images = {}
            for number in range(ATTACHES):
                pids = server.pids()
                pid = pids[number % len(pids)]
                if pid not in images:  # pgbench's first session is gone by then
                    images[pid] = Image(pid, threads(pid)[:4], kind.makes_code)
                scan = [] if number % 5 == 0 else ["--no-leak-scan"]
                outcome = heaptap_test.heaptap("attach", "--via", via, "-q", "--force", *scan, "-o", self.trace, "--duration",
                                               f"{chance.choice((0, 20, 100, 300))}ms", pid)
                self.assertEqual(outcome.status, 0, f"attach {number} to {pid}: {outcome}")
                self.assertIsNone(server.process.poll(), f"the server has ended after attach {number}")
                self.assertIsNone(server.client.poll(), f"the client has ended after attach {number}")
                self.assertEqual(images[pid].differences(), [], f"attach {number} to {pid}")
                totals = heaptap_test.summary(self.trace)["totals"]
                events += totals["allocations"]
                bad = {name: totals[name] for name in ("bad_frees", "double_frees", "mismatched_frees") if totals[name]}
                self.assertEqual(bad, {}, f"attach {number} to {pid}")
            self.assertEqual(server.stop_client()[0], 0)
            self.assertEqual(server.stop(), 0)
        self.assertGreater(events, 0)
        print(f"{kind.__name__}: {ATTACHES} attaches by {via}, {events} allocations seen", flush=True)

    def test_redis(self):
        self.attach_to(Redis, "ptrace")

    def test_redis_by_agent(self):
        self.attach_to(Redis, "agent")

    def test_nginx(self):
        self.attach_to(Nginx, "ptrace")

    def test_nginx_by_agent(self):
        self.attach_to(Nginx, "agent")

    def test_postgres(self):
        self.attach_to(Postgres, "ptrace")

    def test_postgres_by_agent(self):
        self.attach_to(Postgres, "agent")

    def test_node(self):
        self.attach_to(Node, "ptrace")

    def test_node_by_agent(self):
        self.attach_to(Node, "agent")


class Kills(heaptap_test.TestCase):
    """heaptap killed at any moment: the program is as it was, and ends as it would have."""

    def start(self, *before):
        process = subprocess.Popen([*map(str, before), TARGETS / "busy"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.communicate)
        self.addCleanup(heaptap_test.end, process)
        return process

    def test_that_have_attached(self):
        busy, chance = self.start(), random.Random(11)
        self.assertEqual(busy.stdout.readline(), b"ready\n")
        image = Image(busy.pid, threads(busy.pid)[:12])
        for number in range(KILLS * 7 // 10):
            via = ("agent", "ptrace")[number % 2]
            heaptap = subprocess.Popen([HEAPTAP, "attach", "--via", via, "-q", "--force", "-o", self.trace, str(busy.pid)],
                                       stderr=subprocess.DEVNULL)
            at_any_moment(chance, 0.4, 2)
            # The guardian's end is the end of what it traces, as each tracer's is that stands in a trap: it detaches when heaptap is gone.
            heaptap.kill()
            ended(heaptap)
            wait_for(f"what was put in is taken out, killed {number} times, by {via}", lambda: not image.differences(), state=busy.pid)
            self.assertIsNone(busy.poll(), f"killed {number} times")
        self.assertEqual((finished(busy, b"end\n")[0], busy.returncode), (b"all is well\n", 0))

    def test_that_have_started_the_program(self):
        bare = self.start()
        self.assertEqual(bare.stdout.readline(), b"ready\n")
        as_it_is, chance = code_of_files(bare.pid), random.Random(12)
        for number in range(KILLS * 3 // 10):
            via = ("agent", "ptrace")[number % 2]
            heaptap = self.start(HEAPTAP, "run", "--via", via, "-q", "--force", "-o", self.trace, "--")
            self.assertEqual(heaptap.stdout.readline(), b"ready\n")
            program = next(pid for pid in descendants(heaptap.pid) if heaptap_test.executable(pid).endswith("/busy"))
            at_any_moment(chance, 0.2, 2)
            heaptap.kill()
            wait_for(f"nobody traces it, killed {number} times", lambda: not tracers(program), state=program)
            if via == "ptrace":
                self.assertEqual(code_of_files(program), as_it_is, f"killed {number} times")
            self.assertEqual(finished(heaptap, b"end\n")[0], b"all is well\n", f"killed {number} times, by {via}")


class Steady(heaptap_test.TestCase):
    """A program that does nothing but allocate and release."""

    def setUp(self):
        super().setUp()
        self.steady = self.directory / "steady"
        (self.directory / "steady.c").write_text(STEADY)
        subprocess.run(["cc", "-O1", "-fno-builtin", "-o", self.steady, self.directory / "steady.c"], check=True)

    @staticmethod
    def memory(pids):
        """In use beside the log, each page once."""
        total = 0
        for pid in pids:
            with contextlib.suppress(OSError):
                text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                total += sum(int(size) << 10 for size in re.findall(r"^Pss_(?:Anon|File):\s+(\d+) kB", text, re.MULTILINE))
        return total


class GuardianKills(Steady):
    """The guardian alone killed at any moment. What stands at a breakpoint, or comes to one, ends by its trap, as with each tracer that is
    killed; nothing hangs, heaptap says what happened, and what was recorded until then is there."""

    def guardian_of(self, heaptap):
        for pid in descendants(heaptap.pid):
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"htap-guardian"):
                    return pid
        return None

    def kill(self, number, chance, way):
        errors = self.directory / "errors"
        program = subprocess.Popen([self.steady, "1000", "1000"], stdout=subprocess.DEVNULL) if way == "attach" else None
        words = ["attach", "-q", str(program.pid)] if program else ["run", "-q", "--via", "ptrace", "--", self.steady, "1000", "1000"]
        with errors.open("wb") as stderr:
            heaptap = subprocess.Popen([HEAPTAP, words[0], "--force", "-o", self.trace, *words[1:]], stdout=subprocess.DEVNULL, stderr=stderr)
        for process in filter(None, (heaptap, program)):
            self.addCleanup(process.wait)
            self.addCleanup(heaptap_test.end, process)
        guardian = wait_for("there is a guardian", lambda: self.guardian_of(heaptap), state=[heaptap, errors])
        at_any_moment(chance, 0.4, 2)
        with contextlib.suppress(ProcessLookupError):
            os.kill(guardian, signal.SIGKILL)
        wait_for("heaptap says so", lambda: b"the tracer" in errors.read_bytes() or heaptap.poll() is not None, state=[heaptap, errors])
        # One that it came to before it had planted anything goes on as if nothing had been.
        for pid in [program.pid] if program else descendants(heaptap.pid):
            wait_for("nobody traces it", lambda pid=pid: not tracers(pid), state=pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        status = ended(heaptap, state=errors)
        what = f"killed {number} times, by {way}: heaptap ended with {status}, {errors.read_text()}"
        self.assertIn("the tracer", errors.read_text(), what)
        if program:
            self.assertEqual(status, 125, what)
            self.assertIn(ended(program), (-signal.SIGTRAP, -signal.SIGTERM), what)
        else:
            self.assertIn(status, (128 + signal.SIGTRAP, 128 + signal.SIGTERM, 125), what)
        if self.trace.exists():
            notes = heaptap_test.notes_of(heaptap_test.summary(self.trace))
            self.assertTrue(any("the tracer" in note for note in notes), f"{what}\n{notes}")
            self.trace.unlink()
        return status

    def test_at_any_moment(self):
        chance, statuses = random.Random(14), []
        for number in range(max(10, KILLS * 2 // 10)):
            statuses.append(self.kill(number, chance, ("run", "attach")[number % 2]))
        print(f"guardians killed: {len(statuses)}, heaptap ended with {sorted(set(statuses))}", flush=True)


class Rate(Steady):
    """A million events a second: no memory grows, nothing is lost, and the counts are right."""
    EVENTS_PER_S = 1_000_000

    def test_memory_is_flat(self):
        heaptap = subprocess.Popen([HEAPTAP, "run", "-q", "--force", "--no-leak-scan", "-o", self.trace, "--", self.steady,
                                    str(self.EVENTS_PER_S), str(RATE_S)], stdout=subprocess.PIPE)
        self.addCleanup(heaptap_test.end, heaptap)
        samples = []
        while heaptap.poll() is None:
            time.sleep(min(5, RATE_S / 20))
            samples.append(self.memory([heaptap.pid, *descendants(heaptap.pid)]))
        said = heaptap.communicate()[0].decode()
        pairs, late_s = int(said.split()[0]), float(re.search(r"([\d.]+) s late", said)[1])
        report = heaptap_test.summary(self.trace)
        early, last = samples[len(samples) // 10], max(samples[len(samples) * 2 // 3:-1])
        print(f"{pairs} pairs in {RATE_S} s ({2 * pairs / RATE_S:,.0f} events/s, {late_s} s behind at the end), memory beside the log "
              f"{early >> 20} MiB early, at most {last >> 20} MiB in the last third, trace {self.trace.stat().st_size >> 20} MiB", flush=True)
        self.assertEqual((heaptap.returncode, report["capture"]["lost_events"]), (0, 0))
        self.assertIn(report["totals"]["allocations"] - pairs, range(20), "not what it made, and what its start and its output take")
        self.assertLess(last, early * 1.1 + (4 << 20))
        self.assertLess(late_s, 0.1 * RATE_S, "this machine can't make so many a second")


class Board(Steady):
    """A memory group of 64 MiB with the program and the target side in it, at the end of a line of 1 Mbit/s: the program goes on at its own
    speed, what is lost is counted, and the target side stays small."""
    BYTES_PER_S = 1_000_000 // 8

    def test_it_lives_and_losses_are_counted(self):
        group = MemoryGroup(64 << 20)
        self.addCleanup(group.remove)
        address = str(self.directory / "far.sock")
        with far.serving(address, "-q", "--once", wrapper=group.joining()) as server, \
                BadNetwork(self.directory / "slow.sock", address, bytes_per_s=self.BYTES_PER_S) as network:
            host = subprocess.Popen([HEAPTAP, "run", "-H", self.directory / "slow.sock", "-q", "--force", "--on-overflow", "drop", "-o", self.trace,
                                     "--", self.steady, "1e9", str(BOARD_S)], stderr=subprocess.PIPE)
            self.addCleanup(heaptap_test.end, host)
            most = 0
            while host.poll() is None and server.poll() is None:
                own = [pid for pid in (server.pid, *descendants(server.pid)) if heaptap_test.executable(pid) != str(self.steady)]
                most = max(most, self.memory(own))
                time.sleep(0.2)
            said, status = finished(host)[1].decode(), host.returncode
            server.wait()
            pairs = int(server.stdout.read().split()[0])
            carried = network.carried
        report = heaptap_test.summary(self.trace)
        capture, totals = report["capture"], report["totals"]
        stats = heaptap_test.heaptap("show", "stats", self.trace).stdout.decode()
        log, unit = re.search(r"([\d.]+) (KiB|MiB) of the log used at most", stats).groups()
        log = int(float(log) * (1024 if unit == "KiB" else 1 << 20))
        events = capture["events"] - totals["unseen_frees"]
        print(f"{2 * pairs / BOARD_S:,.0f} events/s, {events} seen, {capture['lost_events']} lost, {sum(carried) >> 10} KiB over the line, "
              f"{log >> 10} KiB of the log used at most, target side at most {most >> 10} KiB beside it", flush=True)
        self.assertEqual(status, 0, said)
        self.assertGreater(capture["lost_events"], 0)
        self.assertIn(events + capture["lost_events"] - 2 * pairs, range(-5000, 100), "what was seen and what was lost isn't what there was")
        # Nobody says how large the log is to be.
        self.assertGreaterEqual(log, 256 << 10)
        self.assertLess(most, 8 << 20)


def main():
    if "--install" in sys.argv:
        sys.argv.remove("--install")
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *PACKAGES.split()], check=True,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=subprocess.DEVNULL)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
