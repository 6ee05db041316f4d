"""`heaptap doctor`: its verdicts agree with what heaptap run and attach then do, on programs of each kind."""
import ctypes
import json
import os
import pathlib
import platform
import shutil
import signal
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, heaptap, run

PROGRAM = "int main(void) { return 0; }\n"
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def refuse_ptrace():
    """In a child: a filter of system calls by which ptrace fails, as some containers have."""
    load, equal, give = 0x20, 0x15, 0x06
    allow, refuse = 0x7FFF0000, 0x00050001
    rules = [(load, 0, 0, 0), (equal, 0, 1, 101), (give, 0, 0, refuse), (give, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    program = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        os._exit(99)


class Doctor(heaptap_test.TestCase):
    def doctor(self, *arguments, command=(), **options):
        """Its exit status, and its checks by name."""
        outcome = subprocess.run([*command, HEAPTAP, "doctor", "--json", *map(str, arguments)], capture_output=True, timeout=60,
                                 cwd=self.directory, check=False, **options)
        report = json.loads(outcome.stdout)
        self.assertEqual((report["format"], report["version"]), ("heaptap-doctor", 1))
        self.assertEqual(report["passed"], all(check["verdict"] != "fail" for check in report["checks"]))
        self.assertEqual(outcome.returncode, 0 if report["passed"] else 1, str(report))
        return outcome.returncode, {check["name"]: check for check in report["checks"]}

    def build(self, name, *command):
        source = self.directory / "program.c"
        source.write_text(PROGRAM)
        outcome = run([*command, "-o", self.directory / name, source])
        self.assertEqual(outcome.status, 0, str(outcome))
        return self.directory / name

    def sleeper(self, **options):
        process = subprocess.Popen(["sleep", "1000"], **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def test_text_names_each_check_in_eighty_columns(self):
        outcome = heaptap("doctor", "/bin/true", cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        lines = outcome.stdout.decode().splitlines()
        self.assertIn("this machine", lines)
        self.assertIn("/bin/true", lines)
        for line in lines:
            self.assertTrue(len(line) <= 80 or line.startswith(" " * 20) or "/" in line, line)
        self.assertIn("ok    capture     by the agent", lines)

    def test_way_of_capture_is_the_one_that_run_takes(self):
        gcc = ("gcc",)
        programs = {"plain": (*gcc, "-g"), "static": (*gcc, "-static"), "stripped": (*gcc, "-s")}
        if os.uname().machine == "x86_64":
            programs |= {"32": ("g++", "-x", "c", "-m32"), "musl": ("musl-gcc",)}
        for name, command in programs.items():
            with self.subTest(program=name):
                if not shutil.which(command[0]):
                    heaptap_test.skip_what_is_missing(command[0])
                program = heaptap_test.runnable(self.build(name, *command))
                status, checks = self.doctor(program)
                self.assertEqual(status, 0)
                ran = run([HEAPTAP, "run", "--force", "-o", self.trace, "--", program])
                self.assertEqual(ran.status, 0, str(ran))
                says_ptrace = checks["capture"]["text"].startswith("ptrace")
                self.assertEqual(says_ptrace, b"recorded with ptrace" in ran.stderr, f"{checks['capture']}\n{ran}")
                self.assertEqual(says_ptrace, name in ("static", "32", "musl"))
        _, checks = self.doctor(self.directory / "plain")
        self.assertEqual(checks["names"]["verdict"], "ok")
        _, checks = self.doctor(self.directory / "stripped")
        self.assertEqual(checks["names"]["verdict"], "note")

    def test_fix_of_a_sanitizer_works(self):
        program = self.build("sanitized", "gcc", "-fsanitize=address")
        environment = {name: value for name, value in os.environ.items() if not name.endswith("SAN_OPTIONS")}
        status, checks = self.doctor(program, env=environment)
        self.assertEqual((status, checks["sanitizer"]["verdict"]), (1, "fail"))
        refused = run([HEAPTAP, "run", "--", program], cwd=self.directory, env=environment)
        self.assertEqual(refused.status, 126, str(refused))
        command = checks["sanitizer"]["fixes"][0].replace("heaptap ", f"{HEAPTAP} ", 1)
        fixed = run(["sh", "-c", command], cwd=self.directory, env=environment)
        self.assertEqual(fixed.status, 0, str(fixed))

    def test_allocator_of_the_programs_own(self):
        source = self.directory / "own.c"
        source.write_text("#include <stddef.h>\nvoid* malloc(size_t size) { (void)size; return NULL; }\n" + PROGRAM)
        program = self.directory / "own"
        self.assertEqual(run(["gcc", "-fno-builtin", "-o", program, source]).status, 0)
        status, checks = self.doctor(program)
        self.assertEqual((status, checks["capture"]["verdict"]), (0, "note"))
        self.assertEqual(checks["capture"]["fixes"], [f"heaptap run --via ptrace -- {program}"])

    def test_what_cannot_be_run(self):
        (self.directory / "text").write_text("no program\n")
        (self.directory / "text").chmod(0o755)
        for name in ("./not-there", "./text", "/", "no-such-program"):
            with self.subTest(program=name):
                status, checks = self.doctor(name)
                self.assertEqual(status, 1)
                self.assertIn("fail", (checks["program"]["verdict"], checks.get("capture", {}).get("verdict")))

    def test_missing_agent_matters_only_to_what_needs_it(self):
        alone = self.directory / "bin"
        alone.mkdir()
        shutil.copy(HEAPTAP, alone / "heaptap")
        static = self.build("static", "gcc", "-static")
        for target, status in ((["/bin/true"], 1), ([], 1), ([static], 0)):
            outcome = run([alone / "heaptap", "doctor", *target], cwd=self.directory)
            self.assertEqual(outcome.status, status, str(outcome))
            self.assertIn(b"libheaptap_agent.so not found", outcome.stdout)

    def test_agent_that_the_loader_refuses(self):
        alone = self.directory / "bin"
        alone.mkdir()
        shutil.copy(HEAPTAP, alone / "heaptap")
        (alone / "libheaptap_agent.so").write_text("no library")
        outcome = run([alone / "heaptap", "doctor"], cwd=self.directory)
        self.assertEqual(outcome.status, 1, str(outcome))
        self.assertIn(b"FAIL  agent", outcome.stdout)

    def test_process(self):
        pid = self.sleeper()
        status, checks = self.doctor(pid)
        self.assertEqual((status, checks["attach"]["verdict"]), (0, "ok"), str(checks))
        gone = subprocess.Popen(["true"])
        gone.wait()
        status, checks = self.doctor(gone.pid)
        self.assertEqual((status, checks["attach"]["verdict"]), (1, "fail"))

    @unittest.skipUnless(platform.machine() == "x86_64", "elsewhere it is by ptrace")
    def test_process_and_the_way_into_it(self):
        for ignored, way in ((None, "by the agent"), (signal.SIGTRAP, r"by ptrace: .*it uses the signal SIGTRAP")):
            pid = self.sleeper(preexec_fn=lambda ignored=ignored: ignored and signal.signal(ignored, signal.SIG_IGN))
            _, checks = self.doctor(pid)
            self.assertRegex(checks["attach"]["text"], rf"process {pid} can be attached to, {way}$")
            outcome = heaptap("attach", "--duration", "1ms", "--force", "-o", self.directory / "trace.htap", pid)
            self.assertEqual(outcome.status, 0, str(outcome))
            self.assertEqual(" by ptrace: " in outcome.stderr.decode().splitlines()[0], ignored is not None, str(outcome))

    @unittest.skipUnless(os.getuid() == 0, "needs root to become somebody else")
    def test_process_of_somebody_else(self):
        pid = self.sleeper()
        tools = self.directory / "bin"
        tools.mkdir()
        for file in (HEAPTAP, pathlib.Path(HEAPTAP).parent / "libheaptap_agent.so"):
            shutil.copy(file, tools)
        self.directory.chmod(0o777)
        outcome = run([*NOBODY, tools / "heaptap", "doctor", str(pid)], cwd=self.directory)
        self.assertEqual(outcome.status, 1, str(outcome))
        self.assertIn(b"it belongs to root", b" ".join(outcome.stdout.split()))
        self.assertIn(f"heaptap attach {pid}".encode(), outcome.stdout)
        refused = run([*NOBODY, tools / "heaptap", "attach", str(pid)], cwd=self.directory)
        self.assertNotEqual(refused.status, 0, str(refused))

    def test_filter_that_refuses_ptrace(self):
        status, checks = self.doctor("/bin/true", preexec_fn=refuse_ptrace)
        self.assertEqual((status, checks["ptrace"]["verdict"]), (0, "note"), str(checks))
        self.assertEqual(checks["privileges"]["verdict"], "note")
        self.assertEqual(checks["seccomp"]["verdict"], "note")
        static = self.build("static", "gcc", "-static")
        status, checks = self.doctor(static, preexec_fn=refuse_ptrace)
        self.assertEqual((status, checks["ptrace"]["verdict"]), (1, "fail"), str(checks))

    @unittest.skipUnless(os.getuid() == 0, "needs root to become somebody else")
    def test_directory_that_cannot_be_written(self):
        tools = self.directory / "bin"
        tools.mkdir()
        for file in (HEAPTAP, pathlib.Path(HEAPTAP).parent / "libheaptap_agent.so"):
            shutil.copy(file, tools)
        self.directory.chmod(0o755)
        outcome = run([*NOBODY, tools / "heaptap", "doctor"], cwd=self.directory)
        self.assertEqual(outcome.status, 1, str(outcome))
        self.assertIn(b"FAIL  disk", outcome.stdout)

    def test_usage(self):
        self.assertEqual(heaptap("doctor", "a", "b").status, 2)
        self.assertEqual(heaptap("doctor", "--nonsense").status, 2)
        self.assertIn(b"--json", heaptap("help", "doctor").stdout)


if __name__ == "__main__":
    unittest.main()
