"""What is recorded of stacks: --depth N against whole stacks, callers of releases against their whole stacks, and recursions of
100,000 levels against those of 1,000. CPU added to the target."""
from . import tables
from .variants import Bare, Heaptap

DEPTHS = (1, 8, 30)
LEVELS = (1_000, 10_000, 100_000)
RECURSION_EVENTS = 2_000_000
AIM_OF_WHOLE = 1.0  # of --depth N, to whole stacks
AIM_OF_RECURSION = 3.0  # of an event 100,000 levels deep, to one 1,000 deep


def variant_options():
    options = {"all": [], "whole releases": ["--release-stacks", "full"]}
    return options | {f"-d {depth}": ["-d", str(depth)] for depth in DEPTHS}


def recursion_name(levels):
    return f"recursion, {levels:,} levels"


def measure(session, catalogue, options, directory):
    """Works whose variants have been measured."""
    heaptap = session.tools["heaptap"]
    bare = Bare(directory)
    variants = [bare] + [Heaptap(directory, heaptap, [*own, *options], name) for name, own in variant_options().items()]
    churn = catalogue.churn("churn by depth", 300_000)
    session.note(churn.name)
    session.measure(churn, variants)
    for levels in LEVELS:
        work = catalogue.recursion(recursion_name(levels), levels, RECURSION_EVENTS // (2 * levels))
        session.note(work.name)
        session.measure(work, [bare, variants[1], variants[2]])
    return churn.name


def figures(samples, churn):
    def added(work, variant):
        return tables.added(samples.target(work, variant), samples.target(work, "bare"))

    return {
        "churn_added_s": {name: added(churn, name) for name in variant_options()},
        "recursion_event_ns": {
            variant: {levels: added(recursion_name(levels), variant) * 1e9 / RECURSION_EVENTS for levels in LEVELS}
            for variant in ("all", "whole releases")
        },
    }


def print_table(result):
    churn = result["churn_added_s"]
    rows = []
    for name, added in churn.items():
        part = tables.quotient(added, churn["all"])
        is_depth = name.startswith("-d")
        verdict = tables.verdict(None if part is None else part <= AIM_OF_WHOLE) if is_depth else ""
        rows.append([name, tables.format_number(added, 3), tables.format_number(part, 2, "x"), verdict])
    tables.print_table("What is recorded of stacks, C++ churn: CPU added to the target, s", ["stacks", "added", "of all", "aim 1x"], rows)
    rows = []
    for variant, by_levels in result["recursion_event_ns"].items():
        ratio = tables.quotient(by_levels[LEVELS[-1]], by_levels[LEVELS[0]])
        rows.append([variant] + [tables.format_number(by_levels[levels], 0) for levels in LEVELS] + [
            tables.format_number(ratio, 1, "x"), tables.verdict(None if ratio is None else ratio <= AIM_OF_RECURSION)])
    tables.print_table("Recursion: added to the target, ns an event", ["stacks"] + [f"{levels:,}" for levels in LEVELS] + ["last to first", "aim 3x"], rows)
