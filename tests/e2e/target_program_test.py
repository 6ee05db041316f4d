"""heaptap-target by itself: it begins without a host, which takes over what it has or reads it as a file; what comes of it is what a
recording on one machine has."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
import remote_test
from heaptap_test import heaptap, run, summary
from waiting import ended, until_it_waits, wait_for


class TestCase(remote_test.TestCase):
    def setUp(self):
        super().setUp()
        self.file = self.directory / "far.rec"

    def target(self, *words, **options):
        return run([far.HEAPTAP_TARGET, *words], cwd=self.directory, timeout_s=heaptap_test.TIMEOUT_S, **options)

    def begin(self, *words, **options):
        """heaptap-target that goes on beside the test, at its address."""
        process = self.run_beside([far.HEAPTAP_TARGET, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)
        wait_for("it waits for a host", lambda: process.poll() is not None or far.listens(process.pid, self.address), state=process)
        return process

    def connect(self, what, *words, status=7):
        done = heaptap("connect", what, "-q", "--force", "-o", self.trace, *words, cwd=self.directory)
        self.assertEqual(done.status, status, str(done))
        return summary(self.trace)


class Host(TestCase):
    """A host that comes later has all from the beginning."""

    def test_while_the_program_runs(self):
        near = self.local("200000", "2000")
        target = self.begin("run", "--listen", self.address, "--", self.program, "200000", "2000")
        self.assert_same(near, self.connect(self.address))
        self.assertEqual(ended(target), 7)

    def test_after_the_program_ended(self):
        near = self.local("3000")
        target = self.begin("run", "--listen", self.address, "--", self.program, "3000")
        self.assertIn(b"waiting at", target.stderr.readline())
        self.assertIn(b"have ended", target.stderr.readline())
        self.assert_same(near, self.connect(self.address))
        self.assertEqual(ended(target), 7)

    def test_before_the_first_instruction(self):
        near = self.local("3000")
        witness = self.directory / "witness"
        target = self.begin("run", "--wait", "--listen", self.address, "--", "/bin/sh", "-c", f"touch {witness}; exec {self.program} 3000")
        until_it_waits(target.pid)
        self.assertFalse(witness.exists())
        there = self.connect(self.address)
        self.assertTrue(witness.exists())
        self.assertEqual(there["totals"]["allocations"], near["totals"]["allocations"])
        self.assertEqual(ended(target), 7)

    def test_the_target_goes_to_the_host(self):
        near = self.local("3000")
        host = self.run_beside([heaptap_test.HEAPTAP, "connect", f"listen:{self.address}", "-q", "-o", self.trace], stderr=subprocess.PIPE)
        wait_for("the host listens", lambda: far.listens(host.pid, self.address), state=host)
        self.assertEqual(self.target("run", "--connect", self.address, "-q", "--", self.program, "3000").status, 7)
        self.assertEqual(ended(host), 7)
        self.assert_same(near, summary(self.trace))

    def test_a_process_that_runs(self):
        program = self.run_beside([self.program, "100000000", "1000"], stdout=subprocess.DEVNULL)
        target = self.begin("attach", "--listen", self.address, "--duration", "1s", program.pid)
        there = self.connect(self.address, status=0)
        self.assertGreater(there["totals"]["allocations"], 0)
        self.assertEqual(ended(target), 0)
        self.assertIsNone(program.poll())

    def test_a_host_with_an_order_of_its_own_is_told_how(self):
        target = self.begin("run", "--listen", self.address, "--", self.program, "300000", "5000")
        done = heaptap("run", "-H", self.address, "--", "/bin/true", cwd=self.directory)
        self.assertEqual(done.status, 125)
        self.assertIn(b"heaptap connect", done.stderr)
        self.assertFalse(self.connect(self.address)["capture"]["truncated"])
        self.assertEqual(ended(target), 7)

    def test_nothing_to_take_over(self):
        with far.serving(self.address, "-q"):
            done = heaptap("connect", self.address, "-o", self.trace, cwd=self.directory)
            self.assertEqual(done.status, 125)
            self.assertIn(b"heaptap run -H", done.stderr)

    def test_no_host_ever_comes(self):
        done = self.target("run", "--listen", self.address, "--orphan-timeout", "1s", "--", self.program, "1000")
        self.assertEqual(done.status, 7, str(done))
        self.assertIn(b"no host connected in time", done.stderr)


class File(TestCase):
    """What is recorded into a file is read by the host later."""

    def record(self, *words, status=7, **options):
        done = self.target("record", "-o", self.file, *words, **options)
        self.assertEqual(done.status, status, str(done))
        return done

    def test_holds_all(self):
        near = self.local("200000")
        for via in ("agent", "ptrace"):
            rounds = "200000" if via == "agent" else "2000"
            near = near if via == "agent" else self.local(rounds)
            said = self.record("--force", "--via", via, "--", self.program, rounds)
            self.assertIn(b"heaptap connect", said.stderr)
            self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
            self.assert_same(near, self.connect(self.file))

    def test_takes_four_bytes_an_event_at_most(self):
        self.record("--", self.program, "200000")
        totals = self.connect(self.file)["totals"]
        self.assertLess(os.path.getsize(self.file), 4 * (totals["allocations"] + totals["frees"]))

    def test_compressed_it_holds_the_same(self):
        near = self.local("200000")
        self.record("--", self.program, "200000")
        plain = os.path.getsize(self.file)
        self.record("--force", "--compress", "always", "--", self.program, "200000")
        self.assertLess(os.path.getsize(self.file), plain * 9 / 10)
        self.assert_same(near, self.connect(self.file))

    def test_children_and_programs_that_they_execute(self):
        self.record("-f", "--", "/bin/sh", "-c", f"{self.program} 3000; exec {self.program} 5000")
        done = heaptap("connect", self.file, "-q", cwd=self.directory)
        self.assertEqual(done.status, 7, str(done))
        found = sorted(summary(trace)["totals"]["allocations"] for trace in self.directory.glob("*.htap") if not trace.is_symlink())
        self.assertGreaterEqual(len([count for count in found if count >= 3000]), 2, found)

    def test_a_process_that_runs(self):
        program = self.run_beside([self.program, "100000000", "1000"], stdout=subprocess.DEVNULL)
        self.record("--pid", program.pid, "--duration", "1s", status=0)
        there = self.connect(self.file, status=0)
        self.assertGreater(there["totals"]["allocations"], 0)
        self.assertTrue(there["leaks"]["scanned"], there["notes"])
        self.assertIsNone(program.poll())

    def test_a_small_log_loses_nothing(self):
        self.record("--log-memory", "256K", "--", self.program, "500000")
        there = self.connect(self.file)
        self.assertGreaterEqual(there["totals"]["allocations"], 500_000)
        self.assertEqual(there["capture"]["lost_events"], 0)
        self.assertTrue(there["leaks"]["scanned"], there["notes"])

    def test_one_that_is_there_stays(self):
        self.file.write_text("precious")
        self.record("--", self.program, "10", status=125)
        self.assertEqual(self.file.read_text(), "precious")
        self.record("--force", "--", self.program, "10")

    def test_a_program_that_is_none_leaves_no_file(self):
        self.record("--", "/no/such/program", status=127)
        self.assertFalse(self.file.exists())

    def test_cut_off_anywhere(self):
        self.record("--", self.program, "20000")
        whole = self.file.read_bytes()
        for size in (9, 100, len(whole) // 3, len(whole) - 1):
            self.file.write_bytes(whole[:size])
            done = heaptap("connect", self.file, "-q", "--force", "-o", self.trace, cwd=self.directory)
            self.assertGreaterEqual(done.status, 1, str(done))
            if size == len(whole) // 3:
                self.assertIn(b"it ends", done.stderr)
                there = summary(self.trace)
                self.assertFalse(there["capture"]["complete"])
                self.assertGreater(there["totals"]["allocations"], 0)

    def test_damage_is_no_crash(self):
        self.record("--", self.program, "3000")
        whole = self.file.read_bytes()
        chance = random.Random(7)
        for _ in range(40):
            damaged = bytearray(whole)
            for _ in range(chance.choice((1, 3, 30))):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            self.file.write_bytes(damaged)
            done = heaptap("connect", self.file, "-q", "--force", "-o", self.trace, cwd=self.directory)
            self.assertIn(done.status, range(126), str(done))
            self.assertNotIn(b"internal error", done.stderr)

    def test_no_space(self):
        done = run(["/bin/sh", "-c", f"ulimit -f 16384; trap '' XFSZ; exec {far.HEAPTAP_TARGET} record -o {self.file} -- {self.program} 6000000"],
                   cwd=self.directory, timeout_s=heaptap_test.TIMEOUT_S)
        self.assertEqual(done.status, 7, str(done))
        self.assertIn(b"it has everything recorded so far", done.stderr)
        self.assertGreater(self.connect(self.file, status=125)["totals"]["allocations"], 0)


class Alone(TestCase):
    """The program needs no file beside it."""

    def setUp(self):
        super().setUp()
        self.own = self.directory / "own"
        self.own.mkdir()
        self.alone = self.own / "heaptap-target"
        shutil.copy(far.HEAPTAP_TARGET, self.alone)

    def record(self, *words, **options):
        return run([self.alone, "record", "-o", self.file, "--force", "--via", "agent", *words], cwd=self.directory, **options)

    def test_the_agent_is_in_it(self):
        temporary = self.directory / "temporary"
        temporary.mkdir()
        done = self.record("--", self.program, "3000", env={**os.environ, "TMPDIR": str(temporary)})
        if b"no agent next to" in done.stderr:
            self.skipTest("this one carries no agent")
        self.assertEqual(done.status, 7, str(done))
        near = self.local("3000")
        self.assert_same(near, self.connect(self.file))
        self.assertEqual(list(temporary.iterdir()), [])
        # Who closes all that it doesn't know, executes another program, or is another user, has it as well.
        done = self.record("-f", "--", "/bin/bash", "-c", f"for n in /proc/self/fd/*; do eval \"exec ${{n##*/}}>&-\"; done 2>/dev/null; exec {self.program} 3000")
        self.assertEqual(done.status, 7, str(done))
        self.assertNotIn(b"ld.so", done.stderr)
        if os.geteuid() == 0:
            os.chmod(self.program.parent, 0o755)
            done = self.record("--user", "65534", "--", self.program, "3000")
            self.assertEqual(done.status, 7, str(done))
            self.assertGreaterEqual(self.connect(self.file)["totals"]["allocations"], 3000)

    @unittest.skipUnless(os.geteuid() == 0, "mounts, and becomes another user")
    def test_it_is_loaded_from_where_programs_may_be(self):
        temporary = self.directory / "temporary"
        temporary.mkdir()
        os.chmod(self.directory, 0o755)
        os.chmod(self.program.parent, 0o755)
        words = [self.alone, "record", "-o", self.file, "--user", "65534", "--", self.program, "3000"]
        done = run(["unshare", "--mount", "/bin/sh", "-c", f'mount -t tmpfs -o noexec none {temporary} && exec "$@"', "sh", *words],
                   cwd=self.directory, env={**os.environ, "TMPDIR": str(temporary)})
        self.assertEqual(done.status, 7, str(done))
        self.assertNotIn(b"ld.so", done.stderr)
        self.assertGreaterEqual(self.connect(self.file)["totals"]["allocations"], 3000)

    def record_where_there_are(self, places, *words):
        """On a small machine, which has these directories for files that come and go, and what its programs need."""
        shutil.copy(self.program, self.directory / "program")
        os.chmod(self.directory, 0o755)
        root = self.directory / "root"
        root.mkdir(exist_ok=True)
        script = """set -e; root=$1; work=$2; places=$3; shift 3
            mount -t tmpfs none "$root"; chmod 755 "$root"; mkdir "$root/usr" "$root/proc" "$root/dev" "$root/work"
            mount --bind /usr "$root/usr"; mount --rbind /proc "$root/proc"; mount --bind "$work" "$root/work"
            for name in bin lib lib32 lib64 libx32; do
              if [ -L /$name ]; then cp -P /$name "$root"; elif [ -d /$name ]; then mkdir "$root/$name"; mount --bind /$name "$root/$name"; fi
            done
            for place in $places; do mkdir -p -m 1777 "$root/$place"; done
            exec chroot "$root" "$@" """
        alone = ["unshare", "--mount", "/bin/sh", "-c", script, "sh", root, self.directory, " ".join(places)]
        environment = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
        there = run([*alone, "/bin/true"], env=environment)
        if there.status != 0:
            heaptap_test.skip_what_is_missing(f"a root directory of the test's own: {there}")
        self.file.unlink(missing_ok=True)
        done = run([*alone, "/work/own/heaptap-target", "record", "-o", "/work/far.rec", *words, "--", "/work/program", "3000"], env=environment)
        self.assertEqual(done.status, 7, str(done))
        self.assertNotIn(b"ld.so", done.stderr)
        report = self.connect(self.file)
        self.assertGreaterEqual(report["totals"]["allocations"], 3000)
        return report["capture"]["via"]

    @unittest.skipUnless(os.geteuid() == 0, "mounts, and becomes another user")
    def test_a_machine_without_a_tmp(self):
        if self.record_where_there_are([]) != "agent":
            self.skipTest("this one carries no agent")
        for place in ("dev/shm", "run", "var/tmp"):
            with self.subTest(place):
                self.assertEqual(self.record_where_there_are([place], "--user", "65534:65534"), "agent")

    @unittest.skipUnless(os.geteuid() == 0, "mounts, and becomes another user")
    def test_where_it_can_not_be_loaded_from_anywhere_it_goes_on_by_ptrace(self):
        self.assertEqual(self.record_where_there_are([], "--user", "65534:65534"), "ptrace")


class Refused(TestCase):
    def test_command_lines(self):
        for words, text in ((["run"], b"needs a program"), (["attach"], b"needs a PID"), (["attach", "x"], b"not a PID"),
                            (["record", "--", "true"], b"record -o FILE"), (["run", "-o", "x", "--", "true"], b"is not an option of this command"),
                            (["run", "--via", "magic", "true"], b"'magic' is not one of agent, ptrace"),
                            (["serve", "--compress", "magic"], b"'magic' is not one of auto, always, never"),
                            (["serve", "--wait"], b"is not an option of this command")):
            done = self.target(*words)
            self.assertEqual(done.status, 2, str(done))
            self.assertIn(text, done.stderr)

    def test_of_the_host(self):
        for words, text in (([], b"no address given"), (["a", "show"], b"unknown command 'show'\n"), (["a", "rnu"], b"'rnu' (did you mean run?)")):
            done = heaptap("connect", *words, cwd=self.directory)
            self.assertEqual(done.status, 2, str(done))
            self.assertIn(text, done.stderr)
        other = self.directory / "other"
        other.write_text("something else")
        done = heaptap("connect", other, cwd=self.directory)
        self.assertEqual(done.status, 125, str(done))
        self.assertIn(b"is not a recording", done.stderr)


if __name__ == "__main__":
    unittest.main()
