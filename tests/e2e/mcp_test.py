# CTEST COST 30
"""`heaptap mcp`, with a client in plain Python: the protocol, the tools, and what neither a client nor a trace can make it read."""
import json
import os
import pathlib
import re
import resource
import shutil
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from api_building import build
from heaptap_test import HEAPTAP, heaptap, run
from mcp_client import Client, Failed

PROGRAM = """\
#include <stdlib.h>
#include <string.h>
static char* kept;
static void* volatile last;
static char* duplicate(const char* text) {
  char* copy = malloc(strlen(text) + 100);
  return strcpy(copy, text);
}
int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "lose";
  kept = malloc(50);
  for (int i = 0; strcmp(how, "skip") != 0 && i < 10; ++i) {
    char* copy = duplicate("hello");
    last = copy;
    if (strcmp(how, "free") == 0) free(copy);
  }
  last = NULL;
  if (strcmp(how, "twice") == 0) free(kept), kept = realloc(NULL, 60);
  return 0;
}
"""


class Mcp(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.traces = self.directory / "traces"
        self.code = self.directory / "code"
        self.traces.mkdir()
        self.code.mkdir()
        self.program = self.build(PROGRAM, "lose")

    def build(self, source, name, compiler="gcc"):
        """Another program, of this source."""
        suffix = "cc" if compiler == "g++" else "c"
        (self.code / f"{name}.{suffix}").write_text(source)
        build(f"{compiler} -g -O0 -w", self.code / f"{name}.{suffix}", "-o", self.code / name)
        return self.code / name

    def record(self, name, *arguments, options=(), program=None):
        outcome = heaptap("run", "-q", *options, "-o", self.traces / name, "--", program or self.program, *arguments, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))

    def serve(self, *arguments, **options):
        client = Client(*(arguments or (self.traces,)), cwd=self.directory, **options)
        self.addCleanup(client.__exit__)
        return client

    def whole_text(self, client, tool, **arguments):
        """All pages of an answer."""
        whole, cursor = "", {}
        while cursor is not None:
            body, mark, rest = client.text(tool, **arguments, **cursor).partition("[bytes ")
            cursor = {"cursor": int(rest.rpartition("=")[2].rstrip("]\n"))} if mark else None
            whole += body
        return whole

    def stack_in(self, client, recording):
        """The number of the stack that lost most."""
        listed = client.text("suspects", recording=recording)
        return int(listed[listed.index("\n  #") + 4:].split()[0])


class Protocol(Mcp):
    def test_it_speaks_to_the_end_of_its_input_and_prints_nothing_else(self):
        client = self.serve()
        self.assertEqual((client.facts["protocolVersion"], client.facts["serverInfo"]["name"]), ("2025-06-18", "heaptap"))
        self.assertEqual(client.ask("ping"), {})
        names = [tool["name"] for tool in client.ask("tools/list")["tools"]]
        self.assertEqual(names, ["list_recordings", "suspects", "why", "source", "growth", "diff", "verify_fix"])
        self.assertEqual(client.close(), (0, b"", b""))

    def test_hostile_lines_are_answered_by_errors(self):
        client = self.serve()
        lines = [(b"{" * 500_000, -32700), (b"[" * 500_000, -32700), (b'"\xff\xfe"', -32700), (b"\0" * 100, -32700), (b"a" * 3_000_000, -32600),
                 (b"[]", -32600), (b"7", -32600), (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', -32600),
                 (b'{"jsonrpc":"2.0","id":1,"method":"rm"}', -32601), (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{}}}', -32602)]
        for line, code in lines:
            client.send(line)
            self.assertEqual(client.receive()["error"]["code"], code, line[:60])
        for arguments in ({}, {"recording": 1}, {"recording": ["a"]}, {"recording": "a", "process": -1}, {"recording": "a", "more": 1}):
            with self.assertRaises(Failed) as caught:
                client.call("suspects", **arguments)
            self.assertEqual(caught.exception.code, -32602, arguments)
        self.assertEqual(client.ask("ping"), {})
        self.assertEqual(client.close(), (0, b"", b""))

    def test_a_line_that_ends_with_the_input_is_answered(self):
        outcome = run([HEAPTAP, "mcp"], stdin=b'{"jsonrpc":"2.0","id":"a","method":"ping"}', cwd=self.directory)
        self.assertEqual((outcome.status, json.loads(outcome.stdout)), (0, {"jsonrpc": "2.0", "id": "a", "result": {}}))

    def test_wrong_usage(self):
        for arguments in (("nowhere",), ("--sources", "nowhere"), ("code/lose.c",)):
            outcome = heaptap("mcp", *arguments, cwd=self.directory)
            self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))
        self.assertEqual(heaptap("mcp", "--unknown", cwd=self.directory).status, 2)


class Tools(Mcp):
    def test_verdicts(self):
        self.record("lose.htap")
        self.record("free.htap", "free")
        self.record("unscanned.htap", "free", options=["--no-leak-scan"])
        (self.traces / "cut.htap").write_bytes((self.traces / "free.htap").read_bytes()[:-100])
        client = self.serve()
        for name, verdict in (("lose", "leaks"), ("free", "clean"), ("unscanned", "unknown"), ("cut", "unknown")):
            text = client.text("suspects", recording=f"{name}.htap")
            self.assertTrue(text.startswith(f"verdict: {verdict}\n"), text)
        self.assertIn("10 blocks definitely lost at duplicate lose.c:6", client.text("suspects", recording="lose.htap"))

    def test_a_verdict_promises_nothing_about_check(self):
        """`check` has suppressions and limits of the user's settings, which a verdict on the recording alone doesn't have."""
        self.record("lose.htap")
        (self.directory / "heaptap.supp").write_text("leak:duplicate\n")
        (self.directory / ".heaptap").write_text("[check]\nsuppressions heaptap.supp\n")
        checked = heaptap("check", "-q", "--max-leaked", "0", self.traces / "lose.htap", cwd=self.directory)
        text = self.serve().text("suspects", recording="lose.htap")
        self.assertEqual((checked.status, text.splitlines()[0]), (0, "verdict: leaks"), f"{checked}\n{text}")

    def test_a_bad_release_is_not_clean(self):
        program = self.build("#include <cstdlib>\nint main() { std::free(new int); }\n", "bad", "g++")
        self.record("bad.htap", options=["--sanity"], program=program)
        self.assertTrue(self.serve().text("suspects", recording="bad.htap").startswith("verdict: bad frees"))

    def test_recordings_are_listed_the_newest_first(self):
        client = self.serve()
        self.assertIn("no recording", client.refusal("list_recordings"))
        self.record("a.htap")
        self.record("b.htap", "free")
        (self.traces / "notes.txt").write_text("no recording")
        os.utime(self.traces / "a.htap", (0, 0))
        first, second = client.text("list_recordings").splitlines()
        self.assertRegex(first, r"^b\.htap  \S+Z  \S+ KiB  lose \(pid \d+\) exited with 0$")
        self.assertRegex(second, r"^a\.htap  1970-01-01T00:00:00Z  ")
        self.assertEqual(client.text("list_recordings", match="b.h").splitlines(), [first])

    def test_the_newest_of_very_many_are_listed(self):
        for number in range(10_050):
            (self.traces / f"{number}.htap").touch()
            os.utime(self.traces / f"{number}.htap", (number, number))
        lines = self.whole_text(self.serve(), "list_recordings").splitlines()
        self.assertEqual([line.split()[0] for line in lines[:100]], [f"{number}.htap" for number in range(10_049, 9_949, -1)])
        self.assertEqual(lines[100:], ["9950 older ones aren't listed"])

    def test_directories_that_are_not_listed_are_told(self):
        self.record("a.htap")
        deep = self.traces.joinpath(*["d"] * 60)
        deep.mkdir(parents=True)
        shutil.copy(self.traces / "a.htap", deep / "z.htap")
        client = self.serve()
        resource.prlimit(client.process.pid, resource.RLIMIT_NOFILE, (40, 40))
        text = client.text("list_recordings")
        self.assertIn("the list is incomplete: can't read a directory: Too many open files", text)
        self.assertIn("list_recordings", client.refusal("suspects", recording="z.htap"))
        self.assertIn("the list is incomplete", client.refusal("list_recordings", match="z.htap"))

    def test_why_source_growth_and_diff(self):
        self.record("a.htap")
        self.record("b.htap", "free")
        client = self.serve(self.traces, "--sources", self.code)
        stack = self.stack_in(client, "a.htap")
        self.assertIn("Nothing points to it", client.text("why", recording="a.htap", block=f"#{stack}"))
        text = client.text("source", recording="a.htap", stack=stack, around=1)
        self.assertIn(">     6    char* copy = malloc(strlen(text) + 100);\n      7    return strcpy(copy, text);", text)
        self.assertIn(">    13      char* copy = duplicate", text)
        self.assertRegex(client.text("growth", recording="a.htap", **{"from": "start"}), r"\+1\.0 KiB .* #\d+  duplicate lose\.c:6")
        text = client.text("diff", before="a.htap", after="b.htap", sort="leaked")
        self.assertIn("Stacks by change of leaked", text)
        self.assertRegex(text, r"-1\.0 KiB .*duplicate lose\.c:6")
        for tool, arguments in (("why", {"block": "x"}), ("source", {"stack": 999}), ("source", {"stack": 1, "around": 99}),
                                ("growth", {"from": "no such mark"}), ("suspects", {"process": 1})):
            self.assertTrue(client.refusal(tool, recording="a.htap", **arguments), tool)
        self.assertTrue(client.refusal("diff", before="a.htap", after="b.htap", function="("))

    def test_a_fix_is_gone_still_there_or_unknown(self):
        self.record("before.htap")
        for name, how, options in (("fixed", "free", []), ("same", "lose", []), ("skipped", "skip", []), ("unscanned", "free", ["--no-leak-scan"])):
            self.record(f"{name}.htap", how, options=options)
        client = self.serve()
        stack = self.stack_in(client, "before.htap")
        for name, verdict in (("fixed", "gone"), ("same", "still there"), ("skipped", "unknown"), ("unscanned", "unknown")):
            for question in ({"stack": stack}, {"function": "duplicate"}):
                text = client.text("verify_fix", before="before.htap", after=f"{name}.htap", **question)
                self.assertEqual(text.splitlines()[0], f"verdict: {verdict}", text)
        text = client.text("verify_fix", before="fixed.htap", after="fixed.htap", function="duplicate")
        self.assertTrue(text.startswith("verdict: unknown\n"), text)
        for question in ({}, {"stack": stack, "function": "duplicate"}, {"stack": 0}):
            self.assertTrue(client.refusal("verify_fix", before="before.htap", after="fixed.htap", **question))

    def test_a_fix_that_moves_the_code_is_seen(self):
        self.record("before.htap")
        fixed = PROGRAM.replace("static void* volatile", "\n\n/* moved */\nstatic void* volatile").replace('if (strcmp(how, "free") == 0) free', "free")
        client = self.serve(self.traces, "--symbols", self.traces)
        stack = self.stack_in(client, "before.htap")
        shutil.copy(self.program, self.traces)
        self.program.unlink()
        self.build(fixed, "lose")
        self.record("after.htap")
        question = {"before": "before.htap", "after": "after.htap", "stack": stack}
        self.assertTrue(client.text("verify_fix", **question).startswith("verdict: gone\n"))
        (self.traces / "lose").unlink()
        text = client.text("verify_fix", **question)
        self.assertTrue(text.startswith("verdict: unknown\n"), text)
        self.assertIn("was replaced since the trace was recorded", text)

    def test_one_of_several_processes(self):
        outcome = heaptap("run", "-q", "-f", "-o", self.traces / "all.htap", "--", "sh", "-c", f"{self.program} free; {self.program}; exit 0", cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        client = self.serve()
        (index,) = self.traces.glob("*.run")
        self.assertTrue(client.text("suspects", recording=index.name).startswith("verdict: leaks"))
        verdicts = []
        for line in index.read_text().splitlines()[1:]:
            pid, _, _, program, *_ = line.split()
            if program == "lose":
                verdicts.append(client.text("suspects", recording=index.name, process=int(pid)).split()[1])
        self.assertEqual(sorted(verdicts), ["clean", "leaks"])

    def test_long_answers_come_in_pages(self):
        functions = "".join(f"static void __attribute__((noinline)) lose_{i}(void) {{ last = malloc({i + 1}); }}\n" for i in range(150))
        calls = "".join(f"  lose_{i}();\n" for i in range(150))
        program = self.build(f"#include <stdlib.h>\nvoid* volatile last;\n{functions}int main(void) {{\n{calls}  last = 0;\n}}\n", "many")
        self.record("many.htap", program=program)
        client = self.serve()
        whole, cursor, pages = "", {}, 0
        while cursor is not None:
            page = client.text("suspects", recording="many.htap", **cursor)
            body, mark, rest = page.partition("[bytes ")
            cursor = {"cursor": int(rest.rpartition("=")[2].rstrip("]\n"))} if mark else None
            whole += body
            pages += 1
        self.assertGreater(pages, 1)
        self.assertEqual(len(set(line.split()[0] for line in whole.splitlines() if line.startswith("  #"))), 100)
        with self.assertRaises(Failed):
            client.call("suspects", recording="many.htap", cursor=10_000_000)


class Strangers(Mcp):
    """Names in requests, in traces and in the directory lead nowhere else."""

    def test_recordings_elsewhere_are_refused(self):
        self.record("in.htap")
        shutil.copy(self.traces / "in.htap", self.directory / "out.htap")
        (self.traces / "link.htap").symlink_to(self.directory / "out.htap")
        (self.traces / "in_link.htap").symlink_to("in.htap")
        (self.traces / "up").symlink_to(self.directory)
        (self.traces / "secret.txt").write_text("root:x:0:0")
        (self.traces / "linked.htap").symlink_to("secret.txt")
        os.mkfifo(self.traces / "fifo.htap")
        (self.traces / "directory.htap").mkdir()
        (self.traces / "text.htap").write_text("root:x:0:0")
        (self.traces / "index.run").write_text("heaptap-run 1\n1 0 ../out.htap lose 1\n")
        (self.traces / "index.htap").write_text("heaptap-run 1\n1 0 %2Fetc%2Fpasswd lose 1\n")
        (self.traces / "index_of_index.run").write_text("heaptap-run 1\n1 0 index.htap lose 1\n")
        client = self.serve()
        for name in ("../out.htap", str(self.directory / "out.htap"), "link.htap", "up/out.htap", "linked.htap", "secret.txt", "fifo.htap",
                     "directory.htap", "text.htap", "/etc/passwd", "", ".", "..", "index.run", "index.htap", "index_of_index.run", "a" * 4000, "nowhere.htap"):
            for tool, arguments in (("suspects", {"recording": name}), ("source", {"recording": name, "stack": 1}), ("diff", {"before": "in.htap", "after": name})):
                text = client.refusal(tool, **arguments)
                self.assertNotIn("root:", text)
        for name in ("in.htap", "in_link.htap", "./in.htap", str(self.traces / "in.htap"), "traces/in.htap"):
            self.assertTrue(client.text("suspects", recording=name).startswith("verdict: leaks"))
        listed = client.text("list_recordings")
        self.assertEqual({line.split()[0] for line in listed.splitlines()}, {"in.htap", "text.htap", "index.run", "index.htap", "index_of_index.run"})
        self.assertEqual(client.close()[0], 0)

    def test_an_index_is_checked_by_what_is_opened(self):
        """Where the directory is relative, the traces of an index aren't looked up below it a second time."""
        self.record("in.htap")
        shutil.copy(self.traces / "in.htap", self.directory / "out.htap")
        (self.traces / "traces").mkdir()
        for name in ("x.htap", "y.htap"):
            shutil.copy(self.traces / "in.htap", self.traces / "traces" / name)
        (self.traces / "x.htap").symlink_to(self.directory / "out.htap")
        (self.traces / "y.htap").write_text("heaptap-run 1\n1 0 ../out.htap lose 1\n")
        for name, cause in (("x", "is not below the directory"), ("y", "names an index in place of a trace")):
            (self.traces / f"{name}.run").write_text(f"heaptap-run 1\n1 0 {name}.htap lose 1\n")
            for directory in ("traces", "./traces", "code/../traces", self.traces):
                self.assertIn(cause, self.serve(directory).refusal("suspects", recording=f"{name}.run"), f"{name} {directory}")
        pid = re.search(r"in\.htap .*\(pid (\d+)\)", self.serve("traces").text("list_recordings"))[1]
        (self.traces / "in.run").write_text(f"heaptap-run 1\n{pid} 0 in.htap lose 1\n")
        self.assertTrue(self.serve("traces").text("suspects", recording="in.run").startswith("verdict: leaks"))

    def test_names_are_escaped(self):
        name = "a\x1b[31m\n\u202eb.htap"
        (self.traces / name).write_text("nothing")
        client = self.serve()
        for text in (client.text("list_recordings"), client.refusal("suspects", recording=name), client.refusal("suspects", recording="\x1b[31m")):
            self.assertIn("\\x1b[31m", text)
            self.assertFalse({"\x1b", "\u202e"} & set(text), text)

    def test_source_files_elsewhere_are_not_read(self):
        self.record("a.htap")
        client = self.serve()
        stack = self.stack_in(client, "a.htap")
        text = client.text("source", recording="a.htap", stack=stack)
        self.assertIn("lose.c:6", text)
        self.assertNotIn("strlen", text)
        self.assertIn("--sources", text)

    def test_debug_information_cannot_name_any_file(self):
        """A trace's program may say that its code is in any file."""
        secret = self.directory / "secret.c"
        secret.write_text("the secret line\n" * 9)
        places = {"absolute": str(secret), "up": "../secret.c", "link": "link.c", "no_source": "notes.txt", "fifo": "fifo.c", "shadow": "/etc/passwd"}
        (self.code / "link.c").symlink_to(secret)
        (self.code / "notes.txt").write_text("the secret line\n" * 9)
        os.mkfifo(self.code / "fifo.c")
        for name, place in places.items():
            source = f'#include <stdlib.h>\nvoid* volatile last;\nint main(void) {{\n#line 1 "{place}"\n  last = malloc(9); last = 0; }}\n'
            self.record(f"{name}.htap", program=self.build(source, f"lying_{name}"))
        client = self.serve(self.traces, "--sources", self.code)
        for name in places:
            text = client.text("source", recording=f"{name}.htap", stack=1)
            self.assertIn(":1\n", text)
            self.assertNotIn("secret line", text, name)
            self.assertNotIn("root:", text, name)

    def test_why_a_source_file_is_not_read(self):
        large, directory = self.code / "large.c", self.code / "directory.c"
        large.write_bytes(b"\n" * ((8 << 20) + 1))
        directory.mkdir()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.code / "socket.c"))
            causes = {"large": "larger than 8 MiB", "directory": "not a regular file", "socket": "can't be opened: No such device or address"}
            for name in causes:
                source = f'#include <stdlib.h>\nvoid* volatile last;\nint main(void) {{\n#line 1 "{self.code}/{name}.c"\n  last = malloc(9); last = 0; }}\n'
                self.record(f"{name}.htap", program=self.build(source, f"of_{name}"))
            client = self.serve(self.traces, "--sources", self.code)
            for name, cause in causes.items():
                self.assertIn(cause, client.text("source", recording=f"{name}.htap", stack=1))

    def test_a_file_that_changed_is_told(self):
        self.record("a.htap")
        os.utime(self.code / "lose.c", (4_000_000_000, 4_000_000_000))
        client = self.serve(self.traces, "--sources", self.code)
        text = client.text("source", recording="a.htap", stack=self.stack_in(client, "a.htap"))
        self.assertIn("changed after the recording", text)


del Mcp

if __name__ == "__main__":
    unittest.main()
