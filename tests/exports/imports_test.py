"""Files of heaptrack and massif, read as if they were traces: numbers against those of the tools that wrote them."""
import collections
import gzip
import json
import re
import subprocess

import exported
from exported import built, heaptap

UNITS = {"B": 1, "K": 1000, "M": 1000 ** 2, "G": 1000 ** 3}
SQL = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
       "SELECT count(*), group_concat(hex(randomblob(i % 50))) FROM n GROUP BY i % 17 ORDER BY 1;")


def lines_of(file):
    if file.suffix == ".gz":
        return gzip.decompress(file.read_bytes()).decode().splitlines()
    text = subprocess.run(["zstd", "-dcq", file], stdout=subprocess.PIPE, check=True).stdout if file.suffix == ".zst" else file.read_bytes()
    return text.decode().splitlines()


def wrongly_temporary(lines):
    """heaptrack_print takes a release of number 0 behind another release for one of a temporary allocation."""
    last, wrong = None, 0
    for line in lines:
        if line.startswith("+ "):
            last = line[2:]
        elif line.startswith("- "):
            wrong += line == "- 0" and last is None
            last = None
    return wrong


def names_of(stack, nameless=lambda frame: frame["module"]):
    """Its functions, outermost first."""
    return tuple(frame["function"] or nameless(frame) for frame in reversed(stack["frames"]))


def by_names(stacks, key, *nameless):
    sums = collections.Counter()
    for stack in stacks:
        sums[names_of(stack, *nameless)] += stack[key]
    return {names: count for names, count in sums.items() if count}


class Imports(exported.TestCase):
    def run_under(self, *command):
        done = subprocess.run([str(word) for word in command], capture_output=True, timeout=300, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-3000:])
        return done

    def text(self, *arguments, status=0):
        outcome = heaptap(*arguments, cwd=self.directory)
        self.assertEqual(outcome.status, status, str(outcome))
        return (outcome.stdout + outcome.stderr).decode()


class Heaptrack(Imports):
    def printed(self, file):
        text = self.read_by("heaptrack_print", "-f", file, "-a", "0", "-p", "0", "-T", "0", "-l", "0", "--disable-builtin-suppressions",
                            "--disable-embedded-suppressions")
        counts = {key: int(re.search(rf"{label}: (\d+)", text)[1]) for key, label in
                  (("allocations", "calls to allocation functions"), ("temporary_allocations", "temporary memory allocations"))}
        for key, label in (("peak_live_bytes", "peak heap memory consumption"), ("live_bytes", "total memory leaked")):
            number, unit = re.search(rf"{label}: ([\d.]+)([BKMG])", text).groups()
            counts[key] = (float(number) * UNITS[unit], UNITS[unit])
        return counts

    def flame_total(self, file, cost):
        text = self.directory / "flame"
        self.read_by("heaptrack_print", "-f", file, "-F", text, "--flamegraph-cost-type", cost, "-a", "0", "-p", "0", "-T", "0", "-l", "0")
        return sum(int(line.rsplit(" ", 1)[1]) for line in text.read_text().splitlines())

    def check_file(self, file):
        report = self.report(file)
        totals, printed = report["totals"], self.printed(file)
        self.assertEqual(totals["allocations"], printed["allocations"])
        self.assertEqual(totals["temporary_allocations"], printed["temporary_allocations"] - wrongly_temporary(lines_of(file)))
        for key in ("peak_live_bytes", "live_bytes"):
            number, unit = printed[key]
            self.assertAlmostEqual(totals[key], number, delta=0.006 * unit)
        self.assertEqual(self.flame_total(file, "allocations"), totals["allocations"])
        self.assertEqual(self.flame_total(file, "peak"), totals["peak_live_bytes"])
        self.assertEqual(sum(stack["peak_bytes"] for stack in report["stacks"]), totals["peak_live_bytes"])
        self.assertEqual(sum(stack["live_bytes"] for stack in report["stacks"]), totals["live_bytes"])
        self.assertEqual(totals["allocations"], totals["frees"] + totals["live_blocks"])
        return report

    def under_heaptrack(self, *command):
        self.run_under("heaptrack", "-o", self.directory / "data", *command)
        return next(self.directory.glob("data*"))

    def test_numbers_of_a_program_are_heaptracks(self):
        report = self.check_file(self.under_heaptrack(built("leak_shop")))
        self.assertEqual(report["capture"]["imported_from"], "heaptrack")
        self.assertIsNone(report["target"]["exit"])
        self.assertIsNone(report["target"]["pid"])
        self.assertIsNone(report["leaks"]["definite"]["bytes"])
        self.assertIsNone(report["totals"]["mismatched_frees"])
        self.assertTrue(any("main" in names_of(stack) for stack in report["stacks"]))

    def test_numbers_of_sqlite_are_heaptracks(self):
        self.check_file(self.under_heaptrack("sqlite3", ":memory:", SQL))

    def test_gzip_and_plain_text_are_read_as_well(self):
        data = self.under_heaptrack(built("leak_shop"))
        text = "\n".join(lines_of(data)) + "\n"
        plain, packed = self.directory / "plain", self.directory / "packed"
        plain.write_text(text)
        packed.write_bytes(gzip.compress(text.encode()))
        whole = self.report(data)["totals"]
        self.assertEqual(self.report(plain)["totals"], whole)
        self.assertEqual(self.report(packed)["totals"], whole)

    def test_the_summary_says_what_it_is_and_what_it_cannot_tell(self):
        data = self.under_heaptrack(built("leak_shop"))
        text = self.text("show", "summary", data)
        self.assertIn("heaptrack file, imported: how it ended is not known", text)
        self.assertIn("not in heaptrack's file", text)
        self.assertNotIn("pid", text)
        self.assertNotIn("lost:", text.replace("is lost", ""))
        for view in ("lifetimes", "blocks"):
            self.assertIn("not in heaptrack's file", self.text("show", view, data))
        self.assertIn("file doesn't have threads", self.text("show", "summary", "--thread", "1", data, status=2))
        self.assertIn("no leak scan", self.text("show", "leaks", "--globals", data, status=125))

    def test_a_file_that_is_cut_off_is_told_as_that(self):
        data = self.under_heaptrack(built("leak_shop"))
        text = "\n".join(lines_of(data)).encode()
        cut = self.directory / "cut"
        for whole in (text, gzip.compress(text)):
            cut.write_bytes(whole[:-len(whole) // 4])
            self.assertIn("the file is cut off", self.text("show", "summary", cut))
            self.assertTrue(self.report(cut)["capture"]["truncated"])

    def test_round_trip(self):
        for target, arguments in (("leak_shop", ()), ("recursion", ("30", "1")), ("inlined_frames", ())):
            with self.subTest(target):
                trace = self.record(target, *arguments)
                own = self.report(trace)
                file = self.export(trace, "heaptrack", ".gz")
                imported = self.check_file(file)
                for key in ("allocations", "frees", "allocated_bytes", "live_bytes", "live_blocks", "peak_live_bytes", "peak_live_blocks"):
                    self.assertEqual(imported["totals"][key], own["totals"][key], key)
                of_own = [stack for stack in own["stacks"] if stack["function"] not in exported.MAPPING and stack["frames"]]
                of_import = [stack for stack in imported["stacks"] if len(stack["frames"]) and stack["frames"][0]["offset"] != "0x0"]
                for key in ("allocations", "live_bytes", "peak_bytes"):
                    self.assertEqual(by_names(of_import, key), by_names(of_own, key), key)
                again = self.export(file, "heaptrack", ".again.gz")
                self.assertEqual(self.report(again)["totals"], imported["totals"])

    def test_other_commands_take_it(self):
        data = self.under_heaptrack(built("leak_shop"))
        self.text("check", "--max-peak", "1G", data)
        self.text("check", "--max-live", "0", data, status=1)
        self.assertIn("leaks are not in", self.text("check", "--max-leaked", "0", data, status=3))
        self.assertIn("how it ended is not", self.text("diff", data, data))
        self.text("report", "-q", "-o", self.directory / "page.html", data)
        self.assertIn(";main", self.text("export", "--to", "folded", "--metric", "peak", data))
        self.assertIn("no leak scan", self.text("export", "--to", "lsan", data, status=125))
        self.assertIn("imported", self.text(data))


def snapshots_of(file):
    found = []
    for line in file.read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "snapshot":
            found.append({"tree": []})
        elif line.startswith((" ", "n")) and found:
            found[-1]["tree"].append(line)
        elif key in ("time", "mem_heap_B", "heap_tree"):
            found[-1][key] = value if key == "heap_tree" else int(value)
    return found


class Massif(Imports):
    def under_massif(self, *command, options=("--time-unit=ms",)):
        file = self.directory / "massif.out"
        self.run_under("valgrind", "-q", "--tool=massif", f"--massif-out-file={file}", *options, *command)
        return file

    def check_peak(self, file):
        report, snapshots = self.report(file), snapshots_of(file)
        peak = next(snapshot for snapshot in snapshots if snapshot["heap_tree"] == "peak")
        self.assertEqual(report["totals"]["live_bytes"], snapshots[-1]["mem_heap_B"])
        if snapshots[-1]["mem_heap_B"] > peak["mem_heap_B"]:  # as where nothing is given back
            self.assertEqual(report["totals"]["peak_live_bytes"], snapshots[-1]["mem_heap_B"])
            return report
        self.assertEqual(report["totals"]["peak_live_bytes"], peak["mem_heap_B"])
        wanted = collections.Counter()  # by the innermost function
        for line in peak["tree"]:
            matched = re.match(r" n\d+: (\d+) (?:0x[0-9A-F]+: (.*) \([^()]*\)|in \d+ places?, .*)$", line)
            if matched:
                name = matched[2] or "[below threshold]"
                wanted["" if name == "???" else name] += int(matched[1])
        found = collections.Counter()
        for stack in report["stacks"]:
            found[stack["frames"][0]["function"] or ""] += stack["peak_bytes"]
        self.assertEqual(+found, +wanted)
        printed = self.read_by("ms_print", file)
        self.assertIn(f"{peak['mem_heap_B']:,}", printed)
        return report

    def test_the_peak_is_massifs(self):
        report = self.check_peak(self.under_massif(built("leak_shop")))
        self.assertEqual(report["capture"]["imported_from"], "massif")
        for key in ("allocations", "frees", "allocated_bytes", "live_blocks", "temporary_allocations", "peak_live_blocks", "bad_frees"):
            self.assertIsNone(report["totals"][key], key)
        self.assertIsNone(report["stacks"][0]["allocations"])

    def test_sqlite(self):
        self.check_peak(self.under_massif("sqlite3", ":memory:", SQL, options=("--time-unit=i", "--detailed-freq=3")))

    def test_units_that_are_no_time(self):
        for unit, word in (("i", "instructions"), ("B", "allocated")):
            file = self.under_massif(built("leak_shop"), options=(f"--time-unit={unit}",))
            self.assertIn(word, self.text("show", "summary", file))
            self.assertIn(word, self.text("show", "timeline", file))
            self.assertIn("--time-unit=ms", self.text("show", "summary", "--to", "1s", file, status=2))
            report = self.report(file)
            self.assertIsNone(report["totals"]["peak_time_ns"])
            self.assertIsNone(report["capture"]["duration_ns"])

    def test_pages_and_stacks(self):
        pages = self.under_massif(built("leak_shop"), options=("--pages-as-heap=yes",))
        self.assertIn("counts pages", self.text("show", "summary", pages))
        self.check_peak(pages)
        stacks = self.under_massif(built("leak_shop"), options=("--stacks=yes",))
        self.assertIn("bytes of threads' stacks", self.text("show", "summary", stacks))

    def test_the_timeline_is_that_of_the_snapshots(self):
        file = self.under_massif(built("leak_shop"), options=("--time-unit=B",))
        outcome = heaptap("show", "timeline", "--json", file)
        points = json.loads(outcome.stdout)["points"]
        self.assertEqual(max(point["peak_live_bytes"] for point in points), self.report(file)["totals"]["peak_live_bytes"])
        self.assertIsNone(points[0]["allocations"])
        self.assertIsNone(points[0]["time_ns"])

    def test_round_trip(self):
        for target in ("leak_shop", "producer_consumer"):
            trace = self.record(target)
            own = self.report(trace)
            imported = self.report(self.export(trace, "massif", ".out"))
            for key in ("live_bytes", "peak_live_bytes"):
                self.assertEqual(imported["totals"][key], own["totals"][key], key)
            of_own = [stack for stack in own["stacks"] if stack["function"] not in exported.MAPPING and stack["frames"]]
            of_import = [stack for stack in imported["stacks"] if stack["frames"]]
            for key in ("live_bytes", "peak_bytes"):
                self.assertEqual(by_names(of_import, key), by_names(of_own, key, exported.name_of), key)

    def test_other_commands_take_it(self):
        file = self.under_massif(built("leak_shop"))
        self.text("check", "--max-peak", "0", file, status=1)
        self.assertIn("calls are not in", self.text("check", "--max-allocations", "1", file, status=3))
        self.text("diff", file, file)
        self.text("report", "-q", "-o", self.directory / "page.html", file)
        self.text("export", "--to", "folded", "--metric", "peak", file)
        self.assertIn("needs single events", self.text("export", "--to", "heaptrack", "-o", self.directory / "x", file, status=125))
        self.assertIn("doesn't have calls", self.text("show", "summary", "--sort", "allocations", file, status=2))
        for view in ("top", "tree", "stats", "leaks", "timeline"):
            self.assertIn("massif", self.text("show", view, file))


if __name__ == "__main__":
    exported.main()
