# CTEST COST 50
"""A program that speaks to its recording (include/heaptap/heaptap.h): what it says is in the trace and the views, by the agent and
by ptrace; what it asks for happens; and nothing that it says can harm it."""
import gzip
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from api_building import INCLUDE, NAMES, SOURCES, STUBS, build, symbols
from heaptap_test import HEAPTAP, heaptap, run, summary

OPTIONS = "-std=gnu11 -O0 -g -fno-builtin -pthread"
ENOENT, ENOTSUP, ETIMEDOUT = 2, 95, 110


class TestCase(heaptap_test.TestCase):
    via = "agent"
    program = "alone"

    @classmethod
    def setUpClass(cls):
        cls.programs = cls.make_class_directory()
        cls.library = cls.programs / "libheaptap.so.1"
        build("gcc -O2 -fPIC -shared -nostdlib -Wl,-soname,libheaptap.so.1 -I", INCLUDE, STUBS, "-o", cls.library)
        for source, suffix in (("speaks.c", ""), ("pools.c", "_pools")):
            cls.build_ways(SOURCES / source, suffix)

    @classmethod
    def build_ways(cls, source, suffix):
        build("gcc", OPTIONS, "-I", INCLUDE, source, "-o", cls.programs / f"alone{suffix}")
        build("gcc", OPTIONS, "-fno-pie -no-pie -I", INCLUDE, source, "-o", cls.programs / f"no_pie{suffix}")
        build("gcc", OPTIONS, "-DHEAPTAP_STUBS -I", INCLUDE, source, cls.library, "-Wl,-rpath,$ORIGIN -o", cls.programs / f"linked{suffix}")
        build("gcc", OPTIONS, "-static -DHEAPTAP_STUBS -I", INCLUDE, source, STUBS, "-o", cls.programs / f"static{suffix}")

    def speak(self, way, *options, program=None, status=5):
        """What the program printed, and its summary. `way`: its arguments."""
        words = [way] if isinstance(way, str) else way
        done = heaptap("run", "-q", "--via", self.via, "--force", "-o", self.trace, *options, "--", self.programs / (program or self.program),
                       *words, cwd=self.directory)
        self.assertEqual(done.status, status, str(done))
        return done.stdout.decode().splitlines(), summary(self.trace)

    def stacks(self, report, caller):
        """Those whose innermost frame is this function."""
        return [stack for stack in report["stacks"] if stack["frames"] and stack["frames"][0]["function"].split("(")[0] == caller]

    def tags(self, report, caller):
        """Of all its stacks: the tags, and the allocations."""
        found = {}
        for stack in self.stacks(report, caller):
            key = "/".join(stack.get("tags", []))
            found[key] = found.get(key, 0) + stack["allocations"]
        return found

    def marks(self, report):
        return [(mark["kind"], mark["name"]) for mark in report.get("marks", [])]


class Speaking:
    """What holds by the agent and by ptrace."""

    def test_marks_lie_where_they_were_set(self):
        _, report = self.speak("marks")
        self.assertEqual(self.marks(report), [("mark", "one"), ("mark", "two"), ("mark", "two")])
        self.assertEqual({mark["thread"] for mark in report["marks"]}, {1})
        part = json.loads(heaptap("show", "summary", "--json", "--from", "one", "--to", "two:1", self.trace).stdout)
        self.assertEqual((part["totals"]["allocations"], part["totals"]["allocated_bytes"]), (1, 200))

    def test_tags_are_the_threads_and_nest(self):
        _, report = self.speak("tags")
        self.assertEqual(self.tags(report, "get"), {"request": 2, "request/parse": 1, "": 2, "worker": 1})
        by_caller = {stack["frames"][1]["function"]: stack.get("tags", []) for stack in self.stacks(report, "get")
                     if stack["frames"][1]["function"] in ("second", "untagged")}
        self.assertEqual(by_caller, {"second": ["request", "parse"], "untagged": []})

    def test_tags_change_no_totals(self):
        _, report = self.speak("tags")
        stacks = [stack for stack in report["stacks"] if stack["frames"][0]["function"] == "get"]
        self.assertEqual(sum(stack["allocated_bytes"] for stack in stacks), 2 * 1000 + 200 + 2 * 30 + 4000)

    def test_a_thousand_threads(self):
        _, report = self.speak("threads")
        self.assertEqual(self.tags(report, "get"), {f"kind {kind}": 2500 for kind in range(4)})

    def test_switched_off_nothing_is_recorded(self):
        printed, report = self.speak("switch")
        if self.via == "agent":
            self.assertEqual(printed, ["recording 1", "recording 0", "recording 1"])
        self.assertEqual([kind for kind, _ in self.marks(report)], ["off", "on"])
        callers = {stack["frames"][1]["function"] for stack in self.stacks(report, "get")}
        self.assertEqual(callers, {"first", "second"})
        for count in ("bad_frees", "double_frees", "mismatched_frees"):
            self.assertEqual(report["totals"][count], 0, count)

    def test_pools(self):
        printed, report = self.speak("pools")
        self.assertEqual(printed, ["made 1"])
        pools = {}
        for stack in report["stacks"]:
            if stack.get("pool"):
                pool = pools.setdefault(stack["pool"], [0, 0, 0])
                for i, name in enumerate(("allocations", "frees", "live_bytes")):
                    pool[i] += stack[name]
        self.assertEqual(pools, {"arena": [4, 2, 1100], "scratch": [3, 3, 0]})
        totals = report["totals"]
        self.assertEqual((totals["pool_allocations"], totals["pool_live_blocks"], totals["pool_live_bytes"]), (7, 2, 1100))
        self.assertEqual(totals["unknown_pool_frees"], 0)
        inside = [stack for stack in report["stacks"] if stack.get("pool")]
        # The program's function, not one of the header's, is who allocates.
        # (Debug information has the header's function as an inlined frame.)
        callers = {next(frame["function"] for frame in stack["frames"] if not frame["inlined"]) for stack in inside}
        self.assertLessEqual(callers, {"fill_pool", "speak_pools"})
        plain = self.stacks(report, "get")
        self.assertEqual(totals["allocated_bytes"] - sum(stack["allocated_bytes"] for stack in plain if not stack.get("pool")),
                         sum(stack["allocated_bytes"] for stack in report["stacks"]
                             if not stack.get("pool") and stack not in plain and stack["function"] not in ("mmap", "munmap")))

    def pools_in(self, *way):
        """The leaks of pools.c, in memory of this kind: of all live blocks, and of those in pools; each block is in one class."""
        _, report = self.speak(way, program=self.program + "_pools")
        leaks, totals = report["leaks"], report["totals"]
        self.assertTrue(leaks["scanned"], report["notes"])
        for counts, live in ((leaks, "live"), (leaks["pools"], "pool_live")):
            for figure in ("blocks", "bytes"):
                sums = sum(counts[name][figure] for name in ("definite", "indirect", "possible", "reachable", "unknown"))
                self.assertEqual(sums, totals[f"{live}_{figure}"], (way, live, figure))
        return leaks, leaks["pools"]

    def test_blocks_of_pools_are_leaks_and_hold_others(self):
        for memory in ("malloc", "mmap"):
            with self.subTest(memory=memory):
                leaks, pools = self.pools_in(memory)
                self.assertEqual(pools["definite"], {"blocks": 3, "bytes": 300})
                self.assertEqual(pools["reachable"], {"blocks": 2, "bytes": 90})
                self.assertEqual(leaks["definite"], {"blocks": 0, "bytes": 0})  # the memory of the pool is held
                self.assertEqual(leaks["indirect"], {"blocks": 1, "bytes": 70})
                self.assertEqual(leaks["possible"], {"blocks": 0, "bytes": 0})
                self.assertGreaterEqual(leaks["reachable"]["bytes"], 1000)  # by a block of the pool
                self.assertEqual(heaptap("check", "--max-leaked", "370", self.trace).status, 0)
                beyond = heaptap("check", "--max-leaked", "369", self.trace)
                self.assertEqual((beyond.status, beyond.stdout.count(b"300 B in 3 blocks")), (1, 1), str(beyond))  # the pool's stack is named

    def test_memory_of_a_pool_that_is_lost_is_counted_once(self):
        for memory, lost in (("malloc", {"blocks": 3, "bytes": 65536 + 1070}), ("mmap", {"blocks": 2, "bytes": 1070})):
            with self.subTest(memory=memory):
                leaks, pools = self.pools_in(memory, "dropped")
                self.assertEqual((pools["definite"], pools["indirect"]), ({"blocks": 4, "bytes": 340}, {"blocks": 1, "bytes": 50}))
                self.assertEqual((leaks["definite"], leaks["indirect"]), ({"blocks": 0, "bytes": 0}, lost))
                most = lost["bytes"] + (390 if memory == "mmap" else 0)
                self.assertEqual(heaptap("check", "--max-leaked", most, self.trace).status, 0)
                self.assertEqual(heaptap("check", "--max-leaked", most - 1, self.trace).status, 1)

    def test_resources(self):
        _, report = self.speak("resources")
        self.assertEqual(report["totals"]["open_resources"], 2)
        opened = [stack for stack in report["stacks"] if "pool" in stack]
        self.assertEqual({stack["pool"] for stack in opened}, {"textures"})
        self.assertEqual((sum(stack["allocations"] for stack in opened), sum(stack["frees"] for stack in opened)), (3, 1))
        self.assertEqual(report["totals"]["pool_allocations"], 0)

    def test_names_of_blocks(self):
        self.speak("names")
        blocks = heaptap("show", "blocks", self.trace).stdout.decode()
        self.assertIn("the table", blocks)
        self.assertIn("new", blocks)
        self.assertNotIn("old", blocks)

    def test_fork(self):
        _, report = self.speak("fork")
        self.assertEqual(self.marks(report), [("mark", "after the child")])
        self.assertEqual(self.tags(report, "get"), {"parent": 1})

    def test_signals(self):
        _, report = self.speak("signals")
        tags = self.tags(report, "get")
        self.assertEqual(tags[""], 1)
        self.assertEqual(set(tags), {"", "churn"})
        self.assertGreaterEqual(self.marks(report).count(("mark", "signal")), 200)
        self.assertEqual(report["totals"]["pool_live_blocks"], 0)

    def test_nothing_that_is_said_does_harm(self):
        printed, report = self.speak("hostile")
        self.assertEqual(printed, ["unharmed"])
        unkept = [note["count"] for note in report["notes"] if note["kind"] == "labels_not_kept"]
        self.assertEqual(len(unkept), 1, report["notes"])
        self.assertGreaterEqual(unkept[0], 9000)
        alone = [stack.get("tags", []) for stack in self.stacks(report, "get") if stack["frames"][1]["function"] == "untagged"]
        self.assertEqual(alone, [[]])
        names = [name for _, name in self.marks(report)]
        self.assertEqual(len(names), 5)
        self.assertEqual(names[:2] + names[3:4], ["", "", "end"])
        self.assertTrue(set(names[2]) == {"h"} and 100 <= len(names[2]) < 1000)
        for view in ("summary", "top", "leaks", "tree", "blocks", "stats"):
            shown = heaptap("show", view, self.trace)
            self.assertEqual(shown.status, 0, str(shown))
            self.assertNotIn(b"\x1b[31m", shown.stdout)


    def test_report(self):
        (self.directory / "existing.memlog").write_text("x" * 100000)
        printed, _ = self.speak("report")
        self.assertEqual(printed, ["report 0", "report 0", "existing 0", f"nowhere {ENOENT}", "there 1"])
        self.assertNotIn("xxx", (self.directory / "existing.memlog").read_text())  # overwritten
        first, second = ((self.directory / f"{name}.memlog").read_text() for name in ("first", "second"))
        self.assertIn("1000", first)
        self.assertIn("200", second)
        self.assertNotEqual(first, second)

    def test_scan(self):
        printed, report = self.speak("scan")
        self.assertEqual(printed, ["scan 0 definite 3 231 reachable 1", "scan 0 definite 3 guard 7", "scan 0"])
        self.assertEqual(report["leaks"]["definite"], {"blocks": 3, "bytes": 231})


class ByAgent(Speaking, TestCase):
    """And what only the agent can answer."""

    def test_fork_that_is_followed(self):
        _, report = self.speak("fork", "-f")
        children = [path for path in self.directory.glob("*.htap") if path != self.trace and not path.is_symlink()]
        self.assertEqual(len(children), 1)
        child = summary(children[0])
        self.assertEqual(self.marks(child), [("mark", "in the child")])
        self.assertEqual({tags: count for tags, count in self.tags(child, "get").items() if count}, {"parent/child": 1, "parent": 1})
        self.assertEqual(self.tags(report, "get"), {"parent": 1})

    def test_pools_of_several_processes(self):
        program = self.programs / f"{self.program}_pools"
        done = heaptap("run", "-q", "-f", "--force", "-o", self.trace, "--", "sh", "-c", '"$0" malloc; "$0" mmap; true', program, cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))
        every = self.trace.with_suffix(".run")
        leaks = json.loads(heaptap("show", "leaks", "--json", every).stdout)["leaks"]
        self.assertEqual(leaks["pools"]["definite"], {"blocks": 6, "bytes": 600})
        self.assertEqual(heaptap("check", "--max-leaked", "740", every).status, 0)
        self.assertEqual(heaptap("check", "--max-leaked", "739", every).status, 1)

    def test_the_agent_has_all_functions(self):
        agent = pathlib.Path(HEAPTAP).resolve().parent / "libheaptap_agent.so"
        found = {name for kind, name in symbols(agent, "-D") if kind == "T"}
        self.assertEqual(sorted(name for name in found if name.startswith("heaptap_")), NAMES)

    def test_a_plugin_speaks(self):
        plugin = self.directory / "plugin.so"
        build("gcc -shared -fPIC -I", INCLUDE, SOURCES / "plugin.c", "-o", plugin)
        build("gcc", SOURCES / "loads_plugin.c", "-ldl -o", self.directory / "program")
        done = heaptap("run", "-q", "-o", self.trace, "--", self.directory / "program", plugin)
        self.assertEqual(done.status, 1, str(done))
        self.assertEqual(self.marks(summary(self.trace)), [("mark", "from the plugin")])

    def test_aggregated_marks_and_hostile_calls(self):
        printed, _ = self.speak("hostile", "--aggregate")
        self.assertEqual(printed, ["unharmed"])


class Views(TestCase):
    """What is shown by tags and pools; the figures are those of the stacks."""

    def show(self, *arguments, status=0):
        done = heaptap("show", *arguments, self.trace)
        self.assertEqual(done.status, status, str(done))
        return done.stdout.decode()

    def totals(self, *filters):
        totals = json.loads(self.show("summary", "--json", *filters))["totals"]
        return totals["allocations"], totals["allocated_bytes"]

    def test_only_what_has_a_tag(self):
        self.speak("tags")
        own = ("--function", "^get$")  # without what pthread_create allocates
        self.assertEqual(self.totals("--tag", "request", *own), (3, 2200))
        self.assertEqual(self.totals("--tag", "^parse$", *own), (1, 200))
        self.assertEqual(self.totals("--tag", "request/parse", *own), (1, 200))
        self.assertEqual(self.totals("--tag", "request", "--tag", "parse", *own), (1, 200))
        self.assertEqual(self.totals("--tag", "parse", "--tag", "worker"), (0, 0))
        self.assertEqual(self.totals("--tag", "w.*r", "--function", "third"), (1, 30))
        self.assertIn("only: tag request", self.show("top", "--tag", "request"))
        for view in ("leaks", "tree", "blocks", "stats", "sizes", "lifetimes", "timeline"):
            self.show(view, "--tag", "request")

    def test_a_table_of_tags_adds_up(self):
        _, report = self.speak("tags")
        tags = json.loads(self.show("top", "--by", "tag", "--json"))
        self.assertEqual(tags["format"], "heaptap-tags")
        by_path = {"/".join(entry["tags"]): entry for entry in tags["tags"]}
        self.assertEqual(set(by_path), {"", "request", "request/parse", "worker"})
        self.assertEqual((by_path["request"]["allocations"], by_path["request"]["allocated_bytes"]), (2, 2000))
        for figure in ("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes"):
            self.assertEqual(sum(entry[figure] for entry in tags["tags"]), report["totals"][figure], figure)
        text = self.show("top", "--by", "tag")
        self.assertRegex(text, r"(?m)^.* request/parse$")
        self.assertIn("(no tag)", text)

    def test_a_table_of_pools(self):
        self.speak("pools")
        pools = json.loads(self.show("summary", "--by", "pool", "--json"))
        self.assertEqual({entry["pool"]: (entry["allocations"], entry["frees"], entry["live_bytes"]) for entry in pools["pools"]},
                         {"arena": (4, 2, 1100), "scratch": (3, 3, 0)})
        self.assertRegex(self.show("top", "--by", "pool"), r"(?m)^ +1\.1 KiB +2 .* arena$")

    def test_stacks_say_their_tags_and_pools(self):
        self.speak("tags")
        self.assertIn("tag: request/parse\n", self.show("summary"))
        self.assertIn("[tag: request/parse]", self.show("top"))
        self.speak("pools")
        self.assertIn("pool: arena\n", self.show("summary"))

    def test_exports(self):
        self.speak("tags")
        table = self.directory / "tags.sqlite"
        self.assertEqual(heaptap("export", "--to", "sqlite", "-o", table, self.trace).status, 0)
        with sqlite3.connect(table) as database:
            rows = dict(database.execute("SELECT tags, SUM(allocated_bytes) FROM stacks WHERE tags IS NOT NULL AND function = 'malloc' GROUP BY tags"))
        self.assertEqual(rows, {"request": 2000, "request/parse": 200, "worker": 30})
        head, *lines = heaptap("export", "--to", "csv", self.trace).stdout.decode().splitlines()
        self.assertTrue(head.endswith(",pooled,pool,tags,reserved_bytes"))
        self.assertEqual(sum(line.endswith(',0,"","request/parse",0') for line in lines), 2)
        profile = gzip.decompress(heaptap("export", "--to", "pprof", self.trace).stdout)
        for word in (b"tag", b"request", b"parse", b"worker"):
            self.assertIn(b"\x32" + bytes([len(word)]) + word, profile)  # the table of texts


class ByAgentNotPositionIndependent(ByAgent):
    program = "no_pie"


class ByAgentBeforeTheLibrary(ByAgent):
    program = "linked"


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap has no tracer")
class ByPtrace(Speaking, TestCase):
    via = "ptrace"
    program = "linked"

    def test_a_thousand_threads(self):
        if not heaptap_test.LONG:
            self.skipTest("tens of thousands of stops")
        super().test_a_thousand_threads()

    def asking(self, *options):
        """A program that asks on demand, and the heaptap that records it."""
        asks = self.directory / "asks"
        build("gcc", OPTIONS, "-static -DHEAPTAP_STUBS -I", INCLUDE, SOURCES / "asks.c", STUBS, "-o", asks)
        recorder = subprocess.Popen([HEAPTAP, "run", "-q", "--via", "ptrace", "-o", self.trace, *options, "--", asks], cwd=self.directory,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.stdout.close)
        self.addCleanup(recorder.stdin.close)
        self.addCleanup(heaptap_test.end, recorder)
        return recorder

    def ask(self, recorder, question):
        recorder.stdin.write(question + b"\n")
        recorder.stdin.flush()
        return recorder.stdout.readline().split()[1:]

    def test_each_thread_is_answered(self):
        recorder = self.asking()
        for question, answer in ((b"i", [b"1", b"0"]), (b"o", [b"0", b"0"]), (b"s", [b"0", b"1"]), (b"r", [b"0", b"0"]),
                                 (b"i2", [b"1", b"0"]), (b"s2", [b"0", b"1"]), (b"r2", [b"0", b"0"]), (b"i", [b"1", b"0"])):
            self.assertEqual(self.ask(recorder, question), answer, question)
        recorder.stdin.close()
        self.assertEqual(recorder.wait(), 5)
        self.assertTrue((self.directory / "asked.memlog").exists())

    def test_who_asks_goes_on_without_heaptap(self):
        recorder = self.asking()
        self.assertEqual(self.ask(recorder, b"s"), [b"0", b"1"])
        recorder.send_signal(signal.SIGSTOP)
        self.assertEqual(self.ask(recorder, b"s"), [str(ETIMEDOUT).encode(), b"0"])
        recorder.send_signal(signal.SIGCONT)
        self.assertEqual(self.ask(recorder, b"s"), [b"0", b"1"])
        recorder.send_signal(signal.SIGSTOP)
        recorder.stdin.write(b"s2\n")
        recorder.stdin.flush()
        recorder.kill()
        self.assertIn(recorder.stdout.readline().split()[1], (str(ENOTSUP).encode(), str(ETIMEDOUT).encode()))
        self.assertEqual(self.ask(recorder, b"i"), [b"0", b"0"])  # and goes on

    @unittest.skipUnless(os.geteuid() == 0, "only root can record another user's program")
    def test_no_file_is_opened_with_other_rights_than_the_programs(self):
        self.directory.chmod(0o777)
        recorder = self.asking("--user", "nobody")
        self.assertEqual(self.ask(recorder, b"r"), [str(ENOTSUP).encode(), b"0"])
        self.assertFalse((self.directory / "asked.memlog").exists())
        self.assertEqual(self.ask(recorder, b"s"), [b"0", b"1"])

    def test_a_program_that_has_no_functions_is_unharmed(self):
        printed, report = self.speak("hostile", program="alone")
        self.assertEqual(printed, ["unharmed"])
        self.assertEqual(self.marks(report), [])


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap has no tracer")
class ByPtraceStatic(ByPtrace):
    program = "static"


class WithoutTheHeader(TestCase):
    """Functions that are found by their names: dlsym(), as a program in another language does it."""
    SCRIPT = f"""import ctypes, sys
api = ctypes.CDLL(sys.argv[1] or None)
print(sum(hasattr(api, name) for name in {NAMES}), "found")
if hasattr(api, "heaptap_mark"):
    api.heaptap_pool_create.restype = ctypes.c_uint64
    api.heaptap_mark(b"by name")
    pool = ctypes.c_uint64(api.heaptap_pool_create(b"objects"))
    block = ctypes.create_string_buffer(100)
    api.heaptap_allocated(pool, block, ctypes.c_size_t(100))
    print("recording", api.heaptap_is_recording(), "report", api.heaptap_report(b"by_name.memlog"))
"""
    COMMAND = ("/usr/bin/python3", "-S", "-c", SCRIPT)

    def said(self, library, *options):
        done = heaptap("run", "-q", "--force", *options, "-o", self.trace, "--", *self.COMMAND, library, cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))
        report = summary(self.trace)
        self.assertEqual(self.marks(report), [("mark", "by name"), ("mark", "report 1")])
        self.assertEqual((report["totals"]["pool_live_blocks"], report["totals"]["pool_live_bytes"]), (1, 100))
        return done.stdout.decode()

    def test_nobody_records(self):
        done = run([*self.COMMAND, ""])
        self.assertEqual((done.status, done.stdout), (0, b"0 found\n"), str(done))

    def test_functions_of_the_agent(self):
        self.assertEqual(self.said("", "--via", "agent"), f"{len(NAMES)} found\nrecording 1 report 0\n")
        self.assertTrue((self.directory / "by_name.memlog").exists())

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap has no tracer")
    def test_functions_of_the_library_by_ptrace(self):
        self.assertEqual(self.said(self.library, "--via", "ptrace"), f"{len(NAMES)} found\nrecording 1 report 0\n")


class Alone(TestCase):
    """Without heaptap a program does what it does with it."""

    def test_each_way(self):
        for program in ("alone", "no_pie", "linked", "static"):
            for way in ("marks", "tags", "threads", "switch", "pools", "names", "resources", "report", "scan", "fork", "signals", "hostile"):
                done = run([self.programs / program, way], cwd=self.directory)
                self.assertEqual((done.status, done.stderr), (5, b""), f"{program} {way}\n{done}")
                self.assertNotIn(b"not so", done.stdout)

    def test_it_links_nothing_and_calls_nobody(self):
        self.assertNotIn(b"heaptap", run(["readelf", "-d", self.programs / "alone"]).stdout)


if __name__ == "__main__":
    unittest.main()
