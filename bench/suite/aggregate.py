"""Totals kept in the target (--aggregate) against the log: CPU that each adds to the target, and to all processes, with one thread and
with several."""
from . import tables
from .processes import Failure
from .variants import Bare, Heaptap

WORKS = ("tight pairs", "C++ churn", "python3")
THREADS = (1, 4, 16)
PASSED_BLOCKS = 6_000_000  # of all threads together
AIM = 1 / 2  # of what the log adds to all processes
FLAT = 1.3  # what an event may cost with the most threads, to one


def passing_name(threads):
    return f"passing, {threads} thread{'s' if threads > 1 else ''}"


def measure(session, catalogue, works, options, directory):
    """Names of what was measured: none where this heaptap can't."""
    heaptap = session.tools["heaptap"]
    variants = [
        Bare(directory),
        Heaptap(directory, heaptap, options, "log"),
        Heaptap(directory, heaptap, ["--aggregate", *options], "aggregate"),
    ]
    chosen = [work for work in works if work.name in WORKS]
    for threads in THREADS:
        chosen.append(catalogue.passing(passing_name(threads), threads, PASSED_BLOCKS // threads))
    for work in chosen:
        session.note(f"totals and log, {work.name}")
        try:
            variants[-1].run(work)  # so that files are in memory
        except Failure as failure:
            session.note(f"--aggregate is left out: {failure}")
            return []
        session.measure(work, variants)
    return [work.name for work in chosen]


def figures(samples, names):
    rows = []
    for name in names:
        row = {"work": name}
        # Works have more bare runs, of other turns: the last ones belong to these.
        bare = samples.target(name, "bare")[-len(samples.target(name, "log")):]
        for variant in ("log", "aggregate"):
            row[variant] = {
                "added_s": tables.added(samples.target(name, variant), bare),
                "all_added_s": tables.added(samples.all_processes(name, variant), bare),
            }
        heaptrack = samples.target(name, "heaptrack")
        row["heaptrack_added_s"] = tables.added(heaptrack, samples.target(name, "bare")[: len(heaptrack)])
        rows.append(row)
    return rows


def print_table(rows):
    cells = []
    for row in rows:
        log, totals = row["log"], row["aggregate"]
        part = tables.quotient(totals["all_added_s"], log["all_added_s"])
        cells.append(
            [row["work"]]
            + [tables.format_number(one[key], 3) for key in ("added_s", "all_added_s") for one in (log, totals)]
            + [tables.format_part(part), tables.format_part(AIM), tables.verdict(None if part is None else part <= AIM)]
            + [tables.format_part(tables.quotient(totals["added_s"], row["heaptrack_added_s"]))]
        )
    header = ["work", "log", "totals", "log, all", "totals, all", "part", "aim", "", "of heaptrack"]
    added = {row["work"]: row["aggregate"]["added_s"] for row in rows}
    flat = tables.quotient(added.get(passing_name(THREADS[-1])), added.get(passing_name(THREADS[0])))
    notes = [
        "part: of what the log adds to all processes; of heaptrack: added to the target, aim 1/10",
        f"{passing_name(THREADS[-1])} to {passing_name(THREADS[0])}: {tables.format_number(flat, 2, 'x')}, aim {FLAT}x"
        f" on as many processors: {tables.verdict(None if flat is None else flat <= FLAT)}",
    ]
    tables.print_table("Totals in the target (--aggregate) and the log: CPU added to the target and to all processes, s", header, cells, notes)
