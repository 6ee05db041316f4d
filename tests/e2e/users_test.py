"""A program runs as the user that --user names, in this user's groups and in no other's, on this machine and over a line. With users and
groups of the test's own, in a namespace of mounts."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import HEAPTAP, summary

# Its number is that of another group (Debian's disk has 6, and its user man too).
PASSWD = "root:x:0:0:root:/root:/bin/sh\nwell:x:6006:7007:well:/:/bin/sh\nodd:x:6006:1:of the same number:/:/bin/sh\n"
GROUP = "root:x:0:\nothers:x:6006:\nwell:x:7007:\nextra:x:7008:odd,well\nmore:x:7009:well\n"
RUNS_AS = {"well": (6006, 7007, {7007, 7008, 7009}), "6006": (6006, 7007, {7007, 7008, 7009}), "well:others": (6006, 6006, {6006}),
           "6006:7009": (6006, 7009, {7009}), "8888:9999": (8888, 9999, {9999}), "root": (0, 0, {0})}
REFUSED = {"nobody-of-this-name": "no such user", "8888": "no user has this number, so its group is unknown: use --user 8888:GROUP",
           "well:nobodys": "no such group", "4294967295:1": "no such user"}


@unittest.skipUnless("HEAPTAP_TEST_HAS_USERS" in os.environ, "needs a namespace of mounts, which root can make")
class Users(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.directory.chmod(0o777)
        self.said = self.directory / "said"
        self.program = ["/bin/sh", "-c", f"id -u > {self.said}; id -g >> {self.said}; id -G >> {self.said}"]

    def ways(self):
        """Of recording the program as a user."""
        address = self.directory / "far.sock"
        yield "here", lambda word: heaptap_test.heaptap("run", "-q", "--force", "-o", self.trace, "--user", word, "--", *self.program, cwd=self.directory)
        yield "by ptrace", lambda word: heaptap_test.heaptap("run", "--via", "ptrace", "-q", "--force", "-o", self.trace, "--user", word, "--", *self.program, cwd=self.directory)
        yield "by itself", lambda word: heaptap_test.run([far.HEAPTAP_TARGET, "record", "-o", self.directory / "far.rec", "--user", word, "--", *self.program],
                                                         cwd=self.directory)
        with far.serving(str(address)):
            yield "over a line", lambda word: heaptap_test.heaptap("run", "-H", address, "-q", "--force", "-o", self.trace, "--user", word, "--", *self.program,
                                                                   cwd=self.directory)

    def test_it_is_in_the_users_groups(self):
        for way, record in self.ways():
            for word, (user, group, groups) in RUNS_AS.items():
                with self.subTest(way=way, word=word):
                    self.said.unlink(missing_ok=True)
                    (self.directory / "far.rec").unlink(missing_ok=True)
                    done = record(word)
                    self.assertEqual(done.status, 0, str(done))
                    lines = self.said.read_text().splitlines()
                    self.assertEqual((int(lines[0]), int(lines[1]), {int(each) for each in lines[2].split()}), (user, group, groups))
                    if way != "by itself":
                        self.assertTrue(summary(self.trace)["capture"]["complete"])

    def test_what_hosts_order_is_in_the_groups_of_the_one_user(self):
        for number, (word, (user, group, groups)) in enumerate(RUNS_AS.items()):
            with self.subTest(word):
                address = self.directory / f"far{number}.sock"
                with far.serving(str(address), "-q", "--user", word):
                    done = heaptap_test.heaptap("run", "-H", address, "-q", "--force", "-o", self.trace, "--", *self.program, cwd=self.directory)
                    self.assertEqual(done.status, 0, str(done))
                lines = self.said.read_text().splitlines()
                self.said.unlink()
                self.assertEqual((int(lines[0]), int(lines[1]), {int(each) for each in lines[2].split()}), (user, group, groups))

    def test_who_is_not_known_is_refused(self):
        for way, record in self.ways():
            for word, why in REFUSED.items():
                with self.subTest(way=way, word=word):
                    done = record(word)
                    self.assertNotEqual(done.status, 0)
                    self.assertIn(f"--user {word}: {why}", done.stderr.decode())
                    self.assertFalse(self.said.exists())

    def test_without_roots_rights_one_is_oneself(self):
        def become_well():
            os.setgroups([7008])
            os.setresgid(7007, 7007, 7007)
            os.setresuid(6006, 6006, 6006)

        for command in ([HEAPTAP, "run", "-q", "--force", "-o", self.trace], [far.HEAPTAP_TARGET, "record", "-o", self.directory / "far.rec"]):
            for word, status in (("well", 0), ("6006", 0), ("root", 125), ("0:0", 125)):
                with self.subTest(command=command[0], word=word):
                    self.said.unlink(missing_ok=True)
                    (self.directory / "far.rec").unlink(missing_ok=True)
                    environment = {**os.environ, "HOME": str(self.directory)}
                    done = subprocess.run([*map(str, command), "--user", word, "--", *self.program], cwd=self.directory, capture_output=True,
                                          preexec_fn=become_well, env=environment, timeout=heaptap_test.TIMEOUT_S, check=False)
                    self.assertEqual(done.returncode, status, done.stderr)
                    if status == 0:
                        self.assertEqual(self.said.read_text().split("\n")[:2], ["6006", "7007"])
                    else:
                        self.assertIn(b"only root can start a program as another user", done.stderr)


if __name__ == "__main__":
    alone = ["unshare", "--mount"]
    if "HEAPTAP_TEST_HAS_USERS" not in os.environ and os.getuid() == 0 and shutil.which("unshare") \
            and subprocess.run([*alone, "true"], capture_output=True).returncode == 0:
        os.environ["HEAPTAP_TEST_HAS_USERS"] = "1"
        script = 'for name in passwd group; do mount -t tmpfs none /mnt && printf %s "$1" > /mnt/$name && chmod 644 /mnt/$name && ' \
                 'mount --bind /mnt/$name /etc/$name && umount -l /mnt || exit 1; shift; done; exec "$@"'
        os.execvp(alone[0], [*alone, "sh", "-c", script, "sh", PASSWD, GROUP, sys.executable, *sys.argv])
    unittest.main()
