"""Debug files from a server that is made here: by default where DEBUGINFOD_URLS is set, while the program runs; and servers that hang,
lie, or are gone."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
import terminal
from debug_server import DebugServer, drips, hangs, redirects, sends
from heaptap_test import HEAPTAP, TIMEOUT_S, heaptap
from mcp_client import Client
from waiting import wait_for

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
void* kept;
__attribute__((noinline)) static void* name_of_the_debug_file(void) { return malloc(1234); }
int main(void) { kept = name_of_the_debug_file(); kept = 0; puts("allocated"); fflush(stdout); return getchar() == 'x'; }
"""
NAME = "name_of_the_debug_file"


@unittest.skipUnless(heaptap_test.has_library("libdebuginfod.so.1"), "libdebuginfod isn't installed")
class Servers(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.program, self.cache = self.directory / "app", self.directory / "cache"
        self.debug, self.build_id = self.build(self.program)

    def build(self, program, text=SOURCE):
        """The content of its debug file, which isn't left on this machine, and its build-id."""
        source, debug = program.with_suffix(".c"), program.with_suffix(".debug")
        source.write_text(text)
        for command in (["gcc", "-w", "-g3", "-O1", "-Wl,--build-id", "-o", program, source],
                        ["objcopy", "--only-keep-debug", program, debug], ["strip", program]):
            outcome = heaptap_test.run(command)
            self.assertEqual(outcome.status, 0, str(outcome))
        content = debug.read_bytes()
        debug.unlink()
        notes = heaptap_test.run(["readelf", "-n", program]).stdout.decode()
        return content, re.search(r"Build ID: (\w+)", notes)[1]

    def serve(self, answer):
        server = DebugServer(self.build_id, answer)
        self.addCleanup(server.close)
        return server

    def requests_of(self, server):
        return [path for path in server.requests if self.build_id in path]

    def environment(self, url, **more):
        return {**os.environ, "DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(self.cache), "DEBUGINFOD_TIMEOUT": "90",
                "HEAPTAP_TEST_INTERVALS": "reach=200ms", **more}

    def record(self):
        outcome = heaptap("run", "-q", "-o", self.trace, "--", self.program, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))

    def show(self, url, *options, **more):
        outcome = heaptap_test.run([HEAPTAP, "show", "top", self.trace, *options], env=self.environment(url, **more), cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return outcome.stdout.decode()

    def test_servers_are_asked_where_they_are_set(self):
        self.record()
        server = self.serve(sends(self.debug))
        self.assertNotIn(NAME, self.show(server.url(), "--no-debuginfod"))
        self.assertEqual(server.requests, [])
        self.assertIn("or set DEBUGINFOD_URLS", self.show(""))
        self.assertIn(NAME, self.show(server.url()))
        before = len(server.requests)
        self.assertIn(NAME, self.show(server.url()))  # it is in the cache
        self.assertFalse([path for path in server.requests[before:] if self.build_id in path])

    def test_an_assistant_has_none_asked_by_default(self):
        self.record()
        server = self.serve(sends(self.debug))
        for options, is_asked in (([], False), (["--debuginfod"], True), (["--no-debuginfod"], False)):
            shutil.rmtree(self.cache, ignore_errors=True)
            server.requests.clear()
            with self.subTest(options), Client(self.directory, *options, cwd=self.directory, env=self.environment(server.url())) as client:
                text = client.text("suspects", recording=self.trace.name)
                self.assertEqual((NAME in text, bool(server.requests), self.cache.exists()), (is_asked, is_asked, is_asked), text)
                hints = {tool["annotations"]["openWorldHint"] for tool in client.ask("tools/list")["tools"]}
                self.assertEqual(hints, {is_asked})

    def start(self, url, *options, **more):
        process = subprocess.Popen([HEAPTAP, "run", *options, "-o", self.trace, "--", self.program], env=self.environment(url, **more),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.directory)
        self.addCleanup(heaptap_test.end, process)
        self.assertEqual(process.stdout.readline(), b"allocated\n")
        return process

    def end(self, process):
        told = process.communicate(b"\n", timeout=TIMEOUT_S)[1].decode()
        self.assertEqual(process.returncode, 0, told)
        return told

    def test_the_end_finds_what_was_fetched_while_the_program_ran(self):
        server = self.serve(sends(self.debug))
        process = self.start(server.url())
        self.assertTrue(server.done.wait(TIMEOUT_S), "the server wasn't asked while the program ran")
        wait_for("the file to be in the cache", lambda: any(file.stat().st_size == len(self.debug) for file in self.cache.rglob("debuginfo")))
        server.close()
        told = self.end(process)
        self.assertIn(NAME, told)
        self.assertIn("LEAKED 1,234 bytes in 1 block", told)

    def test_without_names_to_print_nothing_is_fetched(self):
        server = self.serve(sends(self.debug))
        for options in (["-q"], ["--no-debuginfod"]):
            with self.subTest(options):
                self.end(self.start(server.url(), "--force", *options))
                self.assertEqual(server.requests, [])

    def test_a_terminal_shows_what_the_end_waits_for(self):
        server = self.serve(sends(self.debug + bytes(1 << 20), len(self.debug) + (3 << 20)))
        process, inner = terminal.start_on_terminal("run", "-o", self.trace, "--", self.program, stdout=False, stderr=True, cwd=self.directory,
                                                    columns=80, **{**self.environment(server.url()), "HEAPTAP_TEST_INTERVALS": ""})
        shown = b""
        for piece in terminal.pieces_of(inner):
            shown += piece
            if re.search(rb"downloading symbols of app: 1\.0 MiB of 3\.0 MiB", shown):
                break
        process.send_signal(2)  # the program has ended: nobody waits for it
        shown += b"".join(terminal.pieces_of(inner))
        os.close(inner)
        process.communicate()
        self.assertEqual(process.returncode, 0, shown)
        self.assertIn(b"LEAKED 1,234 bytes in 1 block", shown)
        self.assertEqual(len(self.requests_of(server)), 1, "it was asked again")

    def test_what_nobody_sees_is_not_waited_for(self):
        server = self.serve(drips)
        process = self.start(server.url())
        self.assertTrue(server.asked.wait(TIMEOUT_S))
        told = self.end(process)
        self.assertIn("heaptap: the symbols of app aren't here yet, which isn't waited for: `heaptap show` asks for them again", told)
        self.assertIn("LEAKED 1,234 bytes in 1 block", told)
        self.assertEqual(len(self.requests_of(server)), 1, "it was asked again")
        self.assertIn(NAME, self.show(self.serve(sends(self.debug)).url()))

    def test_servers_that_lie_hang_or_are_gone(self):
        other = self.directory / "other"
        wrong, _ = self.build(other, SOURCE.replace("1234", "4321"))
        gone = self.serve(hangs)
        gone.close()
        answers = {"another build-id": sends(wrong), "no ELF": sends(b"<html>sign in here</html>" * 100), "nothing": sends(b""),
                   "cut off": sends(self.debug[: len(self.debug) // 2]), "much too large": sends(bytes(1 << 16), 1 << 43), "silence": hangs}
        for name, answer in answers.items():
            with self.subTest(name):
                self.cache = self.directory / f"cache of {name}"
                server = self.serve(answer)
                told = self.end(self.start(server.url(), "--force"))
                self.assertIn("LEAKED 1,234 bytes in 1 block", told)
                self.assertNotIn(NAME, told)
                self.assertTrue(server.asked.is_set())
        with self.subTest("gone"):
            told = self.end(self.start(gone.url(), "--force"))
            self.assertIn("LEAKED 1,234 bytes in 1 block", told)

    def test_a_redirection_is_followed(self):
        self.record()
        self.assertIn(NAME, self.show(self.serve(redirects(self.debug)).url()))

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a directory to another user")
    def test_the_cache_of_another_user_is_left_alone(self):
        self.record()
        server = self.serve(sends(self.debug))
        self.cache.mkdir()
        os.chown(self.cache, 12345, 12345)
        self.assertIn(f"debuginfod isn't asked: {self.cache} belongs to another user", self.show(server.url()))
        self.assertIn('"asked_debuginfod":false', self.show(server.url(), "--json"))
        self.assertEqual((server.requests, list(self.cache.iterdir())), ([], []))
        home = self.directory / "home"
        home.mkdir()
        os.chown(home, 12345, 12345)
        self.assertNotIn(NAME, self.show(server.url(), DEBUGINFOD_CACHE_PATH="", XDG_CACHE_HOME="", HOME=str(home)))
        self.assertEqual(server.requests, [])


if __name__ == "__main__":
    unittest.main()
