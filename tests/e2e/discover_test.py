# CTEST COST 40
"""`heaptap discover` finds what is announced on the network: between machines that are namespaces here, joined by pairs of veth,
and with avahi on either side."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
import networks
from heaptap_test import ANNOUNCER, HEAPTAP

TYPE = "_heaptap._tcp"
# Says again and again that there are a thousand services, which want no token.
FORGER = r"""
import socket, struct, time

def name(*labels):
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"

def record(of, type, data, unique=True):
    return of + struct.pack(">HHIH", type, 0x8001 if unique else 1, 4500, len(data)) + data

to_all = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to_all.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
to_all.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
to_all.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.99.0.1"))
to_all.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
to_all.bind(("", 5353))
service, host = name(b"_heaptap", b"_tcp", b"local"), name(b"forged", b"local")
while True:
    for number in range(1000):
        instance = name(b"a forged one %d" % number, b"_heaptap", b"_tcp", b"local")
        records = [record(service, 12, instance, False), record(instance, 33, struct.pack(">HHH", 0, 0, 7) + host),
                   record(instance, 16, b"\x08secure=0"), record(host, 1, socket.inet_aton("10.99.0.1"))]
        to_all.sendto(struct.pack(">HHHHHH", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records), ("224.0.0.251", 5353))
    print("said", flush=True)
    time.sleep(0.2)
"""


def names_of(services):
    return sorted(service["name"] for service in services)


class Discover(networks.TestCase):
    def test_one_is_found(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4", "ipv6")
        announcer = board.announce("")
        self.assertEqual(announcer.text, "board\n")
        announcer.say("shop")
        desk.found_once(lambda services: services and services[0]["program"] == "shop")
        outcome = desk.discover()
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(outcome.stderr, b"heaptap: 'board' doesn't announce that it authenticates hosts: don't trust it\n"
                                         b"heaptap: announcements are not authenticated, anybody on this network can make one; a paired key (heaptap pair) or a token is proof\n")
        lines = [line.split() for line in outcome.stdout.decode().splitlines()]
        self.assertEqual(lines, [["name", "host", "address", "program", "CPU", "version", "secure"],
                                 ["board", "board-heaptap.local", "10.77.1.1:5000", "shop", "x86_64", "0.1", "no"]])
        [service] = desk.found_once(lambda services: services and len(services[0]["addresses"]) == 2)
        self.assertEqual((service["name"], service["port"], service["secure"]), ("board", 5000, False))
        four, six = service["addresses"]
        self.assertEqual(four, {"address": "10.77.1.1", "interface": "eth1"})
        self.assertRegex(six["address"], r"^fe80::.*%eth1$")

    def test_behind_two_links_it_is_one(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4", "ipv6")
        self.join(board, desk, 2, "ipv4")
        board.announce("", 5000, "secure")
        [service] = desk.found_once(lambda services: services and len(services[0]["addresses"]) == 3)
        self.assertEqual([address["interface"] for address in service["addresses"]], ["eth1", "eth2", "eth1"])
        self.assertTrue(service["secure"])
        self.assertEqual(len(desk.discover().stdout.splitlines()), 2)

    def test_over_ipv6_alone(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv6")
        board.announce("")
        desk.found_once(names_of)
        self.assertRegex(desk.discover().stdout.decode(), r"\[fe80::[0-9a-f:]+%eth1\]:5000 ")

    def test_on_one_machine_without_a_network(self):
        [board] = self.machines("board")
        board.announce("")
        [service] = board.found_once(names_of)
        self.assertEqual(service["addresses"][0], {"address": "127.0.0.1", "interface": "lo"})

    def test_nothing_there(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4")
        outcome = desk.discover("--wait", "100ms")
        self.assertEqual((outcome.status, outcome.stdout), (1, b""))
        for word in (b"heaptap-target serve --announce", b"multicast", b"firewall"):
            self.assertIn(word, outcome.stderr)
        outcome = desk.discover("--wait", "100ms", "--json")
        self.assertEqual((outcome.status, json.loads(outcome.stdout)), (1, {"format": "heaptap-discover", "version": 1, "services": []}))

    def test_wrong_usage(self):
        self.assertEqual(heaptap_test.heaptap("discover", "--once", "--watch").status, 2)
        self.assertEqual(heaptap_test.heaptap("discover", "board").status, 2)

    def test_of_two_of_one_name_one_gets_another(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4", "ipv6")
        board.announce("twin", 5001)
        desk.found_once(names_of)
        second = desk.announce("twin", 5002)
        second.wait_for("twin (2)\n")
        both = desk.found_once(lambda services: len(services) == 2)
        self.assertEqual({service["name"]: service["port"] for service in both}, {"twin": 5001, "twin (2)": 5002})

    def test_two_programs_of_one_machine(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4")
        board.announce("", 5001)
        desk.found_once(names_of)
        board.announce("", 5002).wait_for("board (2)\n")
        both = desk.found_once(lambda services: len(services) == 2)
        self.assertEqual({service["host"] for service in both}, {"board-heaptap.local"})

    def test_twenty_machines(self):
        desk, *boards = self.machines("desk", *[f"board{number}" for number in range(20)])
        self.connect_all(desk, *boards)
        for board in boards:
            board.announce("", 5000, "secure")
        self.assertEqual(names_of(desk.found_once(lambda services: len(services) == 20)), sorted(f"board{number}" for number in range(20)))
        outcome = desk.discover()
        self.assertEqual(len(outcome.stdout.splitlines()), 21, str(outcome))
        self.assertTrue(outcome.stderr.startswith(b"heaptap: to record on one of them: heaptap run -H ADDRESS -- PROGRAM\n"), str(outcome))

    def test_twenty_of_one_name(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4", "ipv6")
        for number in range(20):
            board.announce("", 5000 + number, "secure")
        found = desk.found_once(lambda services: len(services) == 20)
        self.assertEqual({service["port"] for service in found}, set(range(5000, 5020)))
        self.assertEqual(len(desk.discover().stdout.splitlines()), 21)

    def test_a_thousand_forged_ones_push_nobody_out(self):
        forger, board, desk = self.machines("forger", "board", "desk")
        self.connect_all(forger, board, desk)
        forger.start("python3", "-c", FORGER).wait_for("said")
        board.announce("", 5000, "secure")
        found = desk.found_once(lambda services: "board" in names_of(services))
        self.assertLessEqual(len(found), 33)
        outcome = desk.discover()
        self.assertIn(b"board ", outcome.stdout)
        self.assertIn(b"heaptap: not all announcements are shown: at most 32 services per address, 1000 in total\n", outcome.stderr)
        self.assertNotIn(b"insecure", outcome.stderr)

    def test_watching(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4", "ipv6")
        watcher = desk.start(HEAPTAP, "discover", "--watch")
        lines = desk.start(HEAPTAP, "discover", "--watch", "--json")
        announcer = board.announce("")
        watcher.wait_for("found    board  board-heaptap.local  10.77.1.1:5000  -  x86_64  0.1  no\n")
        announcer.say("shop")
        watcher.wait_for("changed  board  board-heaptap.local  10.77.1.1:5000  shop  x86_64  0.1  no\n")
        self.assertEqual(announcer.end(), 0)
        watcher.wait_for("gone     board")
        events = [json.loads(line) for line in lines.lines_with('"gone"')]
        self.assertEqual({event["format"] for event in events}, {"heaptap-discover"})
        self.assertEqual((events[0]["event"], events[0]["service"]["name"], events[-1]["event"]), ("found", "board", "gone"))

    def test_an_interface_that_comes_later(self):
        board, desk = self.machines("board", "desk")
        board.start("env", "HEAPTAP_TEST_INTERVALS=links=100ms", ANNOUNCER, "", 5000).wait_for("\n")
        self.join(board, desk, 1, "ipv4")
        watcher = desk.start(HEAPTAP, "discover", "--watch")
        watcher.wait_for("10.77.1.1:5000")

    def test_beside_a_program_that_keeps_the_port_for_itself(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4", "ipv6")
        keep = "import socket; keeper = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); keeper.bind(('::', 5353)); print('kept', flush=True); input()"
        desk.start("python3", "-c", keep).wait_for("kept")
        board.announce("")
        desk.found_once(names_of)
        outcome = desk.run(ANNOUNCER, "desk", 5000)
        self.assertEqual(outcome.status, 1)
        self.assertIn(b"can't listen for multicast DNS on port 5353: Address already in use", outcome.stderr)

    def test_avahi_finds_it(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4", "ipv6")
        desk.start_avahi()
        board.announce("My. board").say("shop")
        browser = desk.start("avahi-browse", "-rp", TYPE)
        resolved = [line.split(";") for line in browser.lines_with('"program=shop"') if line.startswith("=")]
        self.assertEqual({tuple(line[3:5]) + (line[6], line[8]) for line in resolved},
                         {("My\\.\\032board", TYPE, "board-heaptap.local", "5000")})
        self.assertIn("10.77.1.1", {line[7] for line in resolved})

    def test_it_finds_what_avahi_publishes(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4", "ipv6")
        board.start_avahi()
        published = board.start("avahi-publish", "-s", "evil \x1b[31mboard", TYPE, "7000", "program=a\x1b]b", "cpu=arm")
        published.wait_for("Established")
        [service] = desk.found_once(names_of)
        self.assertEqual((service["name"], service["host"], service["port"]), ("evil \x1b[31mboard", "board.local", 7000))
        self.assertEqual((service["program"], service["cpu"], service["version"], service["secure"]), ("a\x1b]b", "arm", None, None))
        outcome = desk.discover()
        self.assertNotIn(b"\x1b", outcome.stdout)
        self.assertIn(rb"evil \x1b[31mboard", outcome.stdout)

    def test_beside_an_avahi_on_each_machine(self):
        board, desk = self.machines("board", "desk")
        self.join(board, desk, 1, "ipv4", "ipv6")
        avahis = [board.start_avahi(), desk.start_avahi()]
        board.announce("")
        [service] = desk.found_once(names_of)
        self.assertEqual(service["host"], "board-heaptap.local")
        browser = desk.start("avahi-browse", "-rp", TYPE)
        browser.wait_for(";board-heaptap.local;")
        self.assertIn("10.77.1.1", desk.run("avahi-resolve", "-4", "-n", "board.local").stdout.decode())
        for avahi in avahis:
            self.assertNotIn("conflict", avahi.rest())


if __name__ == "__main__":
    unittest.main()
