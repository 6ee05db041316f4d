"""A recording of several processes is one thing: the index that is written, and what reads it."""
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import built, document_of, heaptap, read_report, summary

TREE = '"$0"; "$0"; "$1"; exit 0'


class Run(heaptap_test.TestCase):
    def record(self, *words, **options):
        outcome = heaptap("run", *words, cwd=self.directory, **options)
        self.assertNotIn(outcome.status, (125, 2), str(outcome))
        return outcome

    def record_tree(self, *options):
        return self.record(*options, "-f", "sh", "-c", TREE, built("leak_shop"), built("leak_clean_aligned"))

    def index(self):
        (index,) = self.directory.glob("*.run")
        return index

    def traces(self):
        return [trace for trace in sorted(self.directory.glob("*.htap")) if not trace.is_symlink()]

    def show(self, *words, status=0):
        outcome = heaptap("show", *words, cwd=self.directory, env={**os.environ, "COLUMNS": "300"})
        self.assertEqual(outcome.status, status, str(outcome))
        return (outcome.stdout if status == 0 else outcome.stderr).decode()

    def show_json(self, *words):
        return read_report(self.show(*words, "--json"))


def site_of(stack):
    return (stack["function"], stack.get("variant"),
            tuple((frame["module"], frame["offset"], frame["function"], frame["line"], frame["inlined"]) for frame in stack["frames"]))


def sums_of(reports, name):
    """Of each site, over all reports."""
    sums = collections.Counter()
    for report in reports:
        for stack in report["stacks"]:
            sums[site_of(stack)] += stack[name]
    return sums


class Index(Run):
    def test_names_all_traces_the_main_one_first(self):
        self.record_tree("-q")
        index = self.index()
        first, *lines = index.read_text().splitlines()
        self.assertEqual(first, "heaptap-run 1")
        entries = [line.split() for line in lines]
        self.assertEqual({entry[2] for entry in entries}, {trace.name for trace in self.traces()})
        main = summary(self.directory / entries[0][2])["target"]
        self.assertEqual(entries[0][0], str(main["pid"]))
        self.assertEqual(main["command"][0], "sh")
        self.assertEqual(index.name, f"heaptap.sh.{main['pid']}.run")
        self.assertEqual(os.readlink(self.directory / "heaptap.latest.htap"), index.name)
        children = [entry for entry in entries[1:] if entry[3] == "leak_shop"]
        self.assertEqual([entry[1] for entry in children], [entries[0][0]] * 2, "the parent is the shell")

    def test_a_process_alone_has_none(self):
        self.record("-q", built("leak_shop"))
        self.assertEqual(list(self.directory.glob("*.run")), [])
        self.assertIn("leak_shop", os.readlink(self.directory / "heaptap.latest.htap"))

    def test_is_named_after_the_file_that_was_asked_for(self):
        for name, index in (("a.htap", "a.run"), ("b", "b.run"), ("c.%p.htap", r"c.\d+.run")):
            self.record("-q", "-o", name, "sh", "-c", 'exec "$0"', built("leak_shop"))
            found = [path.name for path in self.directory.glob(name[0] + "*.run")]
            self.assertEqual(len(found), 1)
            self.assertRegex(found[0], f"^{index}$")
            self.assertEqual(self.show_json("leaks", found[0])["leaks"]["definite"]["bytes"],
                             self.show_json("leaks", found[0], "--process", self.main_pid(found[0]))["leaks"]["definite"]["bytes"])

    def main_pid(self, index):
        return (self.directory / index).read_text().splitlines()[1].split()[0]

    def test_replaces_nothing_without_force(self):
        (self.directory / "a.run").write_text("precious")
        command = ["-o", "a.htap", "-f", "sh", "-c", '"$0"; exit 0', built("leak_shop")]
        outcome = self.record(*command)
        self.assertIn(b"'a.run' already exists: --force replaces it", outcome.stderr)
        self.assertEqual((self.directory / "a.run").read_text(), "precious")
        self.assertEqual(os.readlink(self.directory / "heaptap.latest.htap"), "a.htap")
        self.record("--force", *command)
        self.assertTrue((self.directory / "a.run").read_text().startswith("heaptap-run 1\n"))

    def test_is_not_there_where_heaptap_was_killed(self):
        command = [heaptap_test.HEAPTAP, "run", "-q", "-f", "sh", "-c", '"$0"; "$1"; exit 0', built("leak_shop"), built("sleeper")]
        with subprocess.Popen(command, cwd=self.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            while run.stdout.readline() != b"ready 1\n":
                pass
            run.send_signal(signal.SIGKILL)
        self.assertEqual(list(self.directory.glob("*.run*")), [])
        self.assertGreaterEqual(len(self.traces()), 2)
        for trace in self.traces():
            self.show("summary", trace)


class Together(Run):
    """All of them read one recording, and change nothing of it."""

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="heaptap-test-")
        cls.addClassCleanup(temporary.cleanup)
        maker = cls()
        cls.common = maker.directory = pathlib.Path(temporary.name)
        maker.record_tree("-q")
        cls.singles = [summary(trace) for trace in maker.traces()]
        cls.all = maker.show_json("summary", maker.index())

    def setUp(self):
        self.directory = self.common

    def test_figures_are_the_sums_of_all_traces(self):
        for name in ("allocations", "frees", "allocated_bytes", "temporary_allocations", "live_blocks", "live_bytes", "mapped_live_bytes"):
            self.assertEqual(self.all["totals"][name], sum(single["totals"][name] for single in self.singles), name)
            if name != "mapped_live_bytes":
                self.assertEqual(+sums_of([self.all], name), +sums_of(self.singles, name))
        for kind in ("definite", "indirect", "possible", "reachable"):
            for unit in ("blocks", "bytes"):
                found = [single["leaks"][kind][unit] for single in self.singles if single["leaks"]["scanned"]]
                self.assertEqual(self.all["leaks"][kind][unit], sum(found), kind)
        self.assertEqual(self.all["leaks"]["definite"]["blocks"] + self.all["leaks"]["indirect"]["blocks"], 2 * 5)
        sites = [site_of(stack) for stack in self.all["stacks"]]
        self.assertEqual(len(sites), len(set(sites)), "equal stacks are one")
        self.assertEqual(self.all["stack_count"], len(sites))

    def test_what_has_no_sum_is_not_known(self):
        self.assertIsNone(self.all["totals"]["peak_live_bytes"])
        self.assertEqual(self.all["all_processes"]["largest_peak_live_bytes"],
                         max(single["totals"]["peak_live_bytes"] for single in self.singles))

    def test_peaks_of_stacks_are_of_the_process_with_the_largest(self):
        largest = max(self.singles, key=lambda single: single["totals"]["peak_live_bytes"])
        self.assertEqual(self.all["all_processes"]["largest_peak_pid"], largest["target"]["pid"])
        held = lambda report: sum(stack["peak_bytes"] for stack in report["stacks"] if "mapped" not in stack)
        self.assertEqual(held(self.all), largest["totals"]["peak_live_bytes"])
        text = self.show("top", self.index(), "--sort", "peak")
        self.assertIn("Stacks by bytes at the peak", text)
        self.assertRegex(text, rf"\(AT PEAK: of \S+ \(pid {largest['target']['pid']}\) alone, the process with the largest peak, ")

    def test_has_all_processes_beside(self):
        self.assertEqual(len(self.all["processes"]), len(self.singles))
        self.assertEqual(self.all["all_processes"]["count"], len(self.singles))
        self.assertEqual(self.all["target"]["command"][0], "sh")

    def test_leaks_are_listed_once_for_all(self):
        leaks = self.show_json("leaks", self.index())
        one = self.show_json("leaks", next(trace for trace in self.traces() if "leak_shop" in trace.name))
        self.assertEqual([site_of(stack) for stack in leaks["stacks"]], [site_of(stack) for stack in one["stacks"]])
        self.assertEqual([stack["leaks"]["definite"]["bytes"] for stack in leaks["stacks"]],
                         [2 * stack["leaks"]["definite"]["bytes"] for stack in one["stacks"]])
        self.assertRegex(self.show("leaks", self.index()), r"\b320\b.* 6 blocks")

    def test_the_summary_begins_with_the_processes(self):
        text = self.show("summary", "heaptap.latest.htap")
        self.assertRegex(text, r"all \d processes together")
        self.assertLess(text.index("leak_clean_aligned"), text.index("allocations"))
        self.assertLess(text.index("allocations"), text.index("Stacks by"))
        self.assertRegex(text, r"peak +\S+ \w+ +of \S+ \(pid \d+\), the largest of one process; unknown of all together")

    def test_tables(self):
        lines = self.show("summary", self.index(), "--by", "process").splitlines()
        table = [line.split() for line in lines if re.search(r"\.htap$", line)]
        self.assertEqual([row[0] for row in table][:2], ["leak_shop", "leak_shop"], "what leaks most first")
        self.assertEqual({row[-1] for row in table}, {str(self.directory / trace.name) for trace in self.traces()})
        self.assertNotIn("Stacks by", "\n".join(lines))
        programs = self.show_json("leaks", self.index(), "--by", "program")["programs"]
        shop = next(program for program in programs if program["program"] == "leak_shop")
        self.assertEqual((shop["processes"]["count"], shop["processes"]["definite"]["bytes"] + shop["processes"]["indirect"]["bytes"]), (2, 448))
        self.assertIn("leak_shop", self.show("summary", self.index(), "--by", "program"))

    def test_one_of_them(self):
        trace = next(trace for trace in self.traces() if "leak_shop" in trace.name)
        pid = summary(trace)["target"]["pid"]
        for view in ("leaks", "timeline", "summary"):
            self.assertEqual(self.show(view, self.index(), "--process", pid), self.show(view, trace), view)
        self.assertIn("--by process", self.show("leaks", self.index(), "--process", 1, status=125))
        self.assertEqual(self.show("leaks", trace, "--process", pid), self.show("leaks", trace))
        self.show("leaks", trace, "--process", 1, status=125)

    def test_what_is_of_one_process_names_the_command(self):
        for words in (["timeline"], ["blocks"], ["stats"], ["leaks", "--globals"], ["leaks", "--scan", "1"], ["top", "--thread", "1"],
                      ["top", "--from", "1ms"], ["leaks", "--gen-suppressions"]):
            view, *rest = words
            text = self.show(view, self.index(), *rest, status=2)
            self.assertRegex(text, r"--process \d+", words)
        self.assertIn("--by", self.show("summary", self.traces()[0], "--by", "process", status=2))

    def test_filters_and_other_views(self):
        self.assertIn("shop", self.show("tree", self.index()))
        self.assertIn("leak_shop", self.show("leaks", self.index(), "--function", "main"))
        self.assertIn("nothing in this trace matches", self.show("leaks", self.index(), "--function", "no_such_function"))

    def test_check_judges_all_together(self):
        def check(*limits):
            outcome = heaptap("check", self.index(), *limits, cwd=self.directory)
            return outcome.status, outcome.stdout.decode()
        self.assertEqual(check("--max-leaked", "448")[0], 0)
        status, text = check("--max-leaked", "447")
        self.assertEqual(status, 1)
        self.assertIn("FAIL: leaked 448 B", text)
        self.assertIn("leak_shop", text)
        largest = self.all["all_processes"]["largest_peak_live_bytes"]
        self.assertEqual(check("--max-peak", largest)[0], 0)
        self.assertEqual(check("--max-peak", largest - 1)[0], 1)
        allocations = self.all["totals"]["allocations"]
        self.assertEqual(check("--max-allocations", allocations)[0], 0)
        self.assertEqual(check("--max-allocations", allocations - 1)[0], 1)

    def test_a_directory_has_each_trace_once(self):
        outcome = heaptap("check", self.directory, "--max-leaked", "0")
        self.assertEqual(outcome.stdout.count(b"leaked"), len(self.singles), str(outcome))

    def report(self, *options):
        file = self.directory / "run.html"
        outcome = heaptap("report", self.index(), "-o", file, "--force", *options, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return document_of(file.read_text())

    def test_the_report_has_the_figures_of_all_and_of_each(self):
        document = self.report()
        self.assertTrue(document["of_run"])
        self.assertEqual(document["summary"]["totals"], self.all["totals"])
        self.assertEqual(document["summary"]["leaks"], self.all["leaks"])
        stacks, by_id = document["stacks"], {stack["id"]: stack for stack in self.all["stacks"]}
        self.assertEqual(set(stacks["id"]), set(by_id))
        for row, number in enumerate(stacks["id"]):
            for name in ("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes", "peak_bytes", "temporary_allocations"):
                self.assertEqual(stacks[name][row], by_id[number][name], name)
        # A process is what its own trace says; its cells add up to that.
        by_trace = dict(zip((trace.name for trace in self.traces()), self.singles))
        cells, left = document["cells"], document["left"]
        for row, process in enumerate(document["processes"]):
            single = by_trace[pathlib.Path(process["trace"]).name]
            self.assertEqual((process["pid"], process["parent_pid"]), (single["target"]["pid"], single["target"]["parent_pid"]))
            for name in ("allocations", "peak_live_bytes", "live_bytes"):
                self.assertEqual(process[name], single["totals"][name], name)
            scanned = single["leaks"]["scanned"]
            self.assertEqual(process["definite_bytes"], single["leaks"]["definite"]["bytes"] if scanned else None)
            self.assertEqual(max(process["course"]), single["totals"]["peak_live_bytes"])
            mine = [place for place, owner in enumerate(cells["process"]) if owner == row and not stacks["mapping"][cells["stack"][place]]]
            self.assertEqual(sum(cells["allocations"][place] for place in mine), single["totals"]["allocations"])
            self.assertEqual(sum(cells["allocated_bytes"][place] - cells["freed_bytes"][place] for place in mine), single["totals"]["live_bytes"])
            lost = sum(left["bytes"][place] for place, owner in enumerate(left["process"]) if owner == row and left["state"][place] in (2, 3))
            if scanned:
                self.assertEqual(lost, single["leaks"]["definite"]["bytes"] + single["leaks"]["indirect"]["bytes"])
            threads = {cells["thread"][place] for place in mine}
            owners = {document["threads"]["process"][document["threads"]["number"].index(thread)] for thread in threads}
            self.assertLessEqual(owners, {row})
        self.assertTrue(document["suppressions"])

    def test_the_report_makes_up_nothing_that_is_of_one_process(self):
        document = self.report()
        for name in ("timeline", "sizes", "lifetimes", "address_space", "graph"):
            self.assertIsNone(document[name], name)
        self.assertEqual(document["bins"]["count"], 1)
        self.assertEqual(document["processes"][document["peak_process"]]["pid"], self.all["all_processes"]["largest_peak_pid"])
        outcome = heaptap("report", self.index(), "-o", self.directory / "x.html", "--thread", "1")
        self.assertEqual(outcome.status, 2, str(outcome))
        self.assertIn(b"name one of its traces", outcome.stderr)
        self.assertFalse((self.directory / "x.html").exists())

    def test_export_takes_all(self):
        def folded(trace):
            outcome = heaptap("export", "--to", "folded", trace)
            self.assertEqual(outcome.status, 0, str(outcome))
            lines = collections.Counter()
            for line in outcome.stdout.decode().splitlines():
                stack, _, count = line.rpartition(" ")
                lines[stack] += int(count)
            return lines
        self.assertEqual(folded(self.index()), sum((folded(trace) for trace in self.traces()), collections.Counter()))
        for name in ("callgrind", "speedscope"):
            outcome = heaptap("export", "--to", name, self.index())
            self.assertEqual((outcome.status, b"leak_shop" in outcome.stdout), (0, True), str(outcome))
        for name in ("pprof", "massif", "dhat", "heaptrack"):
            outcome = heaptap("export", "--to", name, self.index())
            self.assertEqual(outcome.status, 2, str(outcome))
            self.assertIn(b"name one of its traces, such as", outcome.stderr)


class Others(Run):
    def test_a_trace_that_is_gone_or_another_one_is_said(self):
        self.record_tree("-q")
        leaky, *_ = [trace for trace in self.traces() if "leak_shop" in trace.name]
        clean = next(trace for trace in self.traces() if "aligned" in trace.name)
        leaky.write_bytes(clean.read_bytes())
        clean.unlink()
        report = self.show_json("summary", self.index())
        self.assertEqual(report["all_processes"]["failed"], 2)
        self.assertEqual(report["capture"]["known"], {"leaks": False, "releases": False})
        failures = sorted(process["failure"] for process in report["processes"] if process["failure"])
        self.assertIn("is the trace of another process", failures[0])
        self.assertIn("no such file", failures[1])
        self.assertIn("unreadable traces", self.show("leaks", self.index()))
        self.assertEqual(heaptap("check", self.index(), "--max-leaked", "1M").status, 3)
        for trace in self.traces():
            trace.unlink()
        self.show("summary", self.index(), status=125)

    def test_a_report_says_what_it_could_not_read_and_has_no_cells_of_totals(self):
        self.record_tree("-q", "--aggregate")
        outcome = heaptap("report", self.index(), "-o", self.directory / "run.html")
        self.assertEqual(outcome.status, 0, str(outcome))
        document = document_of((self.directory / "run.html").read_text())
        self.assertEqual(document["cells"]["stack"], [])
        next(trace for trace in self.traces() if "aligned" in trace.name).unlink()
        outcome = heaptap("report", self.index(), "-o", self.directory / "run.html", "--force")
        self.assertEqual(outcome.status, 0, str(outcome))
        document = document_of((self.directory / "run.html").read_text())
        self.assertTrue(any("no such file" in process["exit"] and process["live_bytes"] is None for process in document["processes"]))
        self.assertTrue(any("can't be read" in finding["text"] for finding in document["verdict"]))

    def test_hostile_names_of_programs_stay_text(self):
        program = self.directory / "<script>x=1<\\script>\x1b[31m\udcff"
        program.symlink_to(built("leak_shop"))
        self.record("-q", "-f", "sh", "-c", '"$0"; "$0"; exit 0', str(program))
        outcome = heaptap("report", self.index(), "-o", self.directory / "run.html")
        self.assertEqual(outcome.status, 0, str(outcome))
        html = (self.directory / "run.html").read_text()
        self.assertNotIn("<script>x=1", html)
        self.assertNotIn("\x1b", html)
        self.assertTrue(any(process["program"].startswith("<script>x=1") for process in document_of(html)["processes"]))

    def test_programs_one_after_the_other_are_one_process(self):
        self.record("-q", "sh", "-c", 'exec "$0"', built("leak_shop"))
        report = self.show_json("summary", self.index())
        self.assertEqual(report["all_processes"]["count"], 2)
        self.assertTrue(report["capture"]["known"]["leaks"], "what the wrapper had is no leak")
        self.assertEqual(report["totals"]["peak_live_bytes"], max(summary(trace)["totals"]["peak_live_bytes"] for trace in self.traces()))
        self.assertIn("all 2 programs of this process", self.show("summary", self.index()))
        self.assertEqual(heaptap("check", self.index(), "--max-leaked", "224").status, 0)
        pid = report["target"]["pid"]
        self.assertIn("leak_shop", self.show("summary", self.index(), "--process", pid).splitlines()[0])
        main = next(trace for trace in self.traces() if "leak_shop" in trace.name)
        for words in (["timeline"], ["leaks", "--globals"], ["top", "--thread", "1"]):
            self.assertEqual(self.show(words[0], "heaptap.latest.htap", *words[1:]), self.show(words[0], main, *words[1:]), words)

    def test_a_process_that_was_killed_leaves_leaks_unknown(self):
        self.record("-q", "-f", "sh", "-c", '"$0"; sh -c "kill -KILL \\$\\$"; exit 0', built("leak_shop"))
        report = self.show_json("leaks", self.index())
        self.assertFalse(report["capture"]["known"]["leaks"])
        self.assertEqual(sum(stack["leaks"]["definite"]["bytes"] for stack in report["stacks"]), report["leaks"]["definite"]["bytes"])
        self.assertIn("processes without a leak scan", self.show("leaks", self.index()))
        self.assertEqual(heaptap("check", self.index(), "--max-leaked", "1M").status, 3)
        self.assertEqual(heaptap("check", self.index(), "--max-leaked", "0").status, 1)

    def test_a_child_that_began_with_its_parents_blocks(self):
        self.record("-q", "-f", "sh", "-c", '(eval "x=1"); exit 0')
        text = self.show("leaks", self.index())
        self.assertIn("some processes inherited blocks from their parent", text)
        self.assertRegex(text, r"! process \d+: not all blocks are known")
        self.assertEqual(heaptap("check", self.index(), "--max-leaked", "0").status, 3)

    def test_several_that_are_attached_to(self):
        sleepers = [subprocess.Popen([built("sleeper")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
        try:
            for sleeper in sleepers:
                sleeper.stdout.readline()
            outcome = heaptap("attach", "-q", "--duration", "10ms", *[sleeper.pid for sleeper in sleepers], cwd=self.directory)
        finally:
            for sleeper in sleepers:
                sleeper.kill()
                sleeper.communicate()
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(self.index().name, f"heaptap.sleeper.{sleepers[0].pid}.run")
        self.assertEqual(self.show_json("summary", self.index())["all_processes"]["count"], 2)

    def test_how_children_ended(self):
        """What they said of it before they ended; what ends unseen is not known."""
        ends = {"return": {"code": 3}, "exit": {"code": 255}, "_exit": {"code": 4}, "_Exit": {"code": 5}, "quick_exit": {"code": 6},
                "exit_group": {"code": 7}, "exit_in_thread": {"code": 8}, "pthread_exit": {"code": 0}, "abort": {"signal": signal.SIGABRT},
                "segv_caught": {"signal": signal.SIGSEGV}, "term": {"signal": signal.SIGTERM}, "kill": None}
        script = 'for way in "$@"; do "$0" "$way"; done; exit 0'
        for options, known in (([], True), (["--no-leak-scan"], False)):
            outcome = self.record("-q", "--force", "-o", "%p.htap", "-f", *options, "sh", "-c", script, built("ends"), *ends)
            self.assertEqual(outcome.status, 0, str(outcome))
            targets = [process["target"] for process in self.show_json("summary", self.index(), "-n", "1")["processes"][1:]]
            found = {target["command"][1]: target["exit"] for target in targets}
            self.assertEqual(found, ends if known else dict.fromkeys(ends))
            for path in self.directory.glob("*"):
                path.unlink()

    def test_a_compiler(self):
        (self.directory / "a.cc").write_text("#include <map>\nstd::map<int, int> m; int f(int a) { return m[a]; }\n")
        outcome = self.record("-f", "g++", "-c", "a.cc")
        lines = outcome.stderr.decode().splitlines()
        # What the driver and the assembler lose is little against that.
        self.assertRegex(lines[1], r"^heaptap: largest: cc1plus \(pid \d+\), peak .*, \d+\.\d MiB mapped; ", str(outcome))
        self.assertRegex(lines[2], r"^heaptap:   \d+\.\d MiB of the mapped peak: #\d+ ", str(outcome))
        self.assertRegex(lines[-1], r"^heaptap: next:  heaptap show top \S*cc1plus\S*\.htap$", str(outcome))
        report = self.show_json("summary", self.index(), "-n", "50")
        programs = {pathlib.Path(process["target"]["command"][0]).name for process in report["processes"]}
        self.assertLessEqual({"g++", "cc1plus", "as"}, programs)
        singles = [read_report(self.show("summary", trace, "--json", "-n", "1")) for trace in self.traces()]
        self.assertEqual(report["totals"]["allocations"], sum(single["totals"]["allocations"] for single in singles))

    def test_a_fork_server(self):
        self.record("-q", "-f", built("many_children"), 12)
        report = self.show_json("summary", self.index())
        self.assertEqual(report["all_processes"]["count"], 13)
        self.assertEqual(report["totals"]["allocations"], sum(summary(trace)["totals"]["allocations"] for trace in self.traces()))

    def test_the_next_command_is_about_who_holds_most(self):
        outcome = self.record_tree()
        last = outcome.stderr.decode().splitlines()[-1]
        self.assertRegex(last, r"^heaptap: next:  heaptap show leaks --globals heaptap\.leak_clean_aligned\.\d+\.htap$", str(outcome))
        self.assertRegex(self.show("leaks", self.index().name), r"\b320\b.* 6 blocks")

    def test_an_index_that_is_damaged_is_refused(self):
        for text in ("heaptap-run 1\n", "heaptap-run 2\n1 1 a b\n", "heaptap-run 1\nx\n", "heaptap-run 1\n1 1 a.htap b"):
            index = self.directory / "x.run"
            index.write_text(text)
            for words in (["show", "summary"], ["check", "--max-leaked", "0"], ["export", "--to", "folded"]):
                outcome = heaptap(*words, index)
                self.assertEqual(outcome.status, 125, str(outcome))
                self.assertIn(f"can't read '{index}': ".encode(), outcome.stderr, str(outcome))


if __name__ == "__main__":
    unittest.main()
