# CTEST TIMEOUT 300
"""Who means harm, at heaptap-target and at heaptap: another local user, a stolen board's key, floods of strangers, hosts that ask for more
than they may."""
import base64
import contextlib
import json
import os
import pathlib
import re
import socket
import stat
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import HEAPTAP, heaptap
from waiting import read_until, wait_for

NOBODY = 65534


def secret_in(keys):
    """The private key in that directory, as programs have it in memory."""
    return base64.b64decode((keys / "key").read_text().strip().removeprefix("heaptap-key1:") + "==")


def memory_of(pid):
    """What a process may write, and may have been told."""
    memory = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        for begin, end in re.findall(r"^(\w+)-(\w+) rw", pathlib.Path(f"/proc/{pid}/maps").read_text(), re.MULTILINE):
            file.seek(int(begin, 16))
            memory.append(file.read(int(end, 16) - int(begin, 16)))
    return b"".join(memory)


@unittest.skipUnless(os.geteuid() == 0, "needs root, whose rights others would like to have")
class OtherUsers(heaptap_test.TestCase):
    """Of the same machine. They have programs of their own, heaptap among them."""

    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        self.others = self.directory / "others"
        self.others.mkdir()
        os.chown(self.others, NOBODY, NOBODY)
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "desk.keys")

    def others_command(self, *words):
        return {"args": ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", *map(str, words)], "cwd": self.others,
                "env": {"PATH": os.environ["PATH"], "HOME": str(self.others), "TMPDIR": str(self.others),
                        "HEAPTAP_TEST_INTERVALS": "reach=1000ms,retry=100ms"}}

    def as_other(self, *words):
        command = self.others_command(*words)
        return heaptap_test.run(command.pop("args"), **command)

    def begin(self, **command):
        """A process that ends with the test."""
        process = subprocess.Popen(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **command)
        self.addCleanup(process.communicate)
        self.addCleanup(heaptap_test.end, process)
        return process

    def pair_all(self):
        """The right host and the target know each other; the other user has a key of his own, and knows the target's."""
        far.pair(self.directory, "127.0.0.1")
        said = heaptap_test.run([far.HEAPTAP_TARGET, "pair", "--keys", self.directory / "board.keys"]).stdout.decode()
        known = self.as_other(HEAPTAP, "pair", "127.0.0.1", re.search(r"SHA256:\S+", said).group())
        self.assertEqual(known.status, 0, str(known))

    def attack(self, address):
        """A program that tells as whom it runs: as nobody, if at all."""
        mark = self.directory / "mark"
        done = self.as_other(HEAPTAP, "run", "-H", address, "--", "/bin/sh", "-c", f"id > {mark}")
        self.assertNotEqual(done.status, 0, str(done))
        self.assertFalse(mark.exists(), str(done))
        return done

    def test_roots_tcp_is_not_there_without_proof(self):
        for words in (["serve", "127.0.0.1:0"], ["serve", "0"], ["connect", "127.0.0.1:9"], ["run", "--listen", "[::1]:0", "--", "true"],
                      ["attach", "--listen", "127.0.0.1:0", str(os.getpid())]):
            done = heaptap_test.run([far.HEAPTAP_TARGET, *words])
            self.assertEqual(done.status, 125, str(done))
            self.assertIn(b"heaptap pair", done.stderr)
        done = heaptap("symbols", "serve", "--listen", "127.0.0.1:0", self.directory)
        self.assertEqual(done.status, 125, str(done))

    def test_roots_keys_and_sockets_are_roots(self):
        far.pair(self.directory, "127.0.0.1")
        port = far.free_port()
        with far.serving(f"127.0.0.1:{port}", "-q", "--keys", self.directory / "board.keys"):
            # With a key of his own, which he makes known on his side.
            key = re.search(r"SHA256:\S+", self.as_other(far.HEAPTAP_TARGET, "pair").stdout.decode()).group()
            self.as_other(HEAPTAP, "pair", "127.0.0.1", key)
            self.attack(port)
            self.assertIn(b"Permission denied", self.as_other("cat", self.directory / "desk.keys" / "key").stderr)
            right = heaptap("run", "-q", "-H", str(port), "-o", self.trace, "--", "/bin/true", cwd=self.directory)
            self.assertEqual(right.status, 0, str(right))
        address = self.directory / "far.sock"
        with far.serving(str(address), "-q"):
            self.attack(address)
            os.chmod(address, 0o777)  # it wouldn't be let in even so
            self.attack(address)

    def test_who_waits_in_the_hosts_place_gives_no_orders(self):
        self.pair_all()
        mark, port, unix = self.directory / "mark", far.free_port(), self.others / "host.sock"
        order = ["--", "/bin/sh", "-c", f"id > {mark}"]
        for address, reason in ((f"127.0.0.1:{port}", "which is not a known key of this address"), (str(unix), "another user listens there")):
            with self.subTest(address):
                thief = self.begin(**self.others_command(HEAPTAP, "run", "-q", "-H", f"listen:{address}", *order))
                wait_for("he listens", lambda: far.listens(thief.pid, address), state=thief)
                board = self.begin(args=[far.HEAPTAP_TARGET, "connect", address, "--once", "--keys", self.directory / "board.keys"],
                                   env=heaptap_test.sooner(retry="50ms"))
                read_until(board.stderr.fileno(), "it doesn't believe him", lambda text: reason.encode() in text, state=[board, thief])
                self.assertFalse(mark.exists())
                heaptap_test.end(thief)
                thief.wait()
                unix.unlink(missing_ok=True)
                right = heaptap("run", "-q", "-H", f"listen:{address}", "--force", "-o", self.trace, *order, cwd=self.directory)
                self.assertEqual(right.status, 0, str(right))
                self.assertIn("uid=0", mark.read_text())
                mark.unlink()
                self.assertEqual(board.wait(), 0)

    def test_who_comes_before_the_host_gets_no_recording(self):
        self.pair_all()
        for address in (f"127.0.0.1:{far.free_port()}", str(self.directory / "far.sock")):
            with self.subTest(address):
                board = self.begin(args=[far.HEAPTAP_TARGET, "run", "--listen", address, "--wait", "--keys", self.directory / "board.keys", "--",
                                         "/bin/ls", "/"])
                wait_for("it listens", lambda: far.listens(board.pid, address), state=board)
                if "/" in address:
                    os.chmod(address, 0o777)
                stolen = self.others / "stolen.heaptap"
                done = self.as_other(HEAPTAP, "connect", address, "-o", stolen)
                self.assertEqual(done.status, 125, str(done))
                self.assertFalse(stolen.exists())
                right = heaptap("connect", address, "-q", "--force", "-o", self.trace, cwd=self.directory)
                self.assertEqual(right.status, 0, str(right))
                self.assertEqual(board.wait(), 0)

    def test_roots_symbols_are_roots(self):
        self.pair_all()
        source, symbols, program = self.directory / "main.c", self.directory / "symbols", self.others / "program"
        source.write_text("#include <stdlib.h>\n__attribute__((noinline)) static void hidden_maker(void) { void *volatile lost = malloc(100); "
                          "lost = NULL; }\nint main(void) { hidden_maker(); return 0; }\n")
        symbols.mkdir(mode=0o700)
        subprocess.run(["cc", "-g", "-Wl,--build-id", "-o", symbols / "program", source], check=True)
        subprocess.run(["strip", "-o", program, symbols / "program"], check=True)
        trace = self.others / "trace.heaptap"
        self.assertEqual(heaptap("run", "-q", "-o", trace, "--", program, cwd=self.directory).status, 0)
        os.chmod(trace, 0o644)
        for address in (f"127.0.0.1:{far.free_port()}", str(self.directory / "symbols.sock")):
            with self.subTest(address):
                server = self.begin(args=[HEAPTAP, "symbols", "serve", "--listen", address, symbols],
                                    env={**os.environ, "HEAPTAP_KEYS": str(self.directory / "board.keys")})
                wait_for("it listens", lambda: far.listens(server.pid, address), state=server)
                if "/" in address:
                    os.chmod(address, 0o777)
                ask = [HEAPTAP, "show", "leaks", trace, "--symbols-server", address]
                theirs = self.as_other(*ask)
                self.assertIn(b"0x", theirs.stdout, str(theirs))
                self.assertNotIn(b"hidden_maker", theirs.stdout)
                right = heaptap_test.run(ask, cwd=self.directory)
                self.assertIn(b"hidden_maker", right.stdout, str(right))

    def test_where_no_address_is_said_it_is_roots_alone(self):
        alone = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"]
        if heaptap_test.run([*alone, "true"]).status != 0:
            self.skipTest("nothing can be mounted here")
        address = "/run/heaptap-target"
        server = self.begin(args=[*alone, far.HEAPTAP_TARGET, "serve", "-q"])
        wait_for("it listens", lambda: far.listens(server.pid, address), state=server)
        facts = os.stat(f"/proc/{server.pid}/root{address}")
        self.assertTrue(stat.S_ISSOCK(facts.st_mode))
        self.assertEqual((stat.S_IMODE(facts.st_mode), facts.st_uid), (0o600, 0))

    def test_root_believes_no_other_users_socket(self):
        theirs = self.others / "far.sock"
        server = self.begin(**self.others_command(far.HEAPTAP_TARGET, "serve", theirs))
        wait_for("it listens", theirs.exists, state=server)
        done = heaptap("run", "-H", theirs, "--", "/bin/true", cwd=self.directory, env=heaptap_test.sooner(reach="1000ms", retry="100ms"))
        self.assertEqual(done.status, 125, str(done))
        self.assertIn(b"another user listens there", done.stderr)

    def assert_strangers_are_heard_without_rights(self, server, port, secrets):
        """By whatever process hears them for the one that listens at that port, or will."""
        wait_for("it listens", lambda: far.listens(server.pid, f"127.0.0.1:{port}"), state=server)
        with socket.create_connection(("127.0.0.1", port)):
            self.assert_it_is_heard_without_rights(server, secrets)

    def assert_it_is_heard_without_rights(self, process, secrets):
        """Who is at the other end, before anybody has proved anything: by another process than this one, which has the keys."""
        front = wait_for("somebody hears it", lambda: heaptap_test.descendants(process.pid), state=process)[0]
        status = wait_for("it has given up its rights", lambda: (text := pathlib.Path(f"/proc/{front}/status").read_text()) and
                          "Seccomp:\t2" in text and text, state=process)
        self.assertIn(f"Uid:\t{NOBODY}\t{NOBODY}\t{NOBODY}\t{NOBODY}", status)
        self.assertIn("CapEff:\t0000000000000000", status)
        self.assertIn("NoNewPrivs:\t1", status)
        self.assertRegex(status, r"Groups:\s*\n")
        self.assertEqual(len(os.listdir(f"/proc/{front}/fd")), 2)
        # Nor may its fellows of that user look into it.
        self.assertNotEqual(self.as_other("cat", f"/proc/{front}/maps").status, 0)
        # What it was copied from had keys.
        memory = memory_of(front)
        self.assertIn(b"heaptap", memory)
        for secret in secrets:
            self.assertFalse(secret in memory, "it has a private key")

    def test_what_hears_strangers_has_no_rights(self):
        far.pair(self.directory, "127.0.0.1")
        port = far.free_port()
        with far.serving(f"127.0.0.1:{port}", "-q", "--keys", self.directory / "board.keys") as server:
            self.assert_strangers_are_heard_without_rights(server, port, [secret_in(self.directory / "board.keys")])
        token, port = far.make_token(self.directory), far.free_port()
        text = token.read_text().strip()
        with far.serving(f"127.0.0.1:{port}", "-q", "--token-file", token) as server:
            secret = base64.b64decode(text.removeprefix("heaptap1:"))[:32]
            self.assert_strangers_are_heard_without_rights(server, port, [text.encode(), secret])

    def test_what_hears_strangers_on_a_host_has_no_rights(self):
        far.pair(self.directory, "127.0.0.1")
        self.assertEqual(heaptap("run", "-q", "-o", self.trace, "--", "/bin/ls", "/", cwd=self.directory).status, 0)
        # Hosts come to a server of symbols.
        keys = self.directory / "desk.keys"
        (keys / "authorized_hosts").write_text((keys / "known_targets").read_text())
        (keys / "authorized_hosts").chmod(0o600)
        for words in (["run", "-q", "-H", "listen:{}", "-o", self.directory / "far.heaptap", "--", "/bin/true"],
                      ["symbols", "serve", "-q", "--listen", "{}", self.directory],
                      ["show", self.trace, "--symbols-server", "listen:{}"]):
            with self.subTest(" ".join(map(str, words[:2]))):
                port = far.free_port()
                server = self.begin(args=[HEAPTAP, *(str(word).replace("{}", f"127.0.0.1:{port}") for word in words)], cwd=self.directory)
                self.assert_strangers_are_heard_without_rights(server, port, [secret_in(self.directory / "desk.keys")])

    def test_whom_one_connects_to_is_heard_without_rights(self):
        far.pair(self.directory, "127.0.0.1")
        self.assertEqual(heaptap("run", "-q", "-o", self.trace, "--", "/bin/ls", "/", cwd=self.directory).status, 0)
        desk, board = self.directory / "desk.keys", self.directory / "board.keys"
        (board / "authorized_hosts").chmod(0o600)
        (desk / "authorized_hosts").write_text((desk / "known_targets").read_text())
        (desk / "authorized_hosts").chmod(0o600)
        for keys, *words in ((desk, HEAPTAP, "run", "-q", "-H", "{}", "-o", self.directory / "far.heaptap", "--", "/bin/true"),
                             (desk, HEAPTAP, "show", self.trace, "--symbols-server", "{}"),
                             (desk, HEAPTAP, "symbols", "serve", "-q", "--connect", "{}", self.directory),
                             (board, far.HEAPTAP_TARGET, "connect", "-q", "--keys", board, "{}")):
            with self.subTest(" ".join(map(str, words[1:3]))), socket.create_server(("127.0.0.1", 0)) as listener:
                address = f"127.0.0.1:{listener.getsockname()[1]}"
                client = self.begin(args=[str(word).replace("{}", address) for word in words], cwd=self.directory)
                listener.settimeout(60)
                with listener.accept()[0]:
                    self.assert_it_is_heard_without_rights(client, [secret_in(keys)])


class Keys(heaptap_test.TestCase):
    def record(self, port, *words):
        return heaptap("run", "-q", "-H", f"127.0.0.1:{port}", "--force", "-o", self.trace, *words, "--", "/bin/true", cwd=self.directory)

    def test_a_boards_stolen_key_is_no_hosts_and_no_other_boards(self):
        far.pair(self.directory, "127.0.0.1")
        board, stolen = self.directory / "board.keys", self.directory / "stolen.keys"
        stolen.mkdir()
        for name in ("key", "authorized_hosts"):
            (stolen / name).write_bytes((board / name).read_bytes())
            (stolen / name).chmod(0o600)
        port = far.free_port()
        with far.serving(f"127.0.0.1:{port}", "-q", "--keys", board):
            own = heaptap_test.run([far.HEAPTAP_TARGET, "pair", "--keys", stolen])
            key = re.search(r"SHA256:\S+", own.stdout.decode()).group()
            os.environ["HEAPTAP_KEYS"] = str(stolen)
            heaptap("pair", "127.0.0.1", key)  # the thief knows the board
            done = self.record(port)
            self.assertEqual(done.status, 125, str(done))
            self.assertIn(b"doesn't know this side's key", done.stderr)
        # At another address, where the host knows another board.
        other = self.directory / "other"
        other.mkdir()
        far.pair(other, "127.0.0.1")
        port = far.free_port()
        with (stolen / "authorized_hosts").open("a") as hosts:
            hosts.write((other / "board.keys" / "authorized_hosts").read_text())
        with far.serving(f"127.0.0.1:{port}", "-q", "--keys", stolen):
            done = self.record(port)
            self.assertEqual(done.status, 125, str(done))
            self.assertIn(b"which is not a known key of this address", done.stderr)

    def test_a_flood_keeps_no_right_host_out(self):
        far.pair(self.directory, "127.0.0.1")
        port = far.free_port()
        log = self.directory / "serve.err"
        is_over = threading.Event()

        def knock(source, said):
            kept = []
            while not is_over.is_set():
                with contextlib.suppress(OSError):
                    stranger = socket.create_connection(("127.0.0.1", port), timeout=5, source_address=(source, 0))
                    stranger.sendall(said)
                    kept.append(stranger)
                for old in kept[:-20]:
                    old.close()
                kept = kept[-20:]
                time.sleep(0.02)

        with log.open("wb") as errors, far.serving(f"127.0.0.1:{port}", "-q", "--keys", self.directory / "board.keys", stderr=errors) as server:
            strangers = [threading.Thread(target=knock, args=(f"127.0.0.{2 + i}", b"\x16" if i % 2 else b"GET / HTTP/1.1\r\n\r\n"), daemon=True)
                         for i in range(4)]
            for stranger in strangers:
                stranger.start()
            wait_for("they are refused", lambda: b"was refused" in log.read_bytes(), state=[server, log])
            for _ in range(5):
                done = self.record(port)
                self.assertEqual(done.status, 0, str(done))
            self.assertLess(len(heaptap_test.descendants(server.pid)), 40)
            is_over.set()
            for stranger in strangers:
                stranger.join()
        self.assertLess(log.read_bytes().count(b"\n"), 100)


class Policy(heaptap_test.TestCase):
    """What `serve` lets hosts do, and what it says of it."""

    def setUp(self):
        super().setUp()
        self.address = str(self.directory / "far.sock")
        self.log = self.directory / "serve.err"

    @contextlib.contextmanager
    def serving(self, *words):
        with self.log.open("wb") as errors, far.serving(self.address, "-q", *words, stderr=errors) as server:
            yield server

    def ask(self, *words):
        return heaptap(*words[:1], "-q", "-H", self.address, "--force", "-o", self.trace, *words[1:], cwd=self.directory)

    def sleeper(self):
        process = subprocess.Popen(["/bin/sleep", "300"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_attach_only(self):
        mark = self.directory / "mark"
        process = self.sleeper()
        with self.serving("--attach-only"):
            done = self.ask("run", "--", "/bin/touch", mark)
            self.assertEqual(done.status, 2, str(done))
            self.assertIn(b"--attach-only", done.stderr)
            self.assertFalse(mark.exists())
            done = self.ask("attach", "--duration", "300ms", process.pid)
            self.assertEqual(done.status, 0, str(done))
            self.assertIsNone(process.poll())
        said = self.log.read_text()
        self.assertRegex(said, rf"\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ user {os.geteuid()} was refused: runs /bin/touch {mark} as user")
        self.assertRegex(said, rf"Z user {os.geteuid()} attaches to {process.pid} \(sleep\) as user {os.geteuid()}\n")

    def test_allowed_programs(self):
        mark = self.directory / "mark"
        process = self.sleeper()
        with self.serving("--allow", "/bin/true", "--allow", "/bin/echo"):
            self.assertEqual(self.ask("run", "--", "/bin/true").status, 0)
            for words in (["/bin/touch", mark], ["sh", "-c", f"touch {mark}"]):
                done = self.ask("run", "--", *words)
                self.assertEqual(done.status, 2, str(done))
                self.assertIn(b"--allow", done.stderr)
            done = self.ask("run", "-E", "LD_PRELOAD=/tmp/x.so", "--", "/bin/true")
            self.assertEqual(done.status, 2, str(done))
            self.assertEqual(self.ask("attach", "--duration", "300ms", process.pid).status, 2)
            self.assertFalse(mark.exists())

    @unittest.skipUnless(os.geteuid() == 0, "needs root, who can be another user")
    def test_as_another_user(self):
        os.chmod(self.directory, 0o755)
        mine = self.sleeper()
        theirs = subprocess.Popen(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "/bin/sleep", "300"])
        self.addCleanup(theirs.wait)
        self.addCleanup(theirs.kill)
        wait_for("it is that user's", lambda: f"Uid:\t{NOBODY}" in pathlib.Path(f"/proc/{theirs.pid}/status").read_text(), state=theirs)
        out = self.directory / "serve.out"
        with out.open("wb") as said, self.log.open("wb") as errors, \
                far.serving(self.address, "-q", "--user", "nobody", stdout=said, stderr=errors):
            done = self.ask("run", "--", "/usr/bin/id")
            self.assertEqual(done.status, 0, str(done))
            self.assertIn(f"uid={NOBODY}", out.read_text())
            self.assertNotIn("(root)", out.read_text())
            capture = json.loads(heaptap("show", "summary", self.trace, "--json").stdout)["capture"]
            self.assertEqual(capture["via"], "agent", capture)
            done = self.ask("run", "--user", "0", "--", "/bin/true")
            self.assertEqual(done.status, 2, str(done))
            self.assertEqual(self.ask("attach", "--duration", "300ms", theirs.pid).status, 0)
            done = self.ask("attach", "--duration", "300ms", mine.pid)
            self.assertNotEqual(done.status, 0, str(done))
        self.assertIn(f" runs /usr/bin/id as user {NOBODY}\n", self.log.read_text())
        done = heaptap_test.run([far.HEAPTAP_TARGET, "serve", self.address, "--user", "no-such-user"])
        self.assertEqual(done.status, 2, str(done))

    def test_the_key_is_logged(self):
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "desk.keys")
        far.pair(self.directory, "127.0.0.1")
        self.address = f"127.0.0.1:{far.free_port()}"
        with self.serving("--keys", self.directory / "board.keys"):
            self.assertEqual(self.ask("run", "--", "/bin/true").status, 0)
        own = re.search(r"SHA256:\S+", (self.directory / "board.keys" / "authorized_hosts").read_text()).group()
        self.assertIn(f", {own}) runs /bin/true as user {os.geteuid()}", self.log.read_text())


if __name__ == "__main__":
    unittest.main()
