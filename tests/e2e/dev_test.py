"""./dev: what is said before minutes are spent on a build, and while one runs. In a copy without a build of its own."""
import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test

ROOT = heaptap_test.HERE.parent.parent


class Dev(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        shutil.copy(ROOT / "dev", self.directory)
        shutil.copytree(ROOT / "tools/dev", self.directory / "tools/dev")
        shutil.copytree(ROOT / "demo", self.directory / "demo")
        shutil.copy(ROOT / "tools/packages.txt", self.directory / "tools")

    def fake(self, name, script):
        """A program of this name that comes first in the path."""
        directory = self.directory / "fake"
        directory.mkdir(exist_ok=True)
        (directory / name).write_text(f"#!/bin/sh\n{script}\n")
        (directory / name).chmod(0o755)

    def dev(self, *arguments):
        env = {**os.environ, "PATH": f"{self.directory}/fake:/usr/sbin:/usr/bin:/sbin:/bin"}
        return heaptap_test.run(["bash", self.directory / "dev", *arguments], env=env, cwd=self.directory)

    def test_a_program_that_is_not_there_is_told_before_anything_is_built(self):
        for arguments in (["--", "no-such-program"], ["no-such-program", "x"], ["-q", "-d", "5", "--", "./no-such-program"],
                          ["--", "build/demo/no-such-demo"]):
            with self.subTest(arguments):
                outcome = self.dev("run", *arguments)
                self.assertEqual((outcome.status, outcome.stdout), (127, b""), str(outcome))
                self.assertIn(arguments[-1 if "--" in arguments else 0].encode(), outcome.stderr)
                self.assertFalse((self.directory / "build").exists())

    def test_what_is_there_or_is_made_by_the_build_is_run(self):
        for name in ("dpkg-query", "cmake"):
            self.fake(name, "exit 0")  # all packages are there, all builds succeed
        self.fake("comm", "exit 0")
        (self.directory / "build/bin").mkdir(parents=True)
        program = self.directory / "build/bin/heaptap"
        program.write_text("#!/bin/sh\necho \"$@\"\n")
        program.chmod(0o755)
        for arguments in (["--", "build/demo/words", "x"], ["--", "sh", "-c", "true"], ["sh"], ["-q", "sh"], ["-q", "--", "./dev"]):
            with self.subTest(arguments):
                outcome = self.dev("run", *arguments)
                self.assertEqual((outcome.status, outcome.stdout.decode()), (0, f"run {' '.join(arguments)}\n"), str(outcome))


if __name__ == "__main__":
    unittest.main()
