"""Measurement order. Variants take turns (A B C A B C …), so that changes of the machine's load affect all of them
equally."""
import json
import os
import shutil
import subprocess
import time

from .processes import Failure, Process
from .variants import ENVIRONMENT

PAIR_MODES = ("tight", "descend")
PAIR_DEPTHS = (5, 15, 40)
PAIR_THREADS = (1, 2, 4, 8)
PAIR_COUNT = 2_000_000

# A hash table of heaptrack 1.4's interpreter grows without reason on some inputs; then nothing of it says much.
SUSPECT_HELPER_BYTES = 2 << 30


class Session:
    """Runs works under variants and keeps every sample."""

    def __init__(self, tools, variants, runs, note):
        self.tools = tools  # paths: heaptap, trace_facts, micro, and heaptrack_print or None
        self.variants = variants  # bare first
        self.runs = runs
        self.note = note
        self.samples = []
        self.memory = []
        self.traces = {}  # by work
        self.replays = {}  # by work
        self.warnings = []

    def measure(self, work, variants=None, runs=None):
        variants = variants or self.variants
        for round_number in range(runs or self.runs):
            for variant in variants:
                sample = variant.run(work)
                self.samples.append({"work": work.name, "variant": variant.name, "round": round_number, **sample})
                if work.same_output and variant.output() != variants[0].output():
                    raise Failure(f"{work.name} prints something else under {variant.name}")

    def measure_work(self, work):
        """Measures a whole program: its CPU time, its traces, reading them again, its memory."""
        self.note(work.name)
        self.variants[0].run(work)  # so that files are in memory
        self.measure(work)
        self._look_at_traces(work)
        self._replay(work)
        for variant in self.variants:
            sample = variant.run(work, watch_memory=True)
            self.memory.append({"work": work.name, "variant": variant.name, **sample["memory"]})
            if variant.name == "heaptrack" and sample["memory"]["helpers_rss_bytes"] > SUSPECT_HELPER_BYTES:
                self.warnings.append(f"{work.name}: heaptrack's interpreter took more than 2 GiB; don't compare with it here")

    def measure_pairs(self, catalogue, threads=PAIR_THREADS):
        """Measures pairs at each depth, with each number of threads; and without any pair, for the cost of starting."""
        for mode in PAIR_MODES:
            for depth in PAIR_DEPTHS:
                self.note(f"pairs, {mode}, {depth} deep")
                for thread_count in threads:
                    for count in (0, PAIR_COUNT):
                        work = catalogue.pairs(mode, depth, thread_count, count)
                        work.name = pair_name(mode, depth, thread_count, count)
                        self.measure(work)

    def _variant(self, name):
        return next((variant for variant in self.variants if variant.name == name), None)

    def _look_at_traces(self, work):
        heaptap, heaptrack = self._variant("heaptap"), self._variant("heaptrack")
        stats = ask_json(self.tools["heaptap"], "show", "stats", "--json", heaptap.trace)
        facts = ask_json(self.tools["trace_facts"], heaptap.trace)
        capture = stats["capture"]
        if capture["lost_events"] or not capture["complete"]:
            self.warnings.append(f"{work.name}: {capture['lost_events']} events lost, complete: {capture['complete']}")
        self.traces[work.name] = {
            "events": stats["totals"]["allocations"] + stats["totals"]["frees"],
            "heaptap_bytes": os.path.getsize(heaptap.trace),
            "heaptrack_bytes": os.path.getsize(heaptrack.trace) if heaptrack else None,
            "facts": facts,
            "collector": stats["collector"],
        }

    def _replay(self, work):
        readers = {"heaptap": [self.tools["heaptap"], "show", "summary", self._variant("heaptap").trace]}
        if self._variant("heaptrack") and self.tools["heaptrack_print"]:
            readers["heaptrack"] = [self.tools["heaptrack_print"], self._variant("heaptrack").trace]
        samples = {name: [] for name in readers}
        for _ in range(min(self.runs, 3)):
            for name, argv in readers.items():
                ended = Process(argv, ENVIRONMENT).wait()
                if ended.code != 0:
                    raise Failure(f"{' '.join(argv)} ended with {ended.code}")
                samples[name].append({"wall_s": ended.wall_s, "cpu_s": ended.cpu_s, "rss_bytes": ended.peak_rss_bytes})
        self.replays[work.name] = samples


def pair_name(mode, depth, threads, count):
    return f"pairs {mode} depth {depth} threads {threads} count {count}"


def ask_json(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=ENVIRONMENT, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(argv)} ended with {done.returncode}")
    return json.loads(done.stdout)


def run_micro(program, quick):
    least_time = "0.02" if quick else "0.2"
    return ask_json(program, "--benchmark_format=json", f"--benchmark_min_time={least_time}")


def run_valgrind(session, work):
    """Runs each once: they take a hundred times as long."""
    valgrind = shutil.which("valgrind")
    if not valgrind:
        return None
    seconds = {"bare": session.variants[0].run(work)["target_cpu_s"]}
    for tool, extra in (("memcheck", []), ("dhat", ["--dhat-out-file=/dev/null"])):
        session.note(f"valgrind {tool}")
        ended = Process([valgrind, f"--tool={tool}", *extra, *work.argv], ENVIRONMENT).wait()
        if ended.code != 0:
            raise Failure(f"valgrind --tool={tool} ended with {ended.code}")
        seconds[tool] = ended.cpu_s
    seconds["heaptap"] = session._variant("heaptap").run(work)["target_cpu_s"]
    return seconds


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")
    return {
        "cpu": model,
        "processors": os.cpu_count(),
        "kernel": os.uname().release,
        "load_before": os.getloadavg()[0],
        "unix_time": int(time.time()),
    }
