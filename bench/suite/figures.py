"""heaptap beside other tools: tables, and their places in pages."""
import re
from statistics import median

from .tables import Samples, format_number, ratio

BEGIN, END = "<!-- figures: made by bench/figures -->\n", "<!-- end of the figures -->"
TOOLS = ("heaptap", "heaptrack", "Memcheck", "LeakSanitizer")
WORKS = ("sqlite3", "python3", "perl", "cc1plus", "C++ churn")  # programs of Debian that allocate much, and one of the suite
FIRST = ("python3", "cc1plus")  # of these, what the README shows
COMMANDS = {"recording": "bench/figures --only recording", "leaks": "bench/figures --only leaks", "reading": "bench/figures --only reading"}


def times(value):
    return "–" if value is None else f"{format_number(value, 1 if value < 10 else 0)}×"


def shown(work):
    """A program's name, or the words for one of the suite."""
    return f"the suite's {work}" if " " in work else f"`{work}`"


def recording_rows(samples, works):
    """A work's row: CPU time of the program as a multiple of what it takes alone; and that of all processes, where others work for the tool."""
    samples = Samples(samples)
    for work in works:
        bare = samples.target(work, "bare")
        cells = []
        for tool in TOOLS:
            program, everything = samples.target(work, tool), samples.all_processes(work, tool)
            ratios = [times(ratio(values, bare[: len(values)])) for values in (program, everything)]
            cells.append(" / ".join(dict.fromkeys(ratios)))
        yield work, [f"CPU time of {shown(work)}, recorded (alone: 1×)", *cells]


def leaks_row(rounds):
    """The scan of one heap, as a multiple of heaptap's CPU time."""
    steps = ("index_s", "collect_s", "resolve_s", "classify_s")
    pairs = [(sum(one["leak_scan"][step] for step in steps), one["leak_scan_lsan"]) for one in rounds]
    theirs = [other["total_s"] / own for own, other in pairs if other]
    first = rounds[0]["leak_scan"]
    name = f"CPU time to scan {first['blocks']:,} blocks, {first['bytes'] / 1e9:.1f} GB, for leaks ({median(own for own, _ in pairs):.1f} s)"
    return [name, "1×", "–", "–", times(median(theirs) if theirs else None)]


def reading_row(work, replays):
    """Reading what was recorded of a work, as a multiple of heaptap's CPU time."""
    own = [sample["cpu_s"] for sample in replays["heaptap"]]
    theirs = [sample["cpu_s"] for sample in replays.get("heaptrack", [])]
    return [f"CPU time to read the recording of `{work}` ({median(own):.1f} s)", "1×", times(ratio(theirs, own)), "–", "–"]


def first_of(groups):
    """The README's figures."""
    return {"recording": {work: row for work, row in groups["recording"].items() if work in FIRST}, "leaks": groups["leaks"]}


def table(groups):
    """The lines of a table; `groups`: {name in COMMANDS: {work: row}}."""
    lines = ["| | " + " | ".join(TOOLS) + " | made by |", "|---" * (len(TOOLS) + 2) + "|"]
    for name, rows in groups.items():
        lines += ["| " + " | ".join([*row, f"`{COMMANDS[name]}`"]) + " |" for row in rows.values()]
    return "\n".join(lines) + "\n"


def replaced(page, text):
    """The page with this text between its marks."""
    pattern = re.compile(f"({re.escape(BEGIN)}).*?(?={re.escape(END)})", re.DOTALL)
    if len(pattern.findall(page)) != 1:
        raise ValueError(f"the page has to have '{BEGIN.strip()}' and '{END}' once")
    return pattern.sub(lambda found: f"{found[1]}\n{text}\n", page)
