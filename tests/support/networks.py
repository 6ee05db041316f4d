"""Simulated machines: namespaces joined by pairs of veth."""
import itertools
import json
import shutil
import subprocess

import heaptap_test
from heaptap_test import ANNOUNCER, HEAPTAP
from waiting import ended, read_until, wait_for

DBUS = """<busconfig><type>system</type><listen>unix:path=/run/dbus/system_bus_socket</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_type="method_call"/><allow send_type="signal"/>
<allow send_type="method_return"/><allow send_type="error"/><allow receive_type="method_call"/><allow receive_type="signal"/>
<allow receive_type="method_return"/><allow receive_type="error"/></policy></busconfig>
"""
AVAHI = "[server]\nenable-dbus=yes\n[publish]\npublish-workstation=no\n"


class Running:
    """Background program and its output so far."""

    def __init__(self, command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self.text = ""

    def wait_for(self, text, times=1):
        came = read_until(self.process.stdout.fileno(), f"{text!r}, {times} times", lambda came: came.decode(errors="replace").count(text) >= times,
                          state=self.process, so_far=self.text.encode())
        self.text = came.decode(errors="replace")

    def lines_with(self, text):
        """The complete lines so far, once one of them contains this text."""
        def whole(came):
            return came[:came.rfind(b"\n") + 1].decode(errors="replace")

        came = read_until(self.process.stdout.fileno(), f"a line with {text!r}", lambda came: text in whole(came), state=self.process,
                          so_far=self.text.encode())
        self.text = came.decode(errors="replace")
        return whole(came).splitlines()

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def end(self):
        """Closes its input, and waits for its end."""
        self.process.stdin.close()
        return ended(self.process)

    def rest(self):
        """All output until it ends by SIGTERM."""
        self.process.terminate()
        return self.text + self.process.stdout.read().decode(errors="replace")

    def stop(self):
        if self.process.returncode is None:
            heaptap_test.end(self.process)
            self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Machine:
    """Network, mount and UTS namespaces; they end with their first process."""

    def __init__(self, test, name):
        self.test = test
        start = f"hostname {name} && mount -t tmpfs none /run && mkdir /run/dbus && ip link set lo up && echo ready && exec cat"
        self.holder = self.keep(Running(["unshare", "-n", "-m", "-u", "sh", "-c", start]))
        self.holder.wait_for("ready")
        self.pid = self.holder.process.pid

    def keep(self, running):
        self.test.addCleanup(running.stop)
        return running

    def command(self, *words):
        return ["nsenter", "-t", self.pid, "-n", "-m", "-u", *words]

    def run(self, *words):
        return heaptap_test.run(self.command(*words))

    def start(self, *words):
        return self.keep(Running(self.command(*words)))

    def discover(self, *options):
        return self.run(HEAPTAP, "discover", *options)

    def found_once(self, holds):
        """Services by name, once `holds` is true of them."""
        watcher = self.start(HEAPTAP, "discover", "--watch", "--json")
        known = {}
        for number in itertools.count():
            watcher.wait_for("\n", number + 1)
            event = json.loads(watcher.text.splitlines()[number])
            service = event["service"]
            known.pop(service["name"], None)
            if event["event"] != "gone":
                known[service["name"]] = service
            if holds(services := [known[name] for name in sorted(known)]):
                watcher.stop()
                return services

    def announce(self, name, port=5000, *more):
        announcer = self.start(ANNOUNCER, name, port, *more)
        announcer.wait_for("\n")
        return announcer

    def start_avahi(self):
        (self.test.directory / "dbus.conf").write_text(DBUS)
        (self.test.directory / "avahi.conf").write_text(AVAHI)
        bus = self.start("dbus-daemon", f"--config-file={self.test.directory}/dbus.conf", "--nofork", "--nopidfile", "--print-address")
        bus.wait_for("unix:path")
        avahi = self.start("avahi-daemon", "-f", self.test.directory / "avahi.conf", "--no-drop-root", "--no-rlimits", "--no-chroot")
        avahi.wait_for("Server startup complete")
        return avahi


class TestCase(heaptap_test.TestCase):
    """Test case with simulated machines."""

    def setUp(self):
        super().setUp()
        unshare = ["unshare", "-n", "-m", "-u"]
        usable = shutil.which("ip") and subprocess.run([*unshare, "ip", "link", "add", "type", "veth"], capture_output=True, check=False).returncode == 0
        if not usable:
            heaptap_test.skip_what_is_missing("namespaces of networks with veth in them, which root can make")
        # Who enters a namespace of mounts has its root, whatever the own one was.
        enter = [*unshare, "sh", "-c", 'exec nsenter -t $$ -m test -e "$0"', HEAPTAP]
        if subprocess.run(enter, capture_output=True, check=False).returncode != 0:
            heaptap_test.skip_what_is_missing("a root directory that is that of the namespace of mounts: this is a chroot")

    def machines(self, *names):
        return [Machine(self, name) for name in names]

    def join(self, one, other, number, *families):
        """Links two machines: eth<number> on both. IPv6 link-local addresses are assigned by the kernel."""
        interface = f"eth{number}"
        self.ip("link", "add", interface, "netns", one.pid, "type", "veth", "peer", "name", interface, "netns", other.pid)
        for last, machine in enumerate((one, other), 1):
            if "ipv4" in families:
                self.ip("addr", "add", f"10.77.{number}.{last}/24", "dev", interface, of=machine)
            # Nobody else has these addresses: it need not look for a second.
            setting, value = ("accept_dad", 0) if "ipv6" in families else ("disable_ipv6", 1)
            machine.run("sh", "-c", f"echo {value} > /proc/sys/net/ipv6/conf/{interface}/{setting}")
            self.ip("link", "set", interface, "up", of=machine)
        for machine in (one, other):
            wait_for("the link is up", lambda: b" UP " in machine.run("ip", "-br", "link", "show", interface).stdout)
            wait_for("it has its addresses", lambda: not machine.run("ip", "-6", "addr", "show", "tentative").stdout)

    def connect_all(self, *machines):
        """Joins all machines to one network by a switch: eth1, with addresses from 10.99.0.1."""
        switch = Machine(self, "switch")
        if switch.run("ip", "link", "add", "lan", "type", "bridge", "mcast_snooping", "0").status != 0:
            heaptap_test.skip_what_is_missing("bridges between networks, which the kernel can make")
        self.ip("link", "set", "lan", "up", of=switch)
        for number, machine in enumerate(machines, 1):
            self.ip("link", "add", "eth1", "netns", machine.pid, "type", "veth", "peer", "name", f"port{number}", "netns", switch.pid)
            self.ip("addr", "add", f"10.99.0.{number}/24", "dev", "eth1", of=machine)
            machine.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/eth1/disable_ipv6")
            self.ip("link", "set", "eth1", "up", of=machine)
            self.ip("link", "set", f"port{number}", "master", "lan", "up", of=switch)

    def ip(self, *words, of=None):
        outcome = of.run("ip", *words) if of else heaptap_test.run(["ip", *words])
        self.assertEqual(outcome.status, 0, str(outcome))
