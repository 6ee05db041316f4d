"""What the tests of AArch64 run, built in the directory BUILD, which is kept between runs, from SOURCE."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test

SOURCE = pathlib.Path(os.environ["SOURCE"])
BUILD = pathlib.Path(os.environ["BUILD"])
TRIPLET = "aarch64-linux-gnu"
LONGEST_BUILD_S = 2400  # 8 minutes with two cores of its own; the other tests take theirs


def build(*targets):
    """Builds these, with a sysroot in BUILD / "sysroot"."""
    for command in (f"{TRIPLET}-g++", "qemu-aarch64-static", "cmake", "ninja"):
        if not shutil.which(command):
            heaptap_test.skip_what_is_missing(f"{command} is missing")
    sysroot = BUILD / "sysroot"
    # Compiled for one run: less is optimised, and some warnings need more of it.
    flags = "-O1 -DNDEBUG -Wno-maybe-uninitialized"
    steps = [[SOURCE / "tools/cross_sysroot.sh", "arm64", sysroot],
             ["cmake", "-S", SOURCE, "-B", BUILD, "--preset", "aarch64", "-DHEAPTAP_DISCOVERY=OFF", "-DHEAPTAP_TARGET_PROGRAMS=ON", f"-DHEAPTAP_SYSROOT={sysroot}",
              f"-DCMAKE_CXX_FLAGS_RELEASE={flags}"],
             ["cmake", "--build", BUILD, "--parallel", str(os.cpu_count()), "--target", *targets]]
    for step in steps:
        run_or_fail(step)


def run_or_fail(step):
    made = subprocess.run([str(word) for word in step], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=SOURCE,
                          timeout=LONGEST_BUILD_S, check=False)
    if made.returncode != 0:
        raise AssertionError(f"{step[0]} failed:\n{made.stdout[-6000:].decode(errors='replace')}")


def compile_static(source, program):
    run_or_fail([f"{TRIPLET}-gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-static", "-o", program, source])


def compile_shared(source, library):
    run_or_fail([f"{TRIPLET}-gcc", "-O2", "-g", "-fno-builtin", "-fno-omit-frame-pointer", "-w", "-shared", "-fPIC", "-static-libgcc",
                 "-o", library, source])


def compile_target(source, program, *options):
    """A target program that needs nothing of others, with these options besides its own."""
    lines = [line.split() for line in source.read_text().splitlines() if line.startswith("// ")]
    own = [word for line in lines if line[1] == "COMPILE" for word in line[2:]]
    compiler = f"{TRIPLET}-{'gcc' if source.suffix == '.c' else 'g++'}"
    run_or_fail([compiler, "-O0", "-g", "-fno-builtin", "-fno-stack-protector", "-w", f"-I{SOURCE}/tests/targets", *own, *options, source,
                 "-o", program, "-pthread"])


def is_alone(source):
    """Whether a target program's directives are but those that compile_target() knows."""
    return not any(line.startswith(("// LINK ", "// LIBRARY ", "// USES ", "// STRIPPED ")) for line in source.read_text().splitlines())
