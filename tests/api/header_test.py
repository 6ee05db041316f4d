"""include/heaptap/heaptap.h and the stubs: without warnings in all versions of the languages; an agent is found however a program
is compiled and linked, and a program without one runs the same; the stubs stay functions that can be watched."""
import itertools
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from api_building import INCLUDE, NAMES, ROOT, SOURCES, STUBS, build, can_link, compilers, symbols, ways
from heaptap_test import run

C = compilers(["gcc", "clang-19"] + ["clang", "gcc-11", "gcc-13"] * heaptap_test.LONG)
CXX = {compiler: compiler.replace("gcc", "g++").replace("clang", "clang++") for compiler in C}
WARNINGS = ("-Wall -Wextra -Wpedantic -Waddress -Wshadow -Wconversion -Wundef -Wredundant-decls -Wunused -Wcast-qual -Wwrite-strings "
            "-Werror")
C_WARNINGS = "-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wc++-compat -Wdeclaration-after-statement"
WAYS = ("", "-DHEAPTAP_DISABLED", "-DHEAPTAP_STUBS")
FOUND = """\
disable
enable
mark start
push request
pop
report report.memlog
scan 1
pool arena
allocated 1 0 100
reallocated 1 0 1 200
released 1 1
destroy 1
name 2 table
resource files
opened 70 3 4096
closed 70 3
version 7 recording 1 report 0 scan 0 pool 1 files 70 found 5 evaluated 6
"""
ABSENT = "version 0 recording 0 report 95 scan 95 pool 0 files 0 found 0 evaluated 6\n"
STUBBED = "version 1 recording 0 report 95 scan 95 pool 1 files 2 found 0 evaluated 6\n"


class TestCase(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.program = self.directory / "program"

    @classmethod
    def setUpClass(cls):
        cls.libraries = cls.make_class_directory()
        cls.agent = cls.libraries / "fake_agent.so"
        build("gcc -shared -fPIC -Wall -Werror -I", INCLUDE, SOURCES / "fake_agent.c", "-o", cls.agent)
        build("gcc -O2 -fPIC -shared -nostdlib -Wl,-soname,libheaptap.so.1 -I", INCLUDE, STUBS, "-o", cls.libraries / "libheaptap.so.1")
        (cls.libraries / "libheaptap.so").symlink_to("libheaptap.so.1")

    def printed(self, program, agent=True):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.libraries)}
        if agent:
            environment["LD_PRELOAD"] = str(self.agent)
        outcome = run([program], env=environment)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        return outcome.stdout.decode()


class Compiling(TestCase):
    def test_c_has_no_warnings(self):
        for compiler, standard, way, kind in ways(C, ("c89", "c99", "c11", "c17", "c2x"), WAYS, ("-fno-pie -O0", "-fPIE -O2")):
            build(compiler, WARNINGS, C_WARNINGS, way, kind, f"-std={standard} -c -o /dev/null -I", INCLUDE, SOURCES / "calls.c")

    def test_cxx_has_no_warnings(self):
        for compiler, standard, way, kind in ways(C, (98, 11, 14, 17, 20), WAYS, ("-fno-pie -O0", "-fPIE -O2")):
            newer = "-Wold-style-cast" + (" -Wzero-as-null-pointer-constant" if standard != 98 else "")
            build(CXX[compiler], WARNINGS, newer, way, kind, f"-std=c++{standard} -c -o /dev/null -I", INCLUDE, SOURCES / "calls.cc")

    def test_the_stubs_are_c_and_cxx(self):
        for compiler in C:
            build(compiler, WARNINGS, C_WARNINGS, "-std=c89 -O2 -c -o /dev/null -I", INCLUDE, STUBS)
            build(CXX[compiler], WARNINGS, "-x c++ -std=c++98 -O2 -c -o /dev/null -I", INCLUDE, STUBS)

    def test_disabled_nothing_of_it_is_left(self):
        for compiler, level in itertools.product(C, ("-O0", "-O2")):
            build(compiler, level, "-DHEAPTAP_DISABLED -c -o", self.program, "-I", INCLUDE, SOURCES / "calls.c")
            left = [name for _, name in symbols(self.program) if "heaptap" in name and "call" not in name]
            self.assertEqual(left, [], f"{compiler} {level}")

    def test_elsewhere_it_is_disabled(self):
        build("gcc -U__ELF__ -I", INCLUDE, SOURCES / "calls.c", "-o", self.program)
        self.assertEqual(self.printed(self.program), ABSENT)

    def test_files_compiled_in_different_ways_fit_together(self):
        parts = []
        for number, way in enumerate(("", "-DHEAPTAP_DISABLED", "-DHEAPTAP_STUBS")):
            parts.append(self.directory / f"{number}.o")
            build("g++ -O0", way, f"-Dmain=main{number} -c -I", INCLUDE, SOURCES / "calls.cc", "-o", parts[-1])
        main = self.directory / "main.c"
        main.write_text("int _Z5main0v(void), _Z5main1v(void), _Z5main2v(void);\n"
                        "int main(void) { return _Z5main0v() | _Z5main1v() | _Z5main2v(); }\n")
        build("g++ -x c", main, "-x none", *parts, "-L", self.libraries, "-lheaptap -o", self.program)
        lines = self.printed(self.program).splitlines()
        self.assertEqual([line for line in lines if line.startswith("recording")],
                         ["recording 1 report 0 scan 0 found 5 files 70", "recording 0 report 95 scan 95 found 0 files 0",
                          "recording 1 report 0 scan 0 found 5 files 70"])
        self.assertEqual(lines.count("mark start"), 2)


class Finding(TestCase):
    """The header alone, in all ways in which programs are compiled and linked."""

    LINKERS = ("bfd", "gold", "lld")
    CODE = ("-fno-pie -no-pie", "-fPIE -pie", "-fPIC -no-pie", "-fno-plt -fPIE -pie", "-static -fno-pie", "-static-pie -fPIE",
            "-mcmodel=large -fno-pie -no-pie", "-masm=intel -fno-pie -no-pie")
    OPTIMISATION = ("-O0", "-O2", "-O2 -flto", "-Os -ffunction-sections -Wl,--gc-sections -Wl,-z,now")

    def test_the_agent_is_found_by_dynamic_programs(self):
        seen = 0
        def options_of(linker, code, level):
            return f"{code} {level} -fuse-ld={linker}"

        # Not possible: LTO of another compiler's version; gold has no -static-pie.
        for compiler, *rest in ways(C, self.LINKERS, self.CODE, self.OPTIMISATION, possible=lambda way: can_link(way[0], options_of(*way[1:]))):
            options, code = options_of(*rest), rest[1]
            seen += 1
            build(compiler, options, "-I", INCLUDE, SOURCES / "calls.c", "-o", self.program)
            with self.subTest(f"{compiler} {options}"):
                self.assertEqual(self.printed(self.program), ABSENT if "static" in code else FOUND)
                self.assertEqual(self.printed(self.program, agent=False), ABSENT)
        self.assertGreater(seen, 20)

    def test_cxx(self):
        for compiler, code in itertools.product(C, ("-fno-pie -no-pie", "-fPIE -pie")):
            build(CXX[compiler], code, "-O0 -std=c++17 -I", INCLUDE, SOURCES / "calls.cc", "-o", self.program)
            self.assertEqual(self.printed(self.program).splitlines(), [
                "disable", "enable", "mark start", "report report.memlog", "scan 1", "pool first", "pool second",
                "push request", "push parse", "allocated 2 0 100", "pop", "pop",
                "destroy 1",  # what the pool held that the other one was moved to
                "reallocated 2 0 1 200", "released 2 1", "pool 2", "destroy 0", "destroy 2", "destroy 0", "name 2 table",
                "resource files", "opened 70 3 1", "closed 70 3", "recording 1 report 0 scan 0 found 5 files 70"])
            self.assertIn("recording 0 report 95 scan 95 found 0 files 0", self.printed(self.program, agent=False))

    def test_a_plugin_finds_it(self):
        plugin = self.directory / "plugin.so"
        for flags in ("", "-Wl,-Bsymbolic", "-Wl,-z,now"):
            build("gcc -shared -fPIC", flags, "-I", INCLUDE, SOURCES / "plugin.c", "-o", plugin)
            build("gcc", SOURCES / "loads_plugin.c", "-ldl -o", self.program)
            outcome = run([self.program, plugin], env={**os.environ, "LD_PRELOAD": str(self.agent)})
            self.assertEqual((outcome.status, outcome.stdout), (7, b"mark from the plugin\n"), str(outcome))
            self.assertEqual(run([self.program, plugin]).status, 0)

    def test_32_bits(self):
        # asm/errno.h of 64 bits serves as well
        options = "-m32 -idirafter /usr/include/x86_64-linux-gnu"
        if not can_link("gcc", options):
            heaptap_test.skip_what_is_missing("no 32-bit programs here")
        agent = self.directory / "agent32.so"
        build("gcc -shared -fPIC", options, "-I", INCLUDE, SOURCES / "fake_agent.c", "-o", agent)
        for compiler, code, level in itertools.product(C, ("-fno-pie -no-pie", "-fPIE -pie"), ("-O0", "-O2")):
            build(compiler, options, code, level, "-I", INCLUDE, SOURCES / "calls.c", "-o", self.program)
            outcome = run([heaptap_test.runnable(self.program)], env={**os.environ, "LD_PRELOAD": str(agent)})
            self.assertEqual(outcome.stdout.decode(), FOUND, f"{compiler} {code} {level}")
            self.assertEqual(run([self.program]).stdout.decode(), ABSENT)


class Described(unittest.TestCase):
    def test_the_manual_page_has_each_function_as_it_is_declared(self):
        header = (INCLUDE / "heaptap/heaptap.h").read_text()
        page = (ROOT / "docs/man/heaptap.h.3.scd").read_text()
        declared = [" ".join(text.split()) for text in re.findall(r"^HEAPTAP_FUNCTION ([^;]*;)", header, re.MULTILINE)]
        self.assertEqual(sorted(re.search(r"(\w+)\(", text)[1] for text in declared), NAMES)
        synopsis = re.search(r"^# SYNOPSIS\n(.*?)^# ", page, re.MULTILINE | re.DOTALL)[1]
        bare = [re.sub(r"[\s*_+\\\\]", "", line) for line in synopsis.splitlines()]  # without what makes letters bold
        self.assertEqual(sorted(line for line in bare if line.endswith(";")), sorted(re.sub(r"[\s*_]", "", text) for text in declared))


class Stubs(TestCase):
    def test_the_library_has_the_functions_alone_and_needs_nothing(self):
        library = self.libraries / "libheaptap.so.1"
        self.assertEqual(sorted(name for kind, name in symbols(library, "-D") if kind == "T"), NAMES)
        self.assertNotIn("NEEDED", run(["readelf", "-d", library]).stdout.decode())

    def test_the_agent_comes_before_the_library(self):
        for compiler, code in itertools.product(C, ("-fno-pie -no-pie", "-fPIE -pie")):
            build(compiler, code, "-O2 -DHEAPTAP_STUBS -I", INCLUDE, SOURCES / "calls.c", "-L", self.libraries, "-lheaptap -Wl,--as-needed -o",
                  self.program)
            self.assertEqual(self.printed(self.program), FOUND)
            self.assertEqual(self.printed(self.program, agent=False), STUBBED)

    def test_as_a_source_it_is_the_programs_own(self):
        for compiler, code in itertools.product(C, ("-no-pie -fno-pie", "-fPIE -pie", "-static")):
            build(compiler, code, "-O2 -DHEAPTAP_STUBS -I", INCLUDE, SOURCES / "calls.c", STUBS, "-o", self.program)
            self.assertEqual(self.printed(self.program), STUBBED)

    def folding(self):
        """Compilers, linkers and options by which equal functions become one, or are taken apart."""
        yield from ((compiler, "-O2 -flto -fuse-ld=" + linker) for compiler in C for linker in ("bfd", "gold", "lld"))
        yield from ((compiler, f"-O2 -ffunction-sections -fuse-ld={linker} -Wl,--icf=all -Wl,--gc-sections")
                    for compiler in C for linker in ("gold", "lld"))
        yield from ((compiler, "-Os -fno-pie -no-pie -static -Wl,--gc-sections -ffunction-sections") for compiler in C)
        yield ("gcc", "-O3 -fwhole-program -flto -static -fipa-icf -fipa-pta")

    def test_each_is_a_function_with_its_arguments(self):
        """As a tracer sees it: a breakpoint at its address, and the arguments in registers."""
        seen = 0
        for compiler, options in self.folding():
            if not can_link(compiler, options):
                continue
            seen += 1
            build(compiler, options, "-DHEAPTAP_STUBS -I", INCLUDE, SOURCES / "calls.c", STUBS, "-o", self.program)
            with self.subTest(f"{compiler} {options}"):
                places = {}
                for line in run(["nm", self.program]).stdout.decode().splitlines():
                    address, kind, name = line.split()[-3:] if len(line.split()) == 3 else ("", "", "")
                    if kind in ("T", "t") and name in NAMES:
                        places.setdefault(int(address, 16), []).append(name)
                self.assertEqual(sorted(name for names in places.values() for name in names), NAMES)
                self.assertEqual([names for names in places.values() if len(names) > 1], [])
                self.assert_arguments()
        self.assertGreater(seen, 8)

    def assert_arguments(self):
        if os.uname().machine != "x86_64":
            return
        wanted = [("allocated", '"%d %d\\n", (int)$rdi, (int)$rdx', "1 100"), ("reallocated", '"%d %d\\n", (int)$rdi, (int)$rcx', "1 200"),
                  ("mark", '"%s\\n", (char*)$rdi', "start"), ("name_block", '"%s\\n", (char*)$rsi', "table"),
                  ("opened", '"%d %d %d\\n", (int)$rdi, (int)$rsi, (int)$rdx', "2 3 4096")]
        script = self.directory / "script.gdb"
        script.write_text("set debuginfod enabled off\nset language c\n" + "".join(
            f"break *(long)&heaptap_{name}\ncommands\nsilent\nprintf {shown}\ncontinue\nend\n" for name, shown, _ in wanted) + "run\n")
        outcome = run(["gdb", "-batch", "-nx", "-x", script, self.program])
        out = outcome.stdout.decode()
        for name, _, text in wanted:
            self.assertIn(f"\n{text}\n", out, f"{name}\n{outcome}")


if __name__ == "__main__":
    unittest.main()
