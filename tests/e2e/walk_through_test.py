# CTEST COST 60
"""As somebody new would do it: a board and a desk, a program on the board, its report on the desk. Of commands only those are typed
that the manual begins with, and those that were printed before."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
import networks
from heaptap_test import HEAPTAP, document_of
from waiting import wait_for

SOURCE = """#include <stdlib.h>
#include <string.h>

struct reading { char *name; int value; };

static struct reading *take_reading(const char *name) {
  struct reading *taken = malloc(sizeof *taken);
  taken->name = strdup(name);
  return taken;
}

int main(void) {
  for (int i = 0; i < 100; i++) {
    struct reading *taken = take_reading("temperature");
    if (i % 10 != 0) free(taken->name);
    free(taken);
  }
  return 0;
}
"""
SOON = ("env", "HEAPTAP_TEST_INTERVALS=reach=2000ms")
LINE = 1 + SOURCE[:SOURCE.index("strdup(name)")].count("\n")


class WalkThrough(networks.TestCase):
    def setUp(self):
        super().setUp()
        self.program = self.directory / "sensor"
        source = self.directory / "sensor.c"
        source.write_text(SOURCE)
        subprocess.run(["gcc", "-g", "-O0", source, "-o", self.program], check=True)
        self.board, self.desk = self.machines("board", "desk")
        self.join(self.board, self.desk, 1, "ipv4", "ipv6")
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "desk.keys")
        self.keys = "--keys", self.directory / "board.keys"

    def typed(self, command, **values):
        """Words of a command that was printed, as a shell takes them, with what stands there in capitals filled in."""
        for name, value in values.items():
            command = re.sub(rf"\b{name}\b", str(value), command)
        return shlex.split(command.replace("heaptap ", f"{HEAPTAP} ", 1))

    def pair(self, *addresses):
        """The two know each other by their keys, where what is printed on either is typed on the other one. Gives the board's key. addresses: others
        of the board that it is known by as well."""
        said = self.desk.run(HEAPTAP, "pair").stdout.decode()
        words = re.fullmatch(r"on the target: heaptap-target (.*)\n", said).group(1)
        said = self.board.run(far.HEAPTAP_TARGET, *shlex.split(words), *self.keys).stdout.decode()
        typed = re.search(r"on the host: (heaptap pair 10\.77\.1\.1 (SHA256:\S+) board)\n", said)
        self.assertEqual(self.desk.run(*self.typed(typed.group(1))).status, 0)
        for address in addresses:
            self.assertEqual(self.desk.run(HEAPTAP, "pair", address, typed.group(2)).status, 0)
        self.board_key = typed.group(2)
        return self.board_key

    def serve(self, *words):
        """heaptap-target on the board, and the command for the host that it prints."""
        target = self.board.start(far.HEAPTAP_TARGET, "serve", *words)
        target.wait_for("-- PROGRAM\n")
        return target, re.search(r"on the host: (heaptap .*)", target.text).group(1)

    def found_command(self, port):
        """What is printed on the desk once it is found there."""
        self.desk.found_once(lambda services: services and services[0]["port"] == port)
        found = self.desk.discover()
        self.assertEqual(found.status, 0, str(found))
        return re.search(rb"heaptap: to record there: (heaptap .*)", found.stderr).group(1).decode(), found

    def record_as_printed(self, command, **values):
        done = self.desk.run("sh", "-c", 'cd "$0" && exec "$@"', self.directory, *self.typed(command, PROGRAM=self.program, **values))
        self.assertEqual(done.status, 0, str(done))
        return done.stderr.decode()

    def check_reports(self, said):
        # What is printed at the end says where the trace is and how it is read.
        traces = [path for path in self.directory.glob("heaptap.sensor.*.htap") if not path.is_symlink()]
        self.assertEqual(len(traces), 1, said)
        self.assertIn(traces[0].name, said)
        text = self.desk.run(HEAPTAP, "show", "leaks", traces[0])
        self.assertEqual(text.status, 0, str(text))
        self.assertIn(f"sensor.c:{LINE}".encode(), text.stdout)
        self.assertIn(b"take_reading", text.stdout)
        page = self.directory / "report.html"
        made = self.desk.run(HEAPTAP, "report", traces[0], "-o", page)
        self.assertEqual(made.status, 0, str(made))
        document = str(document_of(page.read_text()))
        self.assertIn("sensor.c", document)
        self.assertIn("take_reading", document)
        for path in [page, *self.directory.glob("*.htap")]:
            path.unlink()

    def test_with_a_token(self):
        token = self.directory / "token"
        made = heaptap_test.run(["sh", "-c", f"{far.HEAPTAP_TARGET} token > {token}"])
        self.assertEqual(made.status, 0)
        self.assertEqual(token.stat().st_mode & 0o777, 0o600)
        _, printed = self.serve("0.0.0.0:7421", "--token-file", token, "--announce")
        # Both what the board prints and what is found on the desk lead there.
        self.assertEqual(printed, "heaptap run -H 10.77.1.1:7421 --token-file FILE -- PROGRAM")
        told, found = self.found_command(7421)
        self.assertEqual(told, printed)
        self.assertIn(b" yes", found.stdout)
        for command in (printed, told):
            self.check_reports(self.record_as_printed(command, FILE=token))
        # Who doesn't know the token gets no further, and is told what is missing.
        stranger = self.desk.run(*SOON, HEAPTAP, "run", "-H", "10.77.1.1:7421", "--", self.program)
        self.assertEqual(stranger.status, 125, str(stranger))
        self.assertIn(b"token", stranger.stderr)

    def test_with_keys(self):
        key = self.pair()
        _, printed = self.serve("0.0.0.0:7421", *self.keys, "--announce")
        self.assertEqual(printed, "heaptap run -H 10.77.1.1:7421 -- PROGRAM")
        told, _ = self.found_command(7421)
        self.assertEqual(told, printed)
        self.check_reports(self.record_as_printed(told))
        # Another host is told what lets it in.
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "other.keys")
        self.desk.run(HEAPTAP, "pair", "10.77.1.1", key)
        stranger = self.desk.run(HEAPTAP, "run", "-H", "10.77.1.1:7421", "--", self.program)
        self.assertEqual(stranger.status, 125, str(stranger))
        words = re.search(rb"`heaptap-target (pair SHA256:\S+)`", stranger.stderr).group(1).decode()
        self.board.run(far.HEAPTAP_TARGET, *words.split(), "another", *self.keys)
        # One that serves reads its list at its start.
        self.assertIn("another", (self.directory / "board.keys" / "authorized_hosts").read_text())

    def by_name(self, name, *words):
        return self.desk.run("sh", "-c", 'cd "$0" && exec "$@"', self.directory, HEAPTAP, "run", "-H", name, *words, "--", self.program)

    def test_by_name(self):
        self.pair()
        self.serve("0.0.0.0:7421", *self.keys, "--announce")
        self.desk.found_once(lambda services: services)
        done = self.by_name("board")
        self.assertEqual(done.status, 0, str(done))
        self.check_reports(done.stderr.decode())

    def test_by_a_name_that_nobody_vouches_for(self):
        """A forged announcement gets nothing: neither where no key is known by that name, nor where another target's address is announced."""
        stranger = self.directory / "stranger.keys"
        key = self.pair()
        self.serve("0.0.0.0:7421", *self.keys, "--announce")
        self.board.announce("vault", 7421, "secure")
        self.desk.found_once(lambda services: len(services) == 2)
        unknown = self.by_name("vault")
        self.assertEqual(unknown.status, 125, str(unknown))
        self.assertIn(b"neither an address nor the name of a paired target", unknown.stderr)
        self.assertIn(b"heaptap pair ADDRESS KEY vault", unknown.stderr)
        # The vault is known, by a key of its own: what a board says of itself makes it none.
        made = heaptap_test.run([far.HEAPTAP_TARGET, "pair", "--keys", stranger]).stdout.decode()
        vault = re.search(r"SHA256:\S+", made).group()
        self.assertEqual(self.desk.run(HEAPTAP, "pair", "10.77.9.9", vault, "vault").status, 0)
        forged = self.desk.run(*SOON, HEAPTAP, "run", "-H", "vault", "--", self.program)
        self.assertEqual(forged.status, 125, str(forged))
        self.assertIn(f"has the key {key}".encode(), forged.stderr)

    def test_two_of_one_name(self):
        self.pair()
        self.serve("0.0.0.0:7421", *self.keys, "--announce")
        self.board.announce("other", 7422, "secure")
        self.desk.announce("third", 7423, "secure")
        self.desk.found_once(lambda services: len(services) == 3)
        # Two of the board's: that one has its name, and no other is meant.
        self.assertEqual(self.by_name("board").status, 0)
        both = self.by_name("board-heaptap.local")
        self.assertEqual(both.status, 125, str(both))
        self.assertEqual(self.desk.run(HEAPTAP, "pair", "10.77.1.1", "SHA256:" + "A" * 43, "board-heaptap.local").status, 0)

        # A late answer isn't waited for.
        def names_both():
            both = self.by_name("board-heaptap.local")
            self.assertEqual(both.status, 125, str(both))
            return all(place in both.stderr for place in (b"10.77.1.1:7421", b"10.77.1.1:7422"))

        wait_for("both are named", names_both)

    def test_a_name_that_nobody_has(self):
        self.pair()
        nobody = self.by_name("board")
        self.assertEqual(nobody.status, 125, str(nobody))
        self.assertIn(b"heaptap-target serve --announce", nobody.stderr)

    def wait_anywhere(self, *words):
        """A host that waits for any target it knows, on the desk."""
        host = self.desk.start("sh", "-c", 'cd "$0" && exec "$@"', self.directory, HEAPTAP, "run", "-H", "listen:", *words, "--", self.program)
        host.wait_for("waiting at 0.0.0.0:7421")
        return host

    def test_the_board_finds_the_host(self):
        self.pair()
        for words in ((), ("desk",)):
            host = self.wait_anywhere()
            target = self.board.run(far.HEAPTAP_TARGET, "connect", "--once", *words, *self.keys)
            self.assertEqual(target.status, 0, str(target))
            host.process.wait(heaptap_test.TIMEOUT_S)
            self.check_reports(host.text + host.process.stdout.read().decode())

    def test_a_forged_host_gets_nothing(self):
        """Neither where no host is known, nor where another one than that whose key is known says that it waits."""
        refused = self.board.run(far.HEAPTAP_TARGET, "connect", "--once", "--keys", self.directory / "none.keys")
        self.assertEqual(refused.status, 125, str(refused))
        self.assertIn(b"no host is paired with this machine", refused.stderr)
        self.pair()
        unknown = self.board.run(far.HEAPTAP_TARGET, "connect", "--once", "tower", *self.keys)
        self.assertIn(b"no host is paired with this machine under the name 'tower'", unknown.stderr)
        # The host that listens there knows the board's key, and the board doesn't know the host's.
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "stranger.keys")
        self.desk.run(HEAPTAP, "pair", "10.77.1.1", self.board_key)
        self.wait_anywhere()
        target = self.board.start(far.HEAPTAP_TARGET, "connect", *self.keys)
        target.wait_for("a host (10.77.1.2:7421)")
        self.assertIn("trying again", "".join(target.lines_with("trying again")))
        self.assertEqual(list(self.directory.glob("*.htap")), [])

    def test_what_is_recorded_already(self):
        """The board begins by itself, and the desk takes over: both print the command for that."""
        self.pair()
        target = self.board.start(far.HEAPTAP_TARGET, "run", "--listen", "0.0.0.0:7421", *self.keys, "--announce", "--wait", "--", self.program)
        printed = re.search(r"on the host: (heaptap .*)", "\n".join(target.lines_with("on the host: "))).group(1)
        self.assertEqual(printed, "heaptap connect 10.77.1.1:7421")
        told, found = self.found_command(7421)
        self.assertEqual(told, printed)
        self.assertIn(b" sensor ", found.stdout)
        self.check_reports(self.record_as_printed(printed))

    def test_over_ipv6(self):
        """[::] is no address of IPv4. Here all of IPv6 holds on the cable alone, and the host's end of it has a name of its own."""
        key = self.pair()
        _, printed = self.serve("[::]:7421", *self.keys, "--announce")
        self.assertRegex(printed, r"^heaptap run -H '\[fe80::[0-9a-f:]+%INTERFACE\]:7421' -- PROGRAM$")
        place = re.search(r"\[fe80::[0-9a-f:]+%", printed).group() + "eth1]"
        self.assertEqual(self.desk.run(HEAPTAP, "pair", place, key).status, 0)
        self.assertIn(place, self.desk.discover().stdout.decode())
        self.check_reports(self.record_as_printed(printed, INTERFACE="eth1"))

    def test_at_one_address_of_several(self):
        """Others of the board would be preferred, and nothing listens there."""
        for words in (["10.77.1.9/24"], ["fd77::9/64", "nodad"]):
            self.ip("addr", "add", *words, "dev", "eth1", of=self.board)
        self.ip("addr", "add", "fd77::2/64", "nodad", "dev", "eth1", of=self.desk)
        self.pair("10.77.1.9", "[fd77::9]")
        for address, port in (("10.77.1.9", 7421), ("[fd77::9]", 7422), ("[::]", 7423)):
            target, printed = self.serve(f"{address}:{port}", *self.keys, "--announce")
            place = f"{address.replace('[::]', '[fd77::9]')}:{port}"
            self.assertEqual(shlex.split(printed), ["heaptap", "run", "-H", place, "--", "PROGRAM"])
            told, found = self.found_command(port)
            self.assertEqual(told, printed, found.stdout)
            self.record_as_printed(told)
            target.rest()

    def test_what_waits_nowhere_says_what_to_do(self):
        refused = self.board.run(far.HEAPTAP_TARGET, "serve", "0.0.0.0:7421", "--announce")
        self.assertEqual(refused.status, 125, str(refused))
        self.assertIn(b"heaptap pair", refused.stderr)
        self.pair()
        for address in ("127.0.0.1:7421", "[::1]:7421"):
            unheard = self.board.run(far.HEAPTAP_TARGET, "serve", address, *self.keys, "--announce")
            self.assertEqual(unheard.status, 2, str(unheard))
            self.assertIn(b"reached from this machine only; serve 0.0.0.0:7421", unheard.stderr)
        nobody = self.desk.run(*SOON, HEAPTAP, "run", "-H", "10.77.1.1:7421", "--", self.program)
        self.assertEqual(nobody.status, 125, str(nobody))
        self.assertIn(b"heaptap-target serve", nobody.stderr)

    def test_what_is_recorded_is_told_while_it_is(self):
        self.pair()
        target = self.board.start(far.HEAPTAP_TARGET, "serve", "0.0.0.0:7421", *self.keys, "--announce")
        target.wait_for("-- PROGRAM\n")
        self.desk.found_once(lambda services: services and services[0]["program"] in (None, ""))
        fifo = self.directory / "fifo"
        os.mkfifo(fifo)
        self.desk.start(HEAPTAP, "run", "-H", "10.77.1.1:7421", "-o", self.directory / "cat.htap", "--", "/bin/cat", fifo)
        self.desk.found_once(lambda services: services and services[0]["program"] == "cat")
        self.assertIn(b" cat ", self.desk.discover().stdout)
        fifo.open("wb").close()  # it ends
        self.desk.found_once(lambda services: services and services[0]["program"] in (None, ""))


if __name__ == "__main__":
    unittest.main()
