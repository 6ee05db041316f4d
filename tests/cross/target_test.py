"""heaptap-target for another CPU: it is built with all warnings as errors, starts, talks to the heaptap of this machine, and records there,
or says that it can't.

The environment names the CPU, as `./dev cross` does (CPU), the sources (SOURCE), and directories that are kept between runs: for what is
built (BUILD) and for libraries (LIBRARIES)."""
import collections
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import emulated
import far
import heaptap_test
from heaptap_test import heaptap, run

CPU = os.environ["CPU"]
SOURCE = pathlib.Path(os.environ["SOURCE"])
BUILD = pathlib.Path(os.environ["BUILD"])
LIBRARIES = pathlib.Path(os.environ["LIBRARIES"])
TRIPLET = {"arm": "arm-linux-gnueabihf", "i386": "i686-linux-gnu"}.get(CPU, f"{CPU}-linux-gnu")
EMULATOR = {"i386": [], "powerpc": ["qemu-ppc-static"]}.get(CPU, [f"qemu-{CPU}-static"])
# Its name in `uname -m`: of i386 the machine's own, which runs it.
MACHINE = {"arm": r"armv\w+", "i386": r"x86_64", "powerpc": "ppc", "mipsel": "mips"}.get(CPU, CPU)
# One without an agent of its own can't record.
HAS_AGENT = (SOURCE / "src/common/arch" / CPU / "native.h").exists()
LONGEST_BUILD_S = 900
RECORDED = ["malloc_family", "operator_new", "exceptions", "large_frames", "new_fails", "no_frame_pointers", "only_debug_frame", "realigned_frames",
            "stack_maze"]
if CPU in ("arm", "powerpc"):
    RECORDED.remove("no_frame_pointers")  # it expects the sizes of 64 bits


def build():
    """Compiled once, without an optimiser, by one compiler at a time: the machine has other tests to run."""
    for command in (f"{TRIPLET}-g++", *EMULATOR, "cmake", "ninja"):
        if not shutil.which(command):
            heaptap_test.skip_what_is_missing(f"{command} is missing")
    steps = [[SOURCE / "tools/cross_libraries.sh", TRIPLET, LIBRARIES],
             ["cmake", "-G", "Ninja", "-S", SOURCE, "-B", BUILD, f"-DCMAKE_TOOLCHAIN_FILE={SOURCE}/cmake/toolchains/cross.cmake",
              f"-DHEAPTAP_CROSS_CPU={CPU}", f"-DHEAPTAP_CROSS_TRIPLET={TRIPLET}", f"-DHEAPTAP_CROSS_LIBRARIES={LIBRARIES}",
              "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DHEAPTAP_TARGET_BATCH=60"],
             ["cmake", "--build", BUILD, "--parallel", "1", "--target", "heaptap-target"]]
    for step in steps:
        made = subprocess.run([str(word) for word in step], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=SOURCE,
                              env={**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": "1"}, timeout=LONGEST_BUILD_S, check=False)
        if made.returncode != 0:
            raise AssertionError(f"{step[0]} failed:\n{made.stdout[-6000:].decode(errors='replace')}")
    return [*EMULATOR, BUILD / "bin/heaptap-target"]


class Target(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = build()
        program = BUILD / "heaptap-target"  # far starts one file
        program.write_text("#!/bin/sh\nexec " + shlex.join(map(str, cls.program)) + ' "$@"\n')
        program.chmod(0o755)
        far.HEAPTAP_TARGET = program

    def test_starts(self):
        told = run([*self.program, "--version"])
        self.assertEqual((told.status, told.stderr), (0, b""), told)
        self.assertEqual(told.stdout.split()[1:], heaptap("--version").stdout.split()[1:], told)

    def test_records(self):
        """The expectations of a few target programs hold, recorded there and told here."""
        if not HAS_AGENT:
            return
        for name in RECORDED:
            source = heaptap_test.TARGET_SOURCES[name]
            options = [word for line in source.read_text().splitlines() if line.startswith("// COMPILE ") for word in line.split()[2:]]
            compiler = f"{TRIPLET}-{'gcc' if source.suffix == '.c' else 'g++'}"
            subprocess.run([compiler, "-O0", "-g", "-fno-builtin", "-fno-stack-protector", "-w", f"-I{SOURCE}/tests/targets", *options, source,
                            "-o", self.directory / name, "-pthread"], check=True)
        environment = {**os.environ, "HEAPTAP_TARGET": str(BUILD / "bin/heaptap-target"), "TARGETS": str(self.directory),
                       "HEAPTAP_NO_LEAK_SCAN": "1"}  # without ptrace there is none
        told = run([*emulated.command(CPU, f"/usr/{TRIPLET}"), sys.executable, SOURCE / "tests/e2e/run_targets.py", "--far=unix", *RECORDED],
                   env=environment, cwd=self.directory, timeout_s=600)
        self.assertEqual(told.status, 0, told)
        self.assertIn(f"Ran {len(RECORDED)} tests".encode(), told.stderr)

    def record_unwound(self, level):
        """Of unwound.cc, compiled so: how often the compiler's unwinder found which return addresses, and what the trace has."""
        program, record, trace = (self.directory / f"unwound{level}{end}" for end in ("", ".rec", ".htap"))
        subprocess.run([f"{TRIPLET}-g++", level, "-g", "-funwind-tables", SOURCE / "tests/cross/unwound.cc", "-o", program, "-pthread"], check=True)
        told = run([*emulated.command(CPU, f"/usr/{TRIPLET}"), BUILD / "bin/heaptap-target", "record", "-o", record, "--", program],
                   env={**os.environ, "HEAPTAP_NO_LEAK_SCAN": "1"}, cwd=self.directory)
        self.assertEqual(told.status, 0, told)
        lines = [line.partition(":")[2].split() for line in told.stdout.decode().splitlines()]
        unwound = collections.Counter(tuple(int(address, 16) & ~1 for address in line) for line in lines)
        self.assertEqual(heaptap("connect", record, "-q", "-o", trace).status, 0)
        report = heaptap_test.read_report(heaptap("show", "top", "-n", "0", "--json", trace).stdout)
        recorded = collections.Counter()
        for stack in report["stacks"]:
            first, *others = [frame for frame in stack["frames"] if not frame["inlined"]] or [{"function": ""}]
            if re.fullmatch(r"(\(anonymous namespace\)::)?allocate(\(\))?", first["function"] or ""):
                recorded[tuple(int(frame["address"], 16) & ~1 for frame in others)] += stack["allocations"]
        return unwound, recorded

    def test_records_the_stacks_of_the_compilers_unwinder(self):
        if not HAS_AGENT:
            return
        for level in ("-O0", "-O1", "-O2"):
            with self.subTest(level=level):
                unwound, recorded = self.record_unwound(level)
                self.assertGreater(unwound.total(), 100)
                self.assertEqual(unwound.total(), recorded.total())
                for stack, calls in unwound.items():
                    # One of them has the program's first function, which has no caller, and the other doesn't.
                    same = [other for other in recorded if stack[:len(other)] == other[:len(stack)] and abs(len(stack) - len(other)) <= 1]
                    self.assertEqual([recorded[other] for other in same], [calls], (stack, same))

    def test_carries_an_agent_that_all_kernels_load(self):
        """Of AArch64: with pages of up to 64 KiB, and where code is guarded by landing pads (BTI)."""
        if CPU != "aarch64":
            return
        agent = BUILD / "src/agent/small/libheaptap_agent.so"
        segments = run(["readelf", "--wide", "--segments", agent]).stdout.decode()
        aligned = {int(line.split()[-1], 16) for line in segments.splitlines() if line.split()[:1] == ["LOAD"]}
        self.assertEqual(aligned, {65536}, segments)
        notes = run(["readelf", "--wide", "--notes", agent]).stdout.decode()
        self.assertRegex(notes, r"AArch64 feature:.*\bBTI\b")

    def test_says_that_it_cannot_record(self):
        if HAS_AGENT:
            return
        address = f"127.0.0.1:{far.free_port()}"
        token = far.make_token(self.directory)
        refusal = rf"programs can't be recorded on this CPU yet \({MACHINE}\)"
        with far.serving(address, "-q", "--token-file", token, cwd=self.directory):
            told = heaptap("run", "-H", address, "--token-file", token, "-o", "trace.htap", "--", "/bin/true", cwd=self.directory)
        self.assertEqual(told.status, 125, told)
        self.assertRegex(told.stderr.decode(), refusal)
        alone = run([*self.program, "record", "-o", "far.rec", "--", "/bin/true"], cwd=self.directory)
        self.assertRegex(alone.stderr.decode(), refusal)
        self.assertNotEqual(alone.status, 0)


if __name__ == "__main__":
    unittest.main()
