"""What a terminal shows while symbols are downloaded, from a server that is made here; and that Ctrl-C ends that."""
import http.server
import os
import pathlib
import re
import signal
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
import terminal
from heaptap_test import heaptap

SOURCE = """
#include <stdlib.h>
void* kept;
__attribute__((noinline)) void* a_function_of_the_debug_file(void) { return malloc(1234); }
int main(void) { kept = a_function_of_the_debug_file(); return 0; }
"""


class Server(http.server.ThreadingHTTPServer):
    """Gives the debug file in pieces, and goes on with the second half when it is told to."""

    def __init__(self, build_id, content):
        self.build_id, self.content, self.may_go_on, self.asked = build_id, content, threading.Event(), threading.Event()
        super().__init__(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != f"/buildid/{self.server.build_id}/debuginfo":
            self.send_error(404)
            return
        content = self.server.content
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        try:
            self.wfile.write(content[:len(content) // 2])
            self.wfile.flush()
            self.server.asked.set()
            self.server.may_go_on.wait()
            self.wfile.write(content[len(content) // 2:])
        except OSError:
            pass  # the client has gone

    def log_message(self, *_):
        pass


@unittest.skipUnless(heaptap_test.has_library("libdebuginfod.so.1"), "libdebuginfod isn't installed")
class Progress(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        source, program, debug = self.directory / "app.c", self.directory / "app", self.directory / "app.debug"
        source.write_text(SOURCE)
        for command in (["gcc", "-w", "-g3", "-O1", "-Wl,--build-id", "-o", program, source], ["objcopy", "--only-keep-debug", program, debug],
                        ["strip", program]):
            outcome = heaptap_test.run(command)
            self.assertEqual(outcome.status, 0, str(outcome))
        notes = heaptap_test.run(["readelf", "-n", program]).stdout.decode()
        self.server = Server(re.search(r"Build ID: (\w+)", notes)[1], debug.read_bytes() + b"\0" * (3 << 20))
        debug.unlink()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.server.may_go_on.set)
        outcome = heaptap("run", "-q", "-o", self.trace, "--", program, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.cache = self.directory / "cache"

    def start(self, *arguments):
        """With stdout elsewhere: the terminal shows the progress alone."""
        return terminal.start_on_terminal(*arguments, stdout=False, stderr=True, cwd=self.directory, columns=80, DEBUGINFOD_URLS=self.server.url(),
                                          DEBUGINFOD_CACHE_PATH=str(self.cache), DEBUGINFOD_TIMEOUT="90", DEBUGINFOD_PROGRESS="")

    def read_until_download(self, inner):
        seen = b""
        for piece in terminal.pieces_of(inner):
            seen += piece
            if re.search(rb"downloading symbols of app: 1\.5 MiB of 3\.0 MiB", seen):
                return seen
        self.fail(f"no progress of the download: {seen}")

    COMMANDS = {
        "show": ("show", "top", "--debuginfod"),
        "report": ("report", "--debuginfod", "-o", "out.html"),
        "export": ("export", "--to", "folded", "--debuginfod", "-o", "out.folded"),
        "diff": ("diff", "--debuginfod"),
    }

    def arguments(self, name):
        return [*self.COMMANDS[name], self.trace, *([self.trace] if name == "diff" else [])]

    def test_downloads_show_their_size(self):
        for name in self.COMMANDS:
            with self.subTest(command=name):
                self.cache = self.directory / f"cache-{name}"
                self.server.may_go_on.clear()
                process, inner = self.start(*self.arguments(name))
                shown = self.read_until_download(inner)
                self.server.may_go_on.set()
                shown += b"".join(terminal.pieces_of(inner))
                os.close(inner)
                output = process.communicate()[0]
                self.assertEqual(process.returncode, 0, shown)
                for line in re.split(rb"[\r\n]", shown):
                    self.assertLess(terminal.display_width(line.decode()), 80, line)
                self.assertRegex(shown, rb"\r\x1b\[K(?!heaptap: downloading)[^\r]*(\r\n)?$")
                told = output + b"".join(file.read_bytes() for file in self.directory.glob("out.*"))
                if name != "report":
                    self.assertIn(b"a_function_of_the_debug_file", told)

    def test_an_interruption_ends_it_and_leaves_nothing(self):
        for name in self.COMMANDS:
            with self.subTest(command=name):
                self.cache = self.directory / f"interrupted-{name}"
                process, inner = self.start(*self.arguments(name))
                self.read_until_download(inner)
                process.send_signal(signal.SIGINT)
                rest = b"".join(terminal.pieces_of(inner))
                os.close(inner)
                process.communicate()
                self.assertEqual(process.returncode, -signal.SIGINT, rest)
                self.assertTrue(rest.endswith(b"\r\x1b[K"), rest)
                self.assertEqual(list(self.directory.glob("out.*")), [])
                left = [file for file in self.cache.rglob("*") if file.is_file() and file.stat().st_size > 1000]
                self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
