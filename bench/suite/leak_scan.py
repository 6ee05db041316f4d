"""Leak scan of a large heap: heaptap's scanner from outside, compared with LeakSanitizer's check of the same heap."""
import os
from statistics import median

from . import tables
from .measure import ask_json

AVERAGE_BYTES = 800
STEPS = ("index_s", "collect_s", "resolve_s", "classify_s")


def measure(build, blocks, runs, note):
    """A list of rounds, each with heaptap's figures and LeakSanitizer's (None if the compiler doesn't support it)."""
    programs = {name: os.path.join(build, "bench", name) for name in ("leak_scan", "leak_scan_lsan")}
    rounds = []
    for number in range(runs):
        note(f"leak scan of {blocks} blocks, round {number + 1}")
        figures = {}
        for name, program in programs.items():
            known = os.access(program, os.X_OK)
            figures[name] = ask_json(program, str(blocks), str(AVERAGE_BYTES)) if known else None
        rounds.append(figures)
    return rounds


def row_of(name, samples, seconds):
    total = median(seconds)
    first = samples[0]
    return [name, tables.format_number(total, 2), tables.format_number(first["bytes"] / total / 1e9, 2),
            tables.format_number(first["blocks"] / total / 1e6, 2)]


def print_table(rounds):
    ours = [figures["leak_scan"] for figures in rounds]
    rows = [row_of(f"heaptap: {step[:-2]}", ours, [sample[step] for sample in ours]) for step in STEPS]
    rows.append(row_of("heaptap: all of these", ours, [sum(sample[step] for step in STEPS) for sample in ours]))
    rows += [row_of(f"heaptap: {step}", ours, [sample[f"{step}_s"] for sample in ours]) for step in ("dominators", "holders")]
    theirs = [figures["leak_scan_lsan"] for figures in rounds if figures["leak_scan_lsan"]]
    if theirs:
        rows.append(row_of("LeakSanitizer", theirs, [sample["total_s"] for sample in theirs]))
    title = f"Leak scan, {ours[0]['blocks']} blocks, {ours[0]['bytes'] / 1e9:.1f} GB; the target is stopped for `collect`"
    tables.print_table(title, ["step", "CPU, s", "GB/s", "M blocks/s"], rows)
