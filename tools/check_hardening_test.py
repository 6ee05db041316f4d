#!/usr/bin/env python3
"""The check of hardening finds each flag that went."""

import contextlib
import io
import pathlib
import subprocess
import tempfile
import unittest

import check_hardening

SOURCE = """
#include <string.h>
#include <unistd.h>
namespace ours {
struct Text { char bytes[64]; };
Text last;
__attribute__((noinline)) void keep(const char* from, unsigned long count) {
  char copy[64];
  memcpy(copy, from, count);
  memcpy(last.bytes, copy, sizeof(copy));
}
}
#ifdef WRITTEN_CODE
asm(".section .patched, \\"awx\\"; .byte 0; .text");
#endif
int main(int count, char** words) {
  ours::keep(words[0], static_cast<unsigned long>(count));
  return ours::last.bytes[1] == 0;
}
"""
RIGHT = ("-O2", "-fPIE", "-pie", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now,-z,noexecstack")


class CheckHardening(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        (self.directory / "main.cc").write_text(SOURCE)

    def said_of(self, *flags, options=()):
        program = str(self.directory / "program")
        built = subprocess.run(["c++", *flags, "-o", program, self.directory / "main.cc"], stderr=subprocess.PIPE)
        self.assertEqual(built.returncode, 0, built.stderr.decode())
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = check_hardening.main([*options, "--guarded", "ours::=1", "--checked", "ours::=1", program])
        self.assertEqual(status, 1 if said.getvalue() else 0)
        return said.getvalue()

    def test_what_has_all_is_right(self):
        self.assertEqual(self.said_of(*RIGHT), "")
        self.assertEqual(self.said_of(*(flag for flag in RIGHT if flag != "-pie"), "-static-pie", options=["--static"]), "")

    def test_each_flag_that_went_is_found(self):
        for flags, expected in ((("-no-pie", "-fno-pie"), "not position independent"),
                                (("-Wl,-z,norelro",), "leaves what the loader fills in writable"),
                                (("-Wl,-z,lazy",), "leaves addresses of functions writable"),
                                (("-Wl,-z,execstack",), "has a stack that is executed"),
                                (("-DWRITTEN_CODE",), "both written and executed"),
                                (("-fno-stack-protector",), "0 functions of ours:: that guard their stacks"),
                                (("-U_FORTIFY_SOURCE",), "0 functions of ours:: that check sizes")):
            self.assertIn(expected, self.said_of(*RIGHT, *flags), flags)
        self.assertIn("was to be static", self.said_of(*RIGHT, options=["--static"]))


if __name__ == "__main__":
    unittest.main()
