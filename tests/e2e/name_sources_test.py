"""Where names came from when a program was recorded is known when its trace is read, to the user who recorded it, and to nobody else."""
import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import heaptap_test
from heaptap_test import heaptap
from symbols_serve_test import PROGRAM, compile_c, server, strip


class NameSources(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = str(self.directory / name)
            self.addCleanup(os.environ.pop, name)
        self.build = self.directory / "build"
        compile_c(PROGRAM, self.build / "program")
        self.program = self.directory / "target/program"
        strip(self.build / "program", self.program)

    def record(self, *words):
        done = heaptap("run", "-q", "--force", "-o", self.trace, *words, "--", self.program, cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))

    def shown(self, *words, trace=None):
        done = heaptap(*(words or ("show", "leaks")), trace or self.trace, cwd="/")
        return done.stdout.decode(), done.stderr.decode()

    def test_a_directory(self):
        self.record("--symbols", "build")  # as seen from where it was typed
        self.assertIn("hidden_maker", self.shown()[0])
        moved = self.directory / "elsewhere.htap"
        shutil.copy(self.trace, moved)
        self.assertIn("hidden_maker", self.shown(trace=moved)[0])
        for words in (["show", "summary"], ["export", "--to", "folded"], ["check", "--max-leaked", "0"]):
            self.assertIn("innermost", self.shown(*words)[0], words)
        for command in ("show leaks", "show summary", "show tree"):
            self.assertIn("hidden_maker", self.shown("console", "-x", command)[0], command)
        self.assertIn("innermost program.c", self.shown("top", "--once")[0])
        diff = heaptap("diff", "--from", "0s", "--to", "end", self.trace, cwd="/")
        self.assertIn(b"innermost program.c", diff.stdout, str(diff))
        # What is said counts, and nothing else.
        (self.directory / "empty").mkdir()
        self.assertNotIn("hidden_maker", self.shown("show", "leaks", "--symbols", self.directory / "empty")[0])

    def test_one_that_is_gone_is_said_to_be(self):
        self.record("--symbols", "build")
        self.build.rename(self.directory / "moved")
        text, said = self.shown()
        self.assertNotIn("hidden_maker", text)
        self.assertEqual(said.count(f"names came from {self.build}"), 1, said)
        self.assertIn("--symbols DIR", said)

    def test_a_server(self):
        address = str(self.directory / "symbols.sock")
        with server(address, self.build):
            self.record("--symbols-server", address)
            self.assertIn("hidden_maker", self.shown()[0])
        text, said = self.shown()
        self.assertNotIn("hidden_maker", text)
        self.assertIn(address, said)

    def test_it_is_this_users_alone(self):
        """A trace of somebody else leads nowhere, and so does what somebody else wrote."""
        self.record("--symbols", "build")
        [kept] = (self.directory / "XDG_STATE_HOME/heaptap/names").iterdir()
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        self.assertNotIn(str(self.build).encode(), self.trace.read_bytes())
        kept.chmod(0o666)
        self.assertNotIn("hidden_maker", self.shown()[0])
        kept.chmod(0o600)
        self.assertIn("hidden_maker", self.shown()[0])
        os.environ["XDG_STATE_HOME"] = str(self.directory / "others")
        self.assertNotIn("hidden_maker", self.shown()[0])

    def test_nothing_is_kept_of_nothing(self):
        self.record()
        self.assertFalse((self.directory / "XDG_STATE_HOME").exists())


if __name__ == "__main__":
    unittest.main()
