"""What is installed for programs that use the API: a prefix of any name that may be moved; found by pkg-config, by CMake's
find_package, and by nothing at all; header, libraries, the stubs' source. And the pages of documentation, with what they link to."""
import itertools
import os
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from api_building import NAMES, ROOT, SOURCES, build, compilers, symbols
from heaptap_test import run

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
FILES = """include/heaptap/gtest.h
include/heaptap/heaptap.h
lib/cmake/heaptap/heaptapConfig.cmake
lib/cmake/heaptap/heaptapConfigVersion.cmake
lib/cmake/heaptap/heaptapLeakTest.cmake
lib/cmake/heaptap/heaptapTargets-release.cmake
lib/cmake/heaptap/heaptapTargets.cmake
lib/libheaptap.a
lib/libheaptap.so
lib/libheaptap.so.1
share/heaptap/heaptap_stubs.c
share/pkgconfig/heaptap-stubs.pc
share/pkgconfig/heaptap.pc""".split()
ABSENT = "version 0 recording 0 report 95 scan 95 pool 0 files 0 found 0 evaluated 6\n"
STUBBED = "version 1 recording 0 report 95 scan 95 pool 1 files 2 found 0 evaluated 6\n"
RECORDED = "version 7 recording 1 report 0 scan 0 pool 1 files 70 found 5 evaluated 6\n"
C = compilers(["gcc", "clang-19"])
PROJECT = """\
cmake_minimum_required(VERSION 3.13)
project(user C CXX)
find_package(heaptap 0.1 REQUIRED)
add_executable(alone calls.c)
target_link_libraries(alone PRIVATE heaptap::api)
add_executable(stubs calls.c)
target_link_libraries(stubs PRIVATE heaptap::stubs)
add_executable(stubs_static calls.c)
target_link_libraries(stubs_static PRIVATE heaptap::stubs_static -static)
add_executable(cxx calls.cc)
target_link_libraries(cxx PRIVATE heaptap::stubs)
"""

# Links of developers' pages to what only a checkout has.
SOURCES_ALONE = re.compile(r"(\.\./)+(bench|dev|include|share|src|tests|tools)\b")


class InstalledPages(heaptap_test.TestCase):
    def test_their_links_lead_somewhere(self):
        done = run(["cmake", "--install", BUILD, "--component", "pages", "--prefix", self.directory])
        self.assertEqual(done.status, 0, str(done))
        links = [(page, link) for page in self.directory.rglob("*.md") for link in re.findall(r"\]\(([^)#\s]+)", page.read_text())
                 if not link.startswith("https:")]
        pages = self.directory / "share/doc/heaptap"
        self.assertTrue({(pages / "README.md", "howto/install.md"), (pages / "README.md", "pictures/report.png")} <= set(links))
        lost = {f"{page.relative_to(pages)}: {link}" for page, link in links
                if not (page.parent / link).exists() and not SOURCES_ALONE.match(link) and link not in ("copyright", "changelog.gz")}
        self.assertEqual(lost, set())


class Installed(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.make_class_directory()
        first = directory / "first"
        done = run(["cmake", "--install", BUILD, "--component", "api", "--prefix", first])
        assert done.status == 0, done
        cls.prefix = directory / "moved"  # it may be
        shutil.move(first, cls.prefix)
        cls.agent = directory / "fake_agent.so"
        build("gcc -shared -fPIC -I", cls.prefix / "include", SOURCES / "fake_agent.c", "-o", cls.agent)

    def setUp(self):
        super().setUp()
        self.program = self.directory / "program"

    def pkg_config(self, *options):
        done = run(["pkg-config", *options], env={**os.environ, "PKG_CONFIG_PATH": str(self.prefix / "share/pkgconfig")})
        self.assertEqual(done.status, 0, str(done))
        return done.stdout.decode().strip()

    def last_line(self, program, agent=False):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.prefix / "lib")}
        if agent:
            environment["LD_PRELOAD"] = str(self.agent)
        outcome = run([program], env=environment)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        return outcome.stdout.decode().splitlines(keepends=True)[-1]

    def test_these_files_and_no_others(self):
        found = sorted(str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if not path.is_dir())
        self.assertEqual([path.replace("-debug.cmake", "-release.cmake") for path in found], FILES)

    def test_no_file_knows_where_it_was_built_or_installed(self):
        for path in self.prefix.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                for place in (str(ROOT), str(self.prefix.parent / "first")):
                    self.assertNotIn(place.encode() + b"/", content, str(path))

    def test_libraries_define_the_functions_alone(self):
        self.assertEqual(sorted(name for kind, name in symbols(self.prefix / "lib/libheaptap.so.1", "-D") if kind == "T"), NAMES)
        self.assertEqual(sorted(name for kind, name in symbols(self.prefix / "lib/libheaptap.a") if kind == "T"), NAMES)
        dynamic = run(["readelf", "-d", self.prefix / "lib/libheaptap.so"]).stdout.decode()
        self.assertIn("soname: [libheaptap.so.1]", dynamic)
        self.assertNotIn("NEEDED", dynamic)

    def test_pkg_config_header_alone(self):
        flags = self.pkg_config("--cflags", "--libs", "heaptap")
        for compiler, code in itertools.product(C, ("", "-fno-pie -no-pie", "-static")):
            build(compiler, SOURCES / "calls.c", flags, code, "-o", self.program)
            self.assertEqual(self.last_line(self.program), ABSENT)
            self.assertEqual(self.last_line(self.program, agent=True), ABSENT if code == "-static" else RECORDED)

    def test_pkg_config_stubs(self):
        for compiler, code in itertools.product(C, ("", "-fno-pie -no-pie", "-static")):
            static = ["--static"] if code == "-static" else []
            flags = self.pkg_config("--cflags", "--libs", *static, "heaptap-stubs")
            build(compiler, SOURCES / "calls.c", flags, code, "-o", self.program)
            self.assertEqual(self.last_line(self.program), STUBBED)
            self.assertEqual(self.last_line(self.program, agent=True), STUBBED if static else RECORDED)

    def test_the_source_to_drop_in(self):
        shutil.copy(self.prefix / "share/heaptap/heaptap_stubs.c", self.directory)
        for compiler in C:
            build(compiler, "-static -DHEAPTAP_STUBS -I", self.prefix / "include", SOURCES / "calls.c", self.directory / "heaptap_stubs.c", "-o", self.program)
            self.assertEqual(self.last_line(self.program), STUBBED)

    def test_the_header_copied_into_a_project(self):
        shutil.copytree(self.prefix / "include/heaptap", self.directory / "heaptap")
        for compiler in C:
            build(compiler, "-I", self.directory, SOURCES / "calls.c", "-o", self.program)
            self.assertEqual(self.last_line(self.program, agent=True), RECORDED)

    def test_find_package(self):
        (self.directory / "CMakeLists.txt").write_text(PROJECT)
        for source in ("calls.c", "calls.cc"):
            shutil.copy(SOURCES / source, self.directory)
        for compiler in C:
            directory = self.directory / compiler
            settings = [f"-DCMAKE_C_COMPILER={compiler}", f"-DCMAKE_CXX_COMPILER={compiler.replace('gcc', 'g++').replace('clang', 'clang++')}"]
            for step in (["-S", self.directory, "-B", directory, f"-DCMAKE_PREFIX_PATH={self.prefix}", *settings], ["--build", directory]):
                done = run(["cmake", *step])
                self.assertEqual(done.status, 0, str(done))
            self.assertEqual(self.last_line(directory / "alone"), ABSENT)
            self.assertEqual(self.last_line(directory / "alone", agent=True), RECORDED)
            self.assertEqual(self.last_line(directory / "stubs"), STUBBED)
            self.assertEqual(self.last_line(directory / "stubs", agent=True), RECORDED)
            self.assertEqual(self.last_line(directory / "stubs_static"), STUBBED)
            self.assertEqual(self.last_line(directory / "cxx", agent=True), "recording 1 report 0 scan 0 found 5 files 70\n")


if __name__ == "__main__":
    unittest.main()
