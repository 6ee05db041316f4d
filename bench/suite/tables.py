"""Figures from samples, and tables from figures."""
from statistics import median

from .measure import PAIR_COUNT, PAIR_DEPTHS, PAIR_MODES, PAIR_THREADS, pair_name

PAIR_AIMS_NS = {5: 30, 15: 45, 40: 60}
MI_B = 1 << 20


class Samples:
    """Samples by work and variant, in the order of the rounds."""

    def __init__(self, samples):
        self._lists = {}
        for sample in samples:
            self._lists.setdefault((sample["work"], sample["variant"]), []).append(sample)

    def target(self, work, variant):
        return [sample["target_cpu_s"] for sample in self._lists.get((work, variant), [])]

    def all_processes(self, work, variant):
        return [sample["target_cpu_s"] + sample["helpers_cpu_s"] for sample in self._lists.get((work, variant), [])]

    def helpers(self, work, variant):
        return [sample["helpers_cpu_s"] for sample in self._lists.get((work, variant), [])]

    def wall(self, work, variant):
        return [sample["wall_s"] for sample in self._lists.get((work, variant), [])]


def ratio(values, bases):
    """The median of the rounds' ratios; None if there are none."""
    return median(value / base for value, base in zip(values, bases)) if values else None


def added(values, bases):
    return median(value - base for value, base in zip(values, bases)) if values else None


def quotient(value, base):
    return None if value is None or not base else value / base


def cpu_figures(samples, works):
    figures = []
    for work in works:
        bare = samples.target(work.name, "bare")
        row = {"work": work.name, "aim": work.aim, "bare_s": median(bare)}
        for variant in ("heaptap", "heaptrack"):
            target, everything = samples.target(work.name, variant), samples.all_processes(work.name, variant)
            row[variant] = {
                "slowdown": ratio(target, bare),
                "added_s": added(target, bare),
                "all_ratio": ratio(everything, bare),
                "all_added_s": added(everything, bare),
                "spread": spread(target),
            }
        row["added_part"] = quotient(row["heaptap"]["added_s"], row["heaptrack"]["added_s"])
        row["all_added_part"] = quotient(row["heaptap"]["all_added_s"], row["heaptrack"]["all_added_s"])
        figures.append(row)
    return figures


def spread(values):
    """Half the range, relative to the median."""
    return (max(values) - min(values)) / 2 / median(values) if values else None


def pair_figures(samples, threads=PAIR_THREADS):
    """CPU nanoseconds that a variant adds to a pair, without the cost of starting."""
    figures = []
    for mode in PAIR_MODES:
        for depth in PAIR_DEPTHS:
            for thread_count in threads:
                row = {"mode": mode, "depth": depth, "threads": thread_count}
                of = {}
                for variant in ("bare", "heaptap", "heaptrack"):
                    full = samples.target(pair_name(mode, depth, thread_count, PAIR_COUNT), variant)
                    empty = samples.target(pair_name(mode, depth, thread_count, 0), variant)
                    of[variant] = (median(full) - median(empty)) / PAIR_COUNT * 1e9 if full else None
                row["bare_ns"] = of["bare"]
                for variant in ("heaptap", "heaptrack"):
                    row[f"{variant}_added_ns"] = None if of[variant] is None else of[variant] - of["bare"]
                figures.append(row)
    return figures


def format_number(value, digits=2, unit=""):
    return "-" if value is None else f"{value:,.{digits}f}{unit}"


def format_part(value):
    """A fraction as 1/n."""
    if value is None:
        return "-"
    return f"1/{1 / value:.1f}" if value > 0 else "0"


def verdict(met):
    return {True: "met", False: "missed", None: "-"}[met]


def print_table(title, header, rows, notes=()):
    cells = [header] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    print(f"\n{title}")
    for row in cells:
        line = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  " + "  ".join(line).rstrip())
    for note in notes:
        print(f"  {note}")


def print_target_table(figures):
    rows = []
    for row in figures:
        part = row["added_part"]
        rows.append(
            [
                row["work"],
                format_number(row["bare_s"]),
                format_number(row["heaptap"]["slowdown"], 2, "x"),
                format_number(row["heaptrack"]["slowdown"], 2, "x"),
                format_number(row["heaptap"]["added_s"], 3),
                format_number(row["heaptrack"]["added_s"], 3),
                format_part(part),
                format_part(row["aim"]),
                verdict(None if part is None else part <= row["aim"]),
            ]
        )
    header = ["work", "bare s", "heaptap", "heaptrack", "added s", "heaptrack s", "part", "aim", ""]
    print_table("CPU of the target (medians of the rounds; added: beyond the bare run)", header, rows)


def print_all_cpu_table(figures):
    rows = []
    for row in figures:
        part = row["all_added_part"]
        rows.append(
            [
                row["work"],
                format_number(row["heaptap"]["all_ratio"], 2, "x"),
                format_number(row["heaptrack"]["all_ratio"], 2, "x"),
                format_part(part),
                "1/5.0",
                verdict(None if part is None else part <= 1 / 5),
                format_number(100 * row["heaptap"]["spread"], 1, " %"),
            ]
        )
    header = ["work", "heaptap", "heaptrack", "part added", "aim", "", "spread"]
    notes = ["heaptap's collector includes the summary at the end; spread: of the target's CPU under heaptap, half the range"]
    print_table("CPU of all processes, as a multiple of the bare program", header, rows, notes)


def print_pair_table(figures):
    rows = []
    by_key = {(row["mode"], row["depth"], row["threads"]): row for row in figures}
    threads = sorted({row["threads"] for row in figures})
    for mode in PAIR_MODES:
        for depth in PAIR_DEPTHS:
            row = [by_key[mode, depth, count] for count in threads]
            one = row[0]["heaptap_added_ns"]
            most = quotient(row[-1]["heaptap_added_ns"], one)
            rows.append(
                [f"{mode} {depth}", format_number(row[0]["bare_ns"], 1)]
                + [format_number(cell["heaptap_added_ns"], 1) for cell in row]
                + [str(PAIR_AIMS_NS[depth]), verdict(one <= PAIR_AIMS_NS[depth])]
                + [format_number(most, 2, "x"), verdict(None if len(threads) < 2 else most <= 1.2)]
                + ["/".join(format_number(cell["heaptrack_added_ns"], 0) for cell in row)]
            )
    header = ["pairs, depth", "bare", *[f"{count} thr." for count in threads], "aim", "", f"{threads[-1]} to 1", "", "heaptrack"]
    notes = ["tight: one loop below the frames; descend: each pair comes down all of them again; aim of `8 to 1`: 1.2x"]
    print_table("CPU added to an allocate-free pair, ns", header, rows, notes)


def print_trace_table(traces):
    rows = []
    for name, trace in traces.items():
        events = max(trace["events"], 1)
        theirs = trace["heaptrack_bytes"]
        rows.append(
            [
                name,
                format_number(trace["events"] / 1e6, 2, " M"),
                format_number(trace["heaptap_bytes"] / events, 3),
                format_number(None if theirs is None else theirs / events, 3),
                "0.500" if name == "cc1plus" else "",
                verdict(trace["heaptap_bytes"] / events <= 0.5) if name == "cc1plus" else "",
                format_number(trace["facts"]["frames"], 0),
            ]
        )
    header = ["work", "events", "heaptap", "heaptrack", "aim", "", "distinct frames"]
    print_table("Trace on disk, bytes an event", header, rows)


def print_replay_table(traces, replays):
    rows = []
    for name, samples in replays.items():
        events, facts = traces[name]["events"], traces[name]["facts"]
        ours = events / median(sample["wall_s"] for sample in samples["heaptap"]) / 1e6
        theirs = None
        if "heaptrack" in samples:
            theirs = events / median(sample["wall_s"] for sample in samples["heaptrack"]) / 1e6
        faster = quotient(ours, theirs)
        rows.append(
            [
                name,
                format_number(ours, 1),
                format_number(theirs, 1),
                format_number(faster, 1, "x"),
                verdict(None if faster is None else ours >= 20 and faster >= 5),
                format_number(facts["events"] / facts["decode_s"] / 1e6, 1) if facts["decode_s"] else "-",
                format_number(facts["events"] / facts["ledger_s"] / 1e6, 1) if facts["ledger_s"] else "-",
                format_number(max(sample["rss_bytes"] for sample in samples["heaptap"]) / MI_B, 1),
                format_number(max((sample["rss_bytes"] for sample in samples.get("heaptrack", [])), default=0) / MI_B, 1),
            ]
        )
    header = ["work", "heaptap", "heaptrack", "faster", "", "decoding", "and ledger", "RSS MiB", "heaptrack"]
    notes = ["`heaptap show summary` and `heaptrack_print`, symbols included; aim: 20 million and 5x; decoding, and ledger: without symbols"]
    print_table("Replay, million events a second", header, rows, notes)


def print_memory_table(memory, traces):
    rows = []
    by_key = {(row["work"], row["variant"]): row for row in memory}

    def peak(work, variant, field="VmHWM"):
        row = by_key.get((work, variant))
        return row["target"].get(field) if row else None

    def mebibytes(value):
        return format_number(None if value is None else value / MI_B, 1)

    for name in dict.fromkeys(row["work"] for row in memory):
        bare, ours, theirs = (peak(name, variant) for variant in ("bare", "heaptap", "heaptrack"))
        if bare is None or ours is None:
            continue
        shared = (peak(name, "heaptap", "RssShmem") or 0) - (peak(name, "bare", "RssShmem") or 0)
        allowed = 2 * MI_B + 16 * traces[name]["facts"]["frames"]
        others = [by_key.get((name, variant), {}).get("helpers_rss_bytes") for variant in ("heaptap", "heaptrack")]
        rows.append(
            [name, mebibytes(bare), mebibytes(ours - bare), mebibytes(shared), mebibytes(allowed)]
            + [verdict(ours - bare <= allowed), mebibytes(None if theirs is None else theirs - bare)]
            + [mebibytes(other) for other in others]
        )
    header = ["work", "bare", "added", "shared", "aim", "", "heaptrack", "collector", "its helpers"]
    notes = ["shared: of what is added, the log's memory; aim: 2 MiB and 16 bytes a distinct frame"]
    print_table("Peak resident memory of the target, MiB, and of the processes beside it", header, rows, notes)


def print_micro_table(micro):
    rows = []
    for item in micro["benchmarks"]:
        per_second = item.get("items_per_second")
        size = item.get("bytes/event")
        rows.append(
            [
                item["name"],
                format_number(1e9 / per_second if per_second else item["cpu_time"], 2),
                format_number(size) if size else "",
            ]
        )
    print_table("Parts, ns of CPU for one", ["benchmark", "ns", "bytes an event"], rows)


def print_seconds_table(title, seconds, base="bare"):
    rows = [[name, format_number(value, 3), format_number(value / seconds[base], 1, "x")] for name, value in seconds.items()]
    print_table(title, ["", "s", "to bare"], rows)
