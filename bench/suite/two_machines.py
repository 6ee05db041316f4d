"""Target-side cost with two machines: size of `heaptap-target`, its memory besides the log, and bytes sent per event. `heaptap-target
record` writes to a file the messages that would be sent."""
import os
import re
import shutil
import subprocess
import time
from statistics import median

from . import tables
from .measure import ask_json
from .processes import TIMEOUT_S, Failure, Process, Watch, children_of
from .variants import ENVIRONMENT, Bare

AIM_SIZE_MB, AIM_BYTES, AIM_MEMORY_MIB = 1.5, 4, 4


class OwnMemory(Watch):
    """Resident memory of a heaptap-target besides the log, sampled every few milliseconds: RssAnon and RssFile; the log is RssShmem. For
    `serve`, the sum over it and its sessions, its children, at one moment; a page mapped by both counts twice."""

    def __init__(self, pid, has_sessions=False):
        self.peak_bytes = 0
        self._pid = pid
        self._has_sessions = has_sessions
        super().__init__()

    def stop(self):
        super().stop()
        return self.peak_bytes

    def look(self):
        pids = [self._pid, *(children_of(self._pid) if self._has_sessions else [])]
        self.peak_bytes = max(self.peak_bytes, sum(map(resident_beside_log, pids)))


def resident_beside_log(pid):
    """0: it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return sum(int(size) * 1024 for size in re.findall(r"^(?:RssAnon|RssFile):\s+(\d+) kB$", file.read(), re.MULTILINE))
    except OSError:
        return 0


class TargetSide(Bare):
    """A work recorded by `heaptap-target`, which starts it."""

    def __init__(self, directory, heaptap_target, options):
        super().__init__(directory)
        self.heaptap_target = heaptap_target
        self.options = options
        self.name = " ".join(["heaptap-target", *options])
        self.recording = os.path.join(directory, "recording.far")

    def _start(self, work):
        argv = [self.heaptap_target, "record", "-q", "--force", "-o", self.recording, *self.options, "--", *work.argv]
        return [Process(argv, {**ENVIRONMENT, **work.environment}, stdout=self._stdout())]

    def _split(self, ended):
        return ended.children_cpu_s, ended.own_cpu_s

    def memory_bytes(self, work):
        """Measured in a run of its own."""
        self._clear()
        [process] = self._start(work)
        watch = OwnMemory(process.pid)
        ended = process.wait()
        if ended.code != work.exit_code:
            raise Failure(f"{work.name} ended with {ended.code} ({self.name})")
        return watch.stop()


def served_memory_bytes(work, heaptap, heaptap_target, directory):
    """Memory of `heaptap-target serve` with one session: a host on this machine records the work there, without a scan."""
    address = os.path.join(directory, "serve.sock")
    environment = {**ENVIRONMENT, **work.environment}
    server = Process([heaptap_target, "serve", "-q", "--once", "--compress=never", address], environment)
    watch = OwnMemory(server.pid, has_sessions=True)
    try:
        end = time.monotonic() + TIMEOUT_S
        while not os.path.exists(address):
            if time.monotonic() > end:
                raise Failure("heaptap-target serve doesn't listen")
            time.sleep(0.01)
        trace = os.path.join(directory, "served.htap")
        host = Process([heaptap, "run", "-q", "-H", address, "--no-leak-scan", "--force", "-o", trace, "--", *work.argv], environment)
        code = host.wait().code
        if code != work.exit_code:
            raise Failure(f"{work.name} ended with {code} (heaptap run -H)")
    except BaseException:
        watch.stop()
        server.terminate()
        raise
    server.wait()
    return watch.stop()


def stripped_size(program, directory):
    copy = os.path.join(directory, "heaptap-target")
    shutil.copy(program, copy)
    subprocess.run(["strip", copy], check=True)
    return os.path.getsize(copy)


def events_of(heaptap, recording, directory):
    trace = os.path.join(directory, "recording.htap")
    done = subprocess.run([heaptap, "connect", recording, "-q", "--force", "-o", trace], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise Failure(f"heaptap connect {recording}: {done.stderr.decode(errors='replace')}")
    stats = ask_json(heaptap, "show", "stats", "--json", trace)
    return stats["totals"]["allocations"] + stats["totals"]["frees"]


def measure_work(work, heaptap, variants, runs, directory):
    plain, packed, scanning = variants
    figures = {"work": work.name, "target": [], "own": [], "packed_own": []}
    bare = Bare(directory)
    bare.run(work)  # so that files are in memory
    for _ in range(runs):
        base = bare.run(work)["target_cpu_s"]
        sample = plain.run(work)
        figures["target"].append(sample["target_cpu_s"] / base)
        figures["own"].append(sample["helpers_cpu_s"])
        figures["bytes"] = os.path.getsize(plain.recording)
        figures["packed_own"].append(packed.run(work)["helpers_cpu_s"])
        figures["packed_bytes"] = os.path.getsize(packed.recording)
    figures["memory_bytes"] = plain.memory_bytes(work)
    figures["events"] = events_of(heaptap, plain.recording, directory)
    figures["scan_memory_bytes"] = scanning.memory_bytes(work)
    figures["served_memory_bytes"] = served_memory_bytes(work, heaptap, plain.heaptap_target, directory)
    return figures


def measure(heaptap, works, runs, directory, note):
    heaptap_target = heaptap + "-target"
    if not os.access(heaptap_target, os.X_OK):
        raise Failure(f"{heaptap_target} is missing; `./dev bench` builds it")
    variants = [TargetSide(directory, heaptap_target, options)
                for options in (["--compress=never", "--no-leak-scan"], ["--compress=always", "--no-leak-scan"], ["--compress=never"])]
    result = {"size_bytes": stripped_size(heaptap_target, directory), "works": []}
    for work in works:
        if work.driver is None:
            note(f"two machines: {work.name}")
            result["works"].append(measure_work(work, heaptap, variants, runs, directory))
    return result


def print_table(result):
    rows = []
    for figures in result["works"]:
        events = figures["events"]
        memory = [figures[name] / tables.MI_B for name in ("memory_bytes", "scan_memory_bytes", "served_memory_bytes")]
        an_event = figures["bytes"] / events
        rows.append([
            figures["work"], f"{events:,}", tables.format_number(an_event, 2), tables.verdict(an_event <= AIM_BYTES),
            tables.format_number(figures["packed_bytes"] / events, 2), tables.format_number(median(figures["target"]), 2, "x"),
            tables.format_number(median(figures["own"]) / events * 1e9, 0), tables.format_number(median(figures["packed_own"]) / events * 1e9, 0),
            *[cell for each in memory for cell in (tables.format_number(each, 2), tables.verdict(each <= AIM_MEMORY_MIB))]])
    size_mb = result["size_bytes"] / 1e6
    header = ["work", "events", "bytes an event", "", "compressed", "target's CPU", "ns an event", "compressed", "memory, MiB", "", "with a scan", "",
              "served", ""]
    notes = [f"heaptap-target, stripped, with the agent in it: {size_mb:.2f} MB ({tables.verdict(size_mb <= AIM_SIZE_MB)}, aim {AIM_SIZE_MB})",
             f"aim: {AIM_BYTES} bytes an event before compression, {AIM_MEMORY_MIB} MiB of memory beside the log (RssAnon and RssFile); "
             "ns an event: CPU of heaptap-target",
             "memory, and with a scan for leaks at the end: of `record`; served: of `serve` and its one session, without a scan"]
    tables.print_table("Two machines: the target's side", header, rows, notes)
