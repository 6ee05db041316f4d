"""The one file on this machine: where it unpacks itself, what it refuses, and what it says where it can't."""
import hashlib
import os
import pathlib
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from one_file import ONE_FILE, OTHER_USER, USER, user_owns
from waiting import finished

VERSION = b"heaptap "
FAILED = 125


@unittest.skipUnless(os.geteuid() == 0, "only root can be several users")
class TestCase(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        self.home = self.made("home")
        self.temporary = self.made("temporary")
        self.file = self.directory / "heaptap"
        shutil.copy(ONE_FILE, self.file)

    def made(self, name, mode=0o700, user=USER):
        directory = self.directory / name
        directory.mkdir()
        user_owns(directory, mode, user)
        return directory

    def started(self, *words, program=None, **variables):
        """As the user, with a home and a directory for temporary files."""
        env = {"HOME": str(self.home), "TMPDIR": str(self.temporary), "PATH": "/usr/bin:/bin"} | variables
        process = subprocess.Popen([program or self.file, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={name: str(value) for name, value in env.items()}, user=USER, group=USER, extra_groups=[], cwd="/")
        self.addCleanup(heaptap_test.end, process)
        return process

    def outcome(self, *words, **variables):
        process = self.started(*words, **variables)
        stdout, stderr = finished(process)
        return heaptap_test.Outcome(heaptap_test.shell_status(process.returncode), stdout, stderr)

    def expect_version(self, **variables):
        outcome = self.outcome("--version", **variables)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        self.assertTrue(outcome.stdout.startswith(VERSION), str(outcome))

    def expect_failure(self, *texts, **variables):
        outcome = self.outcome("--version", **variables)
        self.assertEqual((outcome.status, outcome.stdout), (FAILED, b""), str(outcome))
        for text in texts:
            self.assertIn(text, outcome.stderr.decode())
        return outcome

    def programs(self, below=None):
        """The one directory of unpacked programs."""
        found = [path for path in (below or self.home / ".cache/heaptap/programs").iterdir() if path.name != ".lock"]
        self.assertEqual(len(found), 1, found)
        return found[0]


def tree_of(directory):
    """What is there: paths, permissions, hashes of contents."""
    def content(path):
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else None

    return {str(path.relative_to(directory)): (path.lstat().st_mode, content(path)) for path in sorted(directory.rglob("*"))}


class Unpacking(TestCase):
    def test_the_second_start_uses_what_the_first_one_unpacked(self):
        self.expect_version()
        program = self.programs() / "bin/heaptap"
        before = program.stat()
        self.expect_version()
        self.assertEqual((program.stat().st_ino, program.stat().st_mtime_ns), (before.st_ino, before.st_mtime_ns))
        for directory in (self.home / ".cache", self.home / ".cache/heaptap", self.home / ".cache/heaptap/programs"):
            self.assertEqual(stat.S_IMODE(directory.stat().st_mode), 0o700)

    def test_the_cache_of_the_environment_comes_first(self):
        cache = self.made("cache")
        self.expect_version(XDG_CACHE_HOME=cache / "made" / "when missing")
        self.programs(cache / "made/when missing/heaptap/programs")
        self.assertEqual(list(self.home.iterdir()), [])

    def test_a_cache_that_was_linked_elsewhere_by_its_user_is_used(self):
        os.symlink(self.made("disk"), self.home / ".cache")
        self.expect_version()
        self.programs(self.directory / "disk/heaptap/programs")

    def test_many_first_starts_at_once(self):
        processes = [self.started("--version") for _ in range(8)]
        for process in processes:
            stdout, stderr = finished(process)
            self.assertEqual((process.returncode, stderr), (0, b""))
            self.assertTrue(stdout.startswith(VERSION))
        self.programs()

    def test_its_name_chooses_the_program(self):
        target = self.directory / "heaptap-target"
        os.symlink("heaptap", target)
        self.assertTrue(self.outcome("--version", program=target).stdout.startswith(b"heaptap-target "))

    def test_arguments_status_and_environment_are_the_programs(self):
        code = 'printf "%s|" "$@"; env; exit 7'
        variables = {"LD_LIBRARY_PATH": "/nowhere", "HOME": self.home, "LANG": "C"}
        outcome = self.outcome("run", "-q", "-o", self.home / "t.htap", "--", "/bin/sh", "-c", code, "sh", "a b", "", "c", **variables)
        bare = self.outcome("-c", code, "sh", "a b", "", "c", program="/bin/sh", **variables)
        self.assertEqual((outcome.status, outcome.stdout), (7, bare.stdout), str(outcome))

    def test_what_root_unpacks_serves_programs_of_other_users(self):
        cache = self.made("cache", 0o755, 0)
        command = [self.file, "run", "--user", f"{USER}:{USER}", "-o", self.trace, "--", "/bin/sh", "-c", "true"]
        outcome = heaptap_test.run(command, env={"XDG_CACHE_HOME": str(cache), "PATH": "/usr/bin:/bin"})
        self.assertEqual((outcome.status, outcome.stdout), (0, b""), str(outcome))
        self.assertNotIn(b"ptrace", outcome.stderr)
        self.assertIn(b"allocations", outcome.stderr)

    def test_another_user_cannot_make_root_wait(self):
        cache = self.made("cache", 0o755, 0)
        command, environment = [self.file, "--version"], {"XDG_CACHE_HOME": str(cache), "PATH": "/usr/bin:/bin"}
        self.assertEqual(heaptap_test.run(command, env=environment).status, 0)
        programs = cache / "heaptap/programs"
        shutil.rmtree(self.programs(programs))
        with self.held_by_a_stranger(programs):
            self.assertEqual(heaptap_test.run(command, env=environment).status, 0)
        for path in programs.glob(".*"):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600, path)

    def held_by_a_stranger(self, directory):
        """Locks of all that another user can open there."""
        code = 'exec 3<"$1"; flock 3; if [ -r "$1/.lock" ]; then exec 4<"$1/.lock"; flock 4; fi; echo held; cat'
        process = subprocess.Popen(["/bin/sh", "-c", code, "sh", directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=OTHER_USER,
                                   group=OTHER_USER, extra_groups=[], cwd="/")
        self.addCleanup(heaptap_test.end, process)
        self.assertEqual(process.stdout.readline(), b"held\n")
        return process

    def test_a_preloaded_library_that_is_missing_does_not_matter(self):
        self.expect_version(LD_PRELOAD="/nowhere.so", LD_LIBRARY_PATH="/nowhere")

    def test_it_unpacks_where_it_is_told_to(self):
        self.expect_version()
        directory = self.home / "programs"
        outcome = self.outcome("--unpack", directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(tree_of(directory), tree_of(self.programs()))
        self.assertTrue(self.outcome("--version", program=directory / "bin/heaptap").stdout.startswith(VERSION))
        self.assertIn(b"File exists", self.outcome("--unpack", directory).stderr)
        self.assertEqual(self.outcome("--unpack").status, FAILED)


    def test_the_doctor_sees_an_agent_that_cannot_be_loaded(self):
        directory = self.home / "programs"
        self.outcome("--unpack", directory)
        for content, reason in ((b"", b"file too short"), (b"not a library", b"invalid ELF header")):
            (directory / "lib/heaptap/libheaptap_agent.so").write_bytes(content)
            outcome = self.outcome("doctor", program=directory / "bin/heaptap")
            self.assertIn(b"FAIL  agent", outcome.stdout, str(outcome))
            self.assertIn(reason, b" ".join(outcome.stdout.split()))


class Damage(TestCase):
    """What is in the cache isn't what was unpacked."""

    def setUp(self):
        super().setUp()
        self.expect_version()
        self.directory_of_programs = self.programs()
        self.intact = tree_of(self.directory_of_programs)
        self.agent = self.directory_of_programs / "lib/heaptap/libheaptap_agent.so"

    def expect_unpacked_again(self):
        self.assertNotEqual(tree_of(self.directory_of_programs), self.intact)
        self.expect_version()
        self.assertEqual(tree_of(self.programs()), self.intact)

    def test_a_changed_byte(self):
        with self.agent.open("r+b") as file:
            file.seek(self.agent.stat().st_size // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        self.expect_unpacked_again()

    def test_a_short_file(self):
        os.truncate(self.agent, 1000)
        self.expect_unpacked_again()

    def test_a_missing_file(self):
        self.agent.unlink()
        self.expect_unpacked_again()

    def test_other_permissions(self):
        self.agent.chmod(0o666)
        self.expect_unpacked_again()

    def test_a_pipe(self):
        self.agent.unlink()
        os.mkfifo(self.agent)
        user_owns(self.agent, 0o644)
        self.expect_unpacked_again()

    def test_a_link_to_a_file(self):
        copy = self.home / "copy"
        shutil.copy(self.agent, copy)
        user_owns(copy, 0o644)
        self.agent.unlink()
        os.symlink(copy, self.agent)
        self.expect_unpacked_again()
        self.assertTrue(copy.exists())

    def test_a_file_of_another_user(self):
        os.chown(self.agent, OTHER_USER, OTHER_USER)
        self.expect_version()
        self.assertEqual(self.agent.stat().st_uid, USER)

    def test_a_link_to_a_directory_of_another_user(self):
        theirs = self.made("theirs", 0o755, OTHER_USER)
        shutil.copytree(self.directory_of_programs, theirs / "programs", symlinks=True)
        subprocess.run(["chown", "-R", str(OTHER_USER), theirs], check=True)
        shutil.rmtree(self.directory_of_programs)
        os.symlink(theirs / "programs", self.directory_of_programs)
        self.expect_version()
        self.assertFalse(self.directory_of_programs.is_symlink())
        self.assertEqual(tree_of(self.directory_of_programs), self.intact)
        self.assertEqual(tree_of(theirs / "programs"), self.intact)

    def test_what_an_interrupted_start_left(self):
        left = self.directory_of_programs.parent / ".new/lib"
        left.mkdir(parents=True)
        (left / "half").write_text("half")
        subprocess.run(["chown", "-R", str(USER), left.parent], check=True)
        shutil.rmtree(self.directory_of_programs)
        self.expect_version()
        self.assertEqual(tree_of(self.programs()), self.intact)


class Places(TestCase):
    """Where it can't be unpacked, or isn't."""

    def mounted(self, name, options):
        directory = self.made(name)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"uid={USER},mode=700,{options}", "none", directory], capture_output=True).returncode != 0:
            heaptap_test.skip_what_is_missing("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", directory], check=True)
        return directory

    def test_a_home_without_write_permission(self):
        self.home.chmod(0o500)
        self.expect_version()
        self.programs(self.temporary / f"heaptap-programs.{USER}")

    def test_no_home(self):
        self.expect_version(HOME="")
        self.programs(self.temporary / f"heaptap-programs.{USER}")

    def test_read_only_home(self):
        home = self.mounted("read-only", "ro")
        self.expect_version(HOME=home)
        self.temporary.chmod(0o500)
        shutil.rmtree(self.programs(self.temporary / f"heaptap-programs.{USER}").parent)
        self.expect_failure(f"can't make {home}/.cache: Read-only file system", "Permission denied",
                            "XDG_CACHE_HOME=DIRECTORY", "MiB", HOME=home)

    def test_a_full_disk(self):
        home, temporary = self.mounted("full", "size=4m"), self.mounted("full too", "size=4m")
        self.expect_failure("No space left on device", " MiB, where programs may run", HOME=home, TMPDIR=temporary)
        for directory in (home, temporary):
            self.assertEqual([path.name for path in directory.rglob("*") if path.is_file()], [".lock"], "what was begun was left")

    def test_no_programs_may_run_there(self):
        home, temporary = self.mounted("home without", "noexec"), self.mounted("temporary without", "noexec")
        self.expect_failure(f"{home}/.cache/heaptap/programs is on a filesystem that forbids programs (noexec)", HOME=home, TMPDIR=temporary)
        self.expect_version(HOME=home, TMPDIR=temporary, XDG_CACHE_HOME=self.made("cache"))

    def without_home(self, *texts):
        self.expect_failure(*texts, HOME="/nonexistent")

    def test_a_directory_that_another_user_made_first(self):
        self.temporary.chmod(0o1777)
        place = self.made(f"temporary/heaptap-programs.{USER}", 0o755, OTHER_USER)
        self.without_home(f"{place} belongs to another user")
        self.assertEqual(list(place.iterdir()), [])

    def test_a_link_that_another_user_made_first(self):
        theirs = self.made("theirs", 0o777, OTHER_USER)
        os.symlink(theirs, self.temporary / f"heaptap-programs.{USER}")
        self.without_home("it is a link or a file")
        self.assertEqual(list(theirs.iterdir()), [])

    def test_a_directory_that_others_may_write_to(self):
        self.made(f"temporary/heaptap-programs.{USER}", 0o777)
        self.without_home("other users may write to")

    def test_a_directory_above_that_others_may_write_to(self):
        self.temporary.chmod(0o777)
        self.without_home(f"other users may write to {self.temporary}")

    def test_a_cache_below_a_directory_of_another_user(self):
        theirs = self.made("theirs", 0o755, OTHER_USER)
        (theirs / "cache").mkdir()
        user_owns(theirs / "cache", 0o700)
        self.temporary.chmod(0o500)
        self.without_home_but(theirs / "cache", f"{theirs} belongs to another user")

    def without_home_but(self, cache, *texts):
        self.expect_failure(*texts, HOME="/nonexistent", XDG_CACHE_HOME=cache)


LOSES = """\
#include <stdlib.h>
__attribute__((noinline)) static void* name_of_the_debug_file(void) { return malloc(1234); }
int main(void) { return name_of_the_debug_file() == 0; }
"""
FIND = """\
#!/bin/sh
echo "$*" >> "$HOME/calls"
echo {}
"""


class DebugFiles(TestCase):
    """Servers of debug files, which the one file asks by the program debuginfod-find: here one that knows a single file."""

    def setUp(self):
        super().setUp()
        self.program, self.debug = self.home / "app", self.home / "app.debug"
        (self.home / "app.c").write_text(LOSES)
        for command in (["gcc", "-w", "-g", "-O1", "-Wl,--build-id=0x0123456789abcdef", "-o", self.program, self.home / "app.c"],
                        ["objcopy", "--only-keep-debug", self.program, self.debug], ["strip", self.program]):
            self.assertEqual(heaptap_test.run(command).status, 0)
        self.debug.chmod(0o644)
        self.tools = self.made("tools", 0o755)
        self.trace = self.home / "t.htap"
        self.recorded = self.outcome("run", "-o", self.trace, "--", self.program)

    def offer(self, text):
        find = self.tools / "debuginfod-find"
        find.write_text(text)
        user_owns(find, 0o755)

    def show(self, *options, urls="http://localhost:1", **variables):
        outcome = self.outcome("show", "leaks", *options, self.trace, DEBUGINFOD_URLS=urls, PATH=self.tools, **variables)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        return outcome.stdout.decode()

    def calls(self):
        calls = self.home / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def test_names_are_those_of_the_file_that_it_finds(self):
        self.assertNotIn(b"name_of_the_debug_file", self.recorded.stderr)
        self.offer(FIND.format(self.debug))
        self.assertIn("name_of_the_debug_file app.c:2", self.show())
        self.assertIn("debuginfo 0123456789abcdef", self.calls())

    def test_it_is_not_run_where_no_server_is_wanted(self):
        self.offer(FIND.format(self.debug))
        self.assertNotIn("name_of_the_debug_file", self.show("--no-debuginfod") + self.show(urls=""))
        self.assertEqual(self.calls(), [])

    def test_another_file_is_not_taken(self):
        other = self.home / "other"
        shutil.copy("/bin/true", other)
        self.offer(FIND.format(other))
        self.assertNotIn("name_of_the_debug_file", self.show())
        self.assertIn("debuginfo 0123456789abcdef", self.calls())

    def test_one_that_hangs_is_given_up(self):
        self.offer(FIND.format(self.debug) + "exec /bin/sleep 1000\n")
        self.assertNotIn("name_of_the_debug_file", self.show(HEAPTAP_TEST_INTERVALS="reach=20ms"))
        self.assertIn("debuginfo 0123456789abcdef", self.calls())

    def test_without_it_the_reason_is_told(self):
        self.assertIn("debuginfod-find isn't in PATH", " ".join(self.show().split()))


class TheFile(TestCase):
    def test_a_short_copy_is_incomplete(self):
        os.truncate(self.file, ONE_FILE.stat().st_size - 1000)
        self.expect_failure("incomplete")
        self.assertEqual(list(self.home.iterdir()), [])

    def test_a_changed_byte_is_damage(self):
        with self.file.open("r+b") as file:
            file.seek(-500_000, os.SEEK_END)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        self.expect_failure("damaged")
        self.assertEqual(list(self.home.iterdir()), [])

    def test_it_and_the_archive_have_the_same_files(self):
        archive, = ONE_FILE.parent.glob(f"heaptap-*-{platform.machine()}.tar.xz")
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run(["tar", "--extract", "--file", archive, "--directory", directory], check=True)
            unpacked, = pathlib.Path(directory).iterdir()
            self.expect_version()
            self.assertEqual(tree_of(unpacked), tree_of(self.programs()))

    def test_the_sums_beside_it_are_right(self):
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], check=True, cwd=ONE_FILE.parent)

    def test_it_needs_no_library(self):
        self.expect_version()
        for program in ("heaptap", "heaptap-target"):
            headers = subprocess.run(["readelf", "--wide", "--segments", self.programs() / "bin" / program], check=True, capture_output=True,
                                     text=True).stdout
            self.assertNotIn("INTERP", headers)


if __name__ == "__main__":
    if os.geteuid() == 0 and "HEAPTAP_TEST_HAS_MOUNTS" not in os.environ:  # which end with the script
        os.environ["HEAPTAP_TEST_HAS_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    unittest.main()
