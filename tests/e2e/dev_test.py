"""./dev: what is said before minutes are spent on a build, and while one runs. In a copy without a build of its own."""
import os
import pathlib
import platform
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

    def program(self, path, script):
        """Those below fake/ come first in the path."""
        place = self.directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"#!/bin/sh\n{script}\n")
        place.chmod(0o755)

    def dev(self, *arguments, **variables):
        env = {**os.environ, "PATH": f"{self.directory}/fake:/usr/sbin:/usr/bin:/sbin:/bin", **variables}
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
            self.program(f"fake/{name}", "exit 0")  # all packages are there, all builds succeed
        self.program("fake/comm", "exit 0")
        self.program("build/bin/heaptap", 'echo "$@"')
        for arguments in (["--", "build/demo/words", "x"], ["--", "sh", "-c", "true"], ["sh"], ["-q", "sh"], ["-q", "--", "./dev"]):
            with self.subTest(arguments):
                outcome = self.dev("run", *arguments)
                self.assertEqual((outcome.status, outcome.stdout.decode()), (0, f"run {' '.join(arguments)}\n"), str(outcome))

    def test_a_bundle_is_signed_by_the_key_that_is_given(self):
        """What a build makes is made up; the archives, their sums and the signature aren't."""
        if not all(map(shutil.which, ("gpg", "gpgv", "xz", "zstd"))):
            heaptap_test.skip_what_is_missing("gpg, gpgv, xz or zstd is not installed")
        for name in ("dpkg-query", "comm"):
            self.program(f"fake/{name}", "exit 0")
        self.program("fake/cmake", '[ "$1" != --install ] || { mkdir -p "$4/bin" && echo target > "$4/bin/heaptap-target"; }')
        self.program("fake/strip", 'cp "$3" "$2"')
        self.program("build/one_file/heaptap", "exit 0")
        self.program("build/one_file/heaptap_one_file", 'cat "$2" > "$3"')
        (self.directory / "build/CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={self.directory}\nCMAKE_PROJECT_VERSION:STATIC=1.2.3\n")
        keys = self.directory / "keys"
        keys.mkdir(mode=0o700)
        variables = {"GNUPGHOME": str(keys), "SOURCE_DATE_EPOCH": "1700000000"}
        environment = {**os.environ, **variables}
        bundle = self.directory / "build/bundle"

        def gpg(*words):
            done = heaptap_test.run(["gpg", "--batch", *words], env=environment)
            self.assertEqual(done.status, 0, str(done))
            return done.stdout

        def verify(*command):
            return heaptap_test.run(command, cwd=bundle).status

        self.addCleanup(heaptap_test.run, ["gpgconf", "--kill", "gpg-agent"], env=environment)
        for name in ("maker", "another"):
            gpg("--passphrase", "", "--quick-generate-key", f"{name} <{name}@example.org>", "ed25519", "sign", "never")
            (self.directory / f"{name}.gpg").write_bytes(gpg("--export", f"{name}@example.org"))
        outcome = self.dev("bundle", "--sign", "maker@example.org", **variables)
        self.assertEqual(outcome.status, 0, str(outcome))
        names = [f"heaptap-{platform.machine()}", f"heaptap-1.2.3-{platform.machine()}.tar.xz", "SHA256SUMS", "SHA256SUMS.asc"]
        self.assertEqual(sorted(path.name for path in bundle.iterdir()), sorted(names))
        self.assertEqual(verify("sha256sum", "--check", "SHA256SUMS"), 0)
        self.assertEqual(verify("gpgv", "--keyring", "../../maker.gpg", "SHA256SUMS.asc", "SHA256SUMS"), 0)
        self.assertNotEqual(verify("gpgv", "--keyring", "../../another.gpg", "SHA256SUMS.asc", "SHA256SUMS"), 0)
        with (bundle / "SHA256SUMS").open("a") as sums:
            sums.write("0  another\n")
        self.assertNotEqual(verify("gpgv", "--keyring", "../../maker.gpg", "SHA256SUMS.asc", "SHA256SUMS"), 0)
        outcome = self.dev("bundle", "--sign", "nobody@example.org", **variables)
        self.assertNotEqual(outcome.status, 0, str(outcome))


if __name__ == "__main__":
    unittest.main()
