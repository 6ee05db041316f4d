"""The one file in root directories of other systems, as an ordinary user: runs by the agent and by ptrace, attach, reports, and another
machine. Two systems are made by hand: one that has nothing but the file and a static program, and one with musl.
HEAPTAP_SYSTEMS="NAME=DIRECTORY …" names others (tools/try_bundle.sh makes some of Debian)."""
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from one_file import ONE_FILE, USER, user_owns
from waiting import ended, finished, read_until, wait_for

HERE = pathlib.Path(__file__).resolve().parent
MUSL = pathlib.Path("/lib/ld-musl-x86_64.so.1")
OLDEST_GLIBC = (2, 28)
LOST = "LEAKED 500 bytes in 5 blocks"


def start_file(name):
    return subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()


@functools.cache
def programs():
    """The leaking program in each way that it is linked."""
    made = tempfile.TemporaryDirectory(prefix="heaptap-test-")
    unittest.addModuleCleanup(made.cleanup)
    directory = pathlib.Path(made.name)
    source = HERE / "loses.c"
    plain = ["-g", "-O1", "-o"]
    commands = {"dynamic": ["gcc", *plain, "dynamic", "-nostartfiles", HERE / "old_start.S", start_file("crti.o"), start_file("crtbeginS.o"),
                            source, start_file("crtendS.o"), start_file("crtn.o")],
                "static": ["gcc", *plain, "static", "-static", source]}
    if shutil.which("musl-gcc"):
        commands |= {"musl": ["musl-gcc", *plain, "musl", source], "musl-static": ["musl-gcc", *plain, "musl-static", "-static", source]}
    for command in commands.values():
        subprocess.run(command, check=True, cwd=directory)
    return {name: directory / name for name in commands}


class System:
    """A root directory, and what an ordinary user does in it."""

    def __init__(self, root):
        self.root = root
        shutil.rmtree(root / "home/user", ignore_errors=True)
        for name in ("bundle", "home", "home/user", "home/user/run", "proc", "dev", "tmp"):
            (root / name).mkdir(parents=True, exist_ok=True)
        self.home = root / "home/user"
        for directory in (self.home, self.home / "run"):
            user_owns(directory, 0o700)
        os.chmod(root / "tmp", 0o1777)
        for path in (ONE_FILE, *programs().values()):
            shutil.copy(path, root / "bundle")
        (root / "bundle/heaptap").unlink(missing_ok=True)
        os.rename(root / "bundle" / ONE_FILE.name, root / "bundle/heaptap")
        (root / "bundle/heaptap-target").unlink(missing_ok=True)
        os.symlink("heaptap", root / "bundle/heaptap-target")

    def mount(self):
        for name in ("proc", "dev"):
            subprocess.run(["mount", "--rbind", f"/{name}", self.root / name], check=True)

    def unmount(self):
        for name in ("proc", "dev"):
            subprocess.run(["umount", "--recursive", "--lazy", self.root / name], check=True)

    def command(self, *words):
        return ["/usr/sbin/chroot", f"--userspec={USER}:{USER}", "--groups=", str(self.root), *map(str, words)]

    ENVIRONMENT = {"HOME": "/home/user", "XDG_RUNTIME_DIR": "/home/user/run", "PATH": "/usr/bin:/bin"}

    def run(self, *words):
        return heaptap_test.run(self.command(*words), env=self.ENVIRONMENT)

    def run_at_home(self, *words):
        """In the user's home directory, where traces are written."""
        return heaptap_test.run(["unshare", f"--root={self.root}", "--wd=/home/user", f"--setgid={USER}", f"--setuid={USER}", *map(str, words)],
                                env=self.ENVIRONMENT)

    def start(self, *words):
        return subprocess.Popen(self.command(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=self.ENVIRONMENT)


class Trial:
    """What is tried in each system. `kinds`: the programs that run there; `by_agent`: those that can have an agent."""

    kinds = ()
    by_agent = ()

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("only root can enter another root directory")
        self.system = System(self.make_root())
        self.system.mount()
        self.addCleanup(self.system.unmount)

    def heaptap(self, *words):
        return self.system.run("/bundle/heaptap", *words)

    def expect_leak(self, outcome, output=b"ready\n"):
        said = outcome.stderr.decode()
        self.assertEqual((outcome.status, outcome.stdout), (0, output), str(outcome))
        self.assertIn(LOST, said)
        self.assertRegex(said, r"500 bytes in 5 blocks .*lose loses\.c:11")
        return said

    def test_it_says_its_version(self):
        self.assertRegex(self.heaptap("--version").stdout, rb"^heaptap \d+\.\d+\.\d+\n$")
        self.assertRegex(self.system.run("/bundle/heaptap-target", "--version").stdout, rb"^heaptap-target \d+\.\d+\.\d+\n$")

    def test_the_doctor_finds_the_agent_and_what_is_needed(self):
        outcome = self.heaptap("doctor", f"/bundle/{self.kinds[0]}")
        for name in ("agent", "ptrace", "memory", "program"):
            self.assertIn(f"ok    {name} ", outcome.stdout.decode(), str(outcome))
        self.assertRegex(outcome.stdout, rb"note  debuginfod  this heaptap is a static program")

    def test_what_it_can_not_load_is_said_before_the_program_starts(self):
        outcome = self.heaptap("run", "--push", "http://localhost:1", "-o", "/home/user/t.htap", "--", f"/bundle/{self.kinds[0]}")
        self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))
        self.assertIn(b"this heaptap is a static program, which can't load libcurl", outcome.stderr)

    def test_each_program_is_recorded(self):
        for kind in self.kinds:
            with self.subTest(kind):
                said = self.expect_leak(self.heaptap("run", "--force", "-o", "/home/user/t.htap", "--", f"/bundle/{kind}"))
                self.assertEqual("recorded with ptrace" in said, kind not in self.by_agent, said)

    def test_the_first_leak_is_found_by_what_is_printed(self):
        """The file is started for the first time, then the command that its last line names."""
        for kind in self.kinds:
            with self.subTest(kind):
                shutil.rmtree(self.system.home / ".cache", ignore_errors=True)
                said = self.expect_leak(self.system.run_at_home("/bundle/heaptap", "run", f"/bundle/{kind}"))
                last = said.splitlines()[-1]
                self.assertTrue(last.startswith("heaptap: next:  heaptap show leaks "), said)
                shown = self.system.run_at_home("/bundle/heaptap", *shlex.split(last.partition("next:  heaptap ")[2]))
                self.assertRegex(shown.stdout.decode(), r"definitely lost at lose loses\.c:11", str(shown))

    def test_each_program_is_recorded_by_ptrace(self):
        for kind in self.kinds:
            with self.subTest(kind):
                self.expect_leak(self.heaptap("run", "--via", "ptrace", "--force", "-o", "/home/user/t.htap", "--", f"/bundle/{kind}"))

    def test_the_trace_is_reported(self):
        self.heaptap("run", "-q", "-o", "/home/user/t.htap", "--", f"/bundle/{self.kinds[0]}")
        outcome = self.heaptap("show", "leaks", "/home/user/t.htap")
        self.assertRegex(outcome.stdout, rb"definitely lost +500 B +in 5 blocks", str(outcome))
        outcome = self.heaptap("report", "-o", "/home/user/t.html", "/home/user/t.htap")
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertIn("heaptap-data", (self.system.home / "t.html").read_text())

    def test_a_running_program_is_attached_to(self):
        for kind in self.kinds:
            with self.subTest(kind):
                self.attach(kind)

    def attach(self, kind):
        (self.system.home / "a.htap").unlink(missing_ok=True)
        program = self.system.start(f"/bundle/{kind}", "wait")
        self.addCleanup(heaptap_test.end, program)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        recorder = self.system.start("/bundle/heaptap", "attach", "-o", "/home/user/a.htap", program.pid)
        self.addCleanup(heaptap_test.end, recorder)
        read_until(recorder.stderr.fileno(), "it is recorded", lambda text: b"recording" in text, state=[recorder])
        for _ in range(3):
            program.stdin.write(b"go\n")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), b"lost\n")
        leaks = self.heaptap("leaks", program.pid)
        # A pointer to the last block may be left in a register or on the stack.
        self.assertRegex(leaks.stdout.decode(), r"(150 B in 3|100 B in 2) blocks definitely lost at lose loses\.c:11", str(leaks))
        recorder.send_signal(2)
        _, said = recorder.communicate()
        self.assertRegex(said.decode(), r"3 allocations")
        finished(program)
        self.assertEqual(program.returncode, 0)

    def test_a_program_of_another_machine_is_recorded(self):
        socket = self.system.home / "far.sock"
        target = self.system.start("/bundle/heaptap-target", "serve", "/home/user/far.sock")
        self.addCleanup(heaptap_test.end, target)
        wait_for("it is served", lambda: target.poll() is not None or socket.exists(), state=[target])
        for kind in self.kinds:
            with self.subTest(kind):
                self.expect_leak(self.heaptap("run", "-H", "/home/user/far.sock", "--force", "-o", "/home/user/t.htap", "--", f"/bundle/{kind}"),
                                 output=b"")  # it comes where the target is
        target.terminate()
        target.communicate()
        ended(target)


class HandMade(Trial):
    """A root directory that was empty."""

    def make_root(self):
        directory = tempfile.TemporaryDirectory(prefix="heaptap-test-")
        self.addCleanup(directory.cleanup)
        os.chmod(directory.name, 0o755)
        return pathlib.Path(directory.name)


class Empty(HandMade, unittest.TestCase):
    """Without any library, shell or /usr."""

    kinds = ("static",)


class Musl(HandMade, unittest.TestCase):
    """musl's loader, which is its library as well, and no other one."""

    kinds = ("musl", "musl-static")

    def setUp(self):
        if not MUSL.exists() or "musl" not in programs():
            heaptap_test.skip_what_is_missing("musl isn't installed")
        super().setUp()

    def make_root(self):
        root = super().make_root()
        (root / "lib").mkdir()
        shutil.copy(MUSL, root / "lib" / MUSL.name)
        return root


def of_other_system(name, directory):
    """A class of tests in a system that was made before."""
    return type(name.capitalize(), (Trial, unittest.TestCase),
                {"kinds": ("dynamic", "static"), "by_agent": ("dynamic",), "make_root": lambda self: pathlib.Path(directory)})


for _system in os.environ.get("HEAPTAP_SYSTEMS", "").split():
    globals()[_system.partition("=")[0].capitalize()] = of_other_system(*_system.split("=", 1))


class TheProgram(unittest.TestCase):
    def test_it_needs_no_later_glibc_than_the_oldest(self):
        symbols = subprocess.run(["objdump", "-T", programs()["dynamic"]], check=True, capture_output=True, text=True).stdout
        versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", symbols)]
        self.assertTrue(versions)
        self.assertLessEqual(max(versions), OLDEST_GLIBC)


if __name__ == "__main__":
    if os.geteuid() == 0 and "HEAPTAP_TEST_HAS_MOUNTS" not in os.environ:  # which end with the script
        os.environ["HEAPTAP_TEST_HAS_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    unittest.main()
