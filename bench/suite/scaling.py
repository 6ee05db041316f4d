"""A program with 1 to 16 threads, recorded by a collector with one and more threads: CPU, time on the clock, and the collector's busiest
thread, at whose speed a program runs that makes more events than it can write."""
import os
from statistics import median

from . import tables
from .processes import Watch
from .variants import Heaptap

THREADS = (1, 2, 4, 8, 16)
ALLOCATIONS = 8_000_000  # of all threads together


class ThreadWatch(Watch):
    """CPU time of each thread of a process, sampled until its end."""

    INTERVAL_S = 0.01

    def __init__(self, pid):
        self.pid = pid
        self.cpu_s = {}  # by thread
        super().__init__()

    def stop(self):
        super().stop()
        return self.cpu_s

    def look(self):
        try:
            for task in os.listdir(f"/proc/{self.pid}/task"):
                with open(f"/proc/{self.pid}/task/{task}/schedstat", encoding="ascii") as file:
                    self.cpu_s[task] = int(file.read().split()[0]) / 1e9
        except OSError:
            pass


def thread_counts(processors, note):
    """Those that say something on this machine: with more threads than processors once, where they compete with the collector."""
    counts = [count for count in THREADS if count <= processors]
    beyond = [count for count in THREADS if count > processors]
    if beyond:
        counts.append(beyond[0])
        note(f"{processors} processors: the program has {', '.join(map(str, counts))} threads; with more its threads would only compete")
    return counts


def variants_of(heaptap, directory, collector_threads, options):
    """None stands for what heaptap chooses by itself."""
    made = []
    for count in collector_threads or [1, None]:
        own = [] if count is None else [f"--collector-threads={count}"]
        name = "default" if count is None else str(count)
        made.append(Heaptap(directory, heaptap, ["-q", "--no-leak-scan", *own, *options], f"collector threads {name}"))
    return made


def busiest_s(variant, work):
    """CPU of the collector's busiest thread, in a run of its own."""
    [process] = variant._start(work)
    watch = ThreadWatch(process.pid)
    process.wait()
    return max(watch.stop().values(), default=None)


def measure(session, catalogue, directory, arguments):
    """Rows, one for each number of threads and of collector threads."""
    heaptaps = variants_of(session.tools["heaptap"], directory, arguments.collector_threads, arguments.heaptap_option)
    variants = [session.variants[0], *heaptaps]
    rows = []
    for threads in thread_counts(len(os.sched_getaffinity(0)), session.note):
        work = catalogue.passing(f"{threads} threads", threads, ALLOCATIONS // threads)
        session.note(work.name)
        begin = len(session.samples)
        session.measure(work, variants)
        samples = tables.Samples(session.samples[begin:])
        for variant in heaptaps:
            rows.append(row_of(samples, work, variant.name) | {"threads": threads, "busiest_s": busiest_s(variant, work)})
    return rows


def row_of(samples, work, name):
    figures = {"variant": name, "collector_s": median(samples.helpers(work.name, name))}
    for key, values in (("target", samples.target), ("wall", samples.wall), ("all", samples.all_processes)):
        ours = values(work.name, name)
        figures[f"{key}_s"] = median(ours)
        figures[f"{key}_ratio"] = tables.ratio(ours, values(work.name, "bare"))
    return figures


def print_table(rows):
    cells = []
    for row in rows:
        cells.append([f"{row['threads']}, {row['variant']}",
                      tables.format_number(row["target_ratio"], 2, "x"), tables.format_number(row["wall_ratio"], 2, "x"),
                      tables.format_number(row["all_ratio"], 2, "x"), tables.format_number(row["wall_s"], 2),
                      tables.format_number(row["collector_s"], 2), tables.format_number(row["busiest_s"], 2)])
    tables.print_table("Threads of a program, by what is bare", ["threads", "target CPU", "wall", "all CPU", "wall s", "collector s",
                                                                 "its busiest thread s"], cells)
