"""Programs in a frozen control group, as containers are when they are paused: heaptap says so, and ends."""
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import heaptap_test
from attach_test import Attached, wait_for_status
from heaptap_test import heaptap
from waiting import until_taken, wait_for

MOUNTS = pathlib.Path("/proc/self/mountinfo").read_text()


def mounted(pattern):
    found = re.search(rf"^\S+ \S+ \S+ / (\S+) .* - {pattern}$", MOUNTS, re.MULTILINE)
    return pathlib.Path(found[1]) if found else None


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class Frozen(heaptap_test.TestCase):
    def group(self, mount, file):
        if mount is None:
            self.skip_without(file)
        group = mount / f"heaptap-test-{self.id().rpartition('.')[2]}"
        try:
            group.mkdir(exist_ok=True)
        except OSError as error:
            heaptap_test.skip_what_is_missing(f"no group can be made in {mount}: {error}",
                                              "run as root with it writable (a container: --privileged --cgroupns=private)")
        self.addCleanup(self.remove, group)
        self.switch = group / file
        if not self.switch.exists():
            heaptap_test.skip_what_the_kernel_lacks(f"groups of processes that can be frozen: those of {mount} have no {file}")
        # One that waits for nothing: freezing interrupts system calls.
        self.program = subprocess.Popen([sys.executable, "-c", "print('ready', flush=True)\nwhile True: bytes(1000)"],
                                        stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.program.communicate)
        self.addCleanup(heaptap_test.end, self.program)
        self.assertEqual(self.program.stdout.readline(), "ready\n")
        (group / "cgroup.procs").write_text(str(self.program.pid))
        self.addCleanup(self.thaw)
        return group

    @staticmethod
    def skip_without(file):
        """Where the kernel has it, and it isn't mounted, a mount is the cure."""
        if file == "cgroup.freeze":
            heaptap_test.skip_what_is_missing("cgroup2 isn't mounted", "mount -t cgroup2 none /sys/fs/cgroup/unified")
        if not re.search(r"^freezer\s", pathlib.Path("/proc/cgroups").read_text(), re.MULTILINE):
            heaptap_test.skip_what_the_kernel_lacks("the freezer of cgroup 1: this kernel has none (CONFIG_CGROUP_FREEZER)")
        heaptap_test.skip_what_is_missing("the freezer of cgroup 1 isn't mounted", "mount -t cgroup -o freezer none /sys/fs/cgroup/freezer")

    @staticmethod
    def remove(group):
        wait_for("the group is empty", lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()

    def thaw(self):
        self.switch.write_text("0" if self.switch.name == "cgroup.freeze" else "THAWED")

    def freeze(self, group):
        if self.switch.name == "cgroup.freeze":
            self.switch.write_text("1")
            wait_for("it is frozen", lambda: "frozen 1" in (group / "cgroup.events").read_text())
        else:
            self.switch.write_text("FROZEN")
            wait_for("it is frozen", lambda: self.switch.read_text() == "FROZEN\n")

    def test_what_cannot_be_stopped_is_refused(self):
        group = self.group(mounted(r"cgroup \S+ \S*\bfreezer\b\S*"), "freezer.state")
        self.freeze(group)
        outcome = heaptap("attach", "-o", self.trace, self.program.pid)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertIn(b"is frozen", outcome.stderr)
        self.thaw()
        wait_for_status(self.program.pid, "TracerPid", "0")

    def test_frozen_while_it_is_recorded_it_does_not_keep_heaptap(self):
        group = self.group(mounted(r"cgroup \S+ \S*\bfreezer\b\S*"), "freezer.state")
        attached = Attached(self, "--no-leak-scan", "-o", self.trace, self.program.pid)
        self.freeze(group)
        attached.process.send_signal(signal.SIGINT)
        until_taken(attached.process, signal.SIGINT)  # two that are pending are one
        attached.process.send_signal(signal.SIGINT)
        outcome = attached.wait()
        self.assertEqual(outcome.status, 0, str(outcome))
        self.thaw()
        wait_for_status(self.program.pid, "TracerPid", "0")  # once it can be
        self.assertIsNone(self.program.poll())

    def test_one_that_can_be_stopped_all_the_same_is_recorded(self):
        group = self.group(mounted("cgroup2 .*"), "cgroup.freeze")
        self.freeze(group)
        attached = Attached(self, "-o", self.trace, self.program.pid)
        outcome = attached.stop()
        self.assertEqual(outcome.status, 0, str(outcome))
        wait_for_status(self.program.pid, "TracerPid", "0")


if __name__ == "__main__":
    unittest.main()
