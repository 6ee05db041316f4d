"""heaptap works from directories whose names the loader's LD_PRELOAD can't have, and says so where the agent can't be loaded."""
import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP


class AgentPath(heaptap_test.TestCase):
    def installed(self, name):
        directory = self.directory / name
        directory.mkdir()
        for file in ("heaptap", "libheaptap_agent.so"):
            shutil.copy(pathlib.Path(HEAPTAP).parent / file, directory)
        return directory / "heaptap"

    def test_blanks_colons_and_dollars(self):
        temporary = self.directory / "tmp"
        temporary.mkdir()
        env = {**os.environ, "TMPDIR": str(temporary)}
        command = ["/bin/sh", "-c", "echo shell; /bin/echo program >&2; exit 3"]
        bare = heaptap_test.run(command, env=env)
        for number, name in enumerate(("a b", "a:b", " ", "$ORIGIN", "a b:c$LIB d")):
            with self.subTest(name=name):
                trace = self.directory / f"{number}.htap"
                program = self.installed(name)
                traced = heaptap_test.run([program, "run", "-q", "-f", "-e", "-o", trace, "--", *command],
                                          env=env)
                self.assertEqual((traced.status, traced.stdout, traced.stderr), (bare.status, bare.stdout, bare.stderr))
                self.assertGreater(heaptap_test.summary(trace)["totals"]["allocations"], 0)
                self.assertEqual(list(temporary.iterdir()), [], "something was left behind")

    def test_temporary_directory_with_a_blank(self):
        temporary = self.directory / "tmp files"
        temporary.mkdir()
        traced = heaptap_test.run([self.installed("a b"), "run", "-q", "-o", self.directory / "t.htap", "--", "/bin/ls", "/"],
                                  env={**os.environ, "TMPDIR": str(temporary)})
        self.assertEqual((traced.status, traced.stderr), (0, b""))
        self.assertGreater(heaptap_test.summary(self.directory / "t.htap")["totals"]["allocations"], 0)

    @unittest.skipUnless(os.getuid() == 0, "needs root")
    def test_an_agent_that_the_user_cannot_read_is_told_before_the_start(self):
        program = self.installed("hidden")
        os.chmod(program.parent / "libheaptap_agent.so", 0o600)
        os.chmod(self.directory, 0o755)
        traced = heaptap_test.run([program, "run", "-q", "--user", "nobody", "-o", self.directory / "t.htap", "--", "/bin/echo", "started"])
        self.assertEqual((traced.status, traced.stdout), (125, b""), traced)
        self.assertIn(b"libheaptap_agent.so: Permission denied", traced.stderr)


if __name__ == "__main__":
    unittest.main()
