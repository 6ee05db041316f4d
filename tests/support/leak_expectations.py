"""Leak expectations of a target program, in comments at the lines that allocate.

  // CLEAN                    among the lines at the top: nothing may be called lost (definite, indirect, possible)
  … // LEAK KIND BLOCKS BYTES at the end of a line: what was allocated there, by stacks whose first frame in this file is this
                              line. KIND is definite, indirect, possible, unknown or reachable; BYTES may be *, and
                              N/M where a program of 32 bits has M. Several kinds are separated by commas; a kind of lost blocks that isn't named has none; reachable is only checked
                              where it is named. Where either of two truths can be argued for, `|` stands between them.
                              A comment with a line to itself holds for the next line of code.
  … // LEAK WORD: … ; WORD: … for runs that have this argument (WORD+WORD: all of these). The first that fits counts; where
                              none does, the line is as one without a comment.
In a program that has either, no line without a comment, and no other code, may have lost anything: all false alarms are seen.
"""
import dataclasses
import os
import pathlib

LOST = ("definite", "indirect", "possible")
KINDS = (*LOST, "reachable")
UNKNOWN = "unknown"  # of which the report can't say whether they are lost
_MAPPING = ("mmap", "mmap64", "mremap")


@dataclasses.dataclass
class Case:
    arguments: list  # that the run must have
    truths: list  # of dicts: kind -> (blocks, bytes or None, the same of a program of 32 bits)


@dataclasses.dataclass
class Leaks:
    file: str
    lines: dict  # line -> list of Cases
    clean: bool = False

    def __bool__(self):
        return self.clean or bool(self.lines)


def read(source):
    leaks, waiting = Leaks(source.name, {}), []
    for number, line in enumerate(source.read_text().splitlines(), 1):
        code, _, text = line.partition("// LEAK ")
        waiting += [_case(part) for part in text.split(";") if part]
        if line == "// CLEAN":
            leaks.clean = True
        elif code.strip() and waiting:
            leaks.lines[number], waiting = waiting, []
    if waiting:
        raise ValueError(f"{source.name}: a LEAK without a line of code")
    if leaks.clean and leaks.lines:
        raise ValueError(f"{source.name} is CLEAN and has a LEAK")
    return leaks


def _case(text):
    words, colon, truths = text.rpartition(":")
    return Case(words.strip().split("+") if colon else [], [_truth(truth) for truth in truths.split("|")])


def _truth(text):
    truth = {}
    for part in text.split(","):
        kind, blocks, size = part.split()
        if kind not in (*KINDS, UNKNOWN):
            raise ValueError(f"no such kind of leak: {kind}")
        sizes = [None if word == "*" else int(word) for word in size.split("/")]
        truth[kind] = (int(blocks), sizes[0], sizes[-1])
    return truth


def _line_in(file, stack):
    for frame in stack["frames"]:
        if frame.get("file") and pathlib.PurePath(frame["file"]).name == file:
            return frame["line"]
    return None


def _found(stacks):
    """Blocks and bytes of each kind. Reachable is neither lost nor unknown."""
    found = {kind: [sum(stack["leaks"][kind][unit] for stack in stacks) for unit in ("blocks", "bytes")] for kind in LOST}
    live = [sum(stack[key] for stack in stacks) for key in ("live_blocks", "live_bytes")]
    unknown = [sum(stack["leaks"].get("unknown", {unit: 0})[unit] for stack in stacks) for unit in ("blocks", "bytes")]
    if unknown != [0, 0]:
        found[UNKNOWN] = unknown
    found["reachable"] = [live[i] - unknown[i] - sum(found[kind][i] for kind in LOST) for i in (0, 1)]
    return found


def _differences(truth, found, is_short):
    for kind in (*KINDS, UNKNOWN):
        blocks, *sizes = truth.get(kind, (0, 0, 0))
        size = sizes[is_short]
        if kind == "reachable" and kind not in truth:
            continue
        found_blocks, found_bytes = found.get(kind, (0, 0))
        if found_blocks != blocks or (size is not None and found_bytes != size):
            yield f"{kind} is {found_blocks} blocks, {found_bytes} bytes, not {blocks}, {'any' if size is None else size}"


def _check_line(cases, arguments, found, is_short):
    fitting = next((case for case in cases if all(word in arguments for word in case.arguments)), None)
    truths = fitting.truths if fitting else [{}]
    wrong = [list(_differences(truth, found, is_short)) for truth in truths]
    return [] if any(not differences for differences in wrong) else wrong[0]


def missing_scan(report):
    """None if the report has a scan; else the reason why it is missing."""
    if report["leaks"]["scanned"]:
        return None
    if os.environ.get("HEAPTAP_NO_LEAK_SCAN") == "1":
        return []
    return ["no scan for leaks was made; HEAPTAP_NO_LEAK_SCAN=1 allows that as long as heaptap has none"]


def found_by_line(file, report):
    """line -> kind -> [blocks, bytes], of stacks by their first frame in the file; None: without such a frame."""
    by_line = {}
    for stack in report["stacks"]:
        if stack["function"] not in _MAPPING:
            by_line.setdefault(_line_in(file, stack), []).append(stack)
    return {line: _found(stacks) for line, stacks in by_line.items()}


def check(leaks, arguments, report):
    """Violations of a program's leak expectations for a run with these arguments; empty if all hold."""
    if not leaks:
        return []
    missing = missing_scan(report)
    if missing is not None:
        return missing
    problems, by_line = list(conservation(report)), found_by_line(leaks.file, report)
    for line in sorted({*by_line, *leaks.lines}, key=lambda line: line or 0):
        where = f"{leaks.file}:{line}" if line else f"outside of {leaks.file}"
        found = by_line.get(line) or _found([])
        wrong = _check_line(leaks.lines.get(line, []), arguments, found, report["target"]["arch"] == "i386")
        problems += [f"leaks of {where}: {problem}" for problem in wrong]
    return problems


# Of a process of 32 bits: canaries, mangled pointers, the kernel's random bytes, hashes.
_RANDOM_WORDS = 16


def may_be_chance(report):
    """Whether a non-pointer may look like a pointer into a lost block in more than one of a million runs. With 64 bits none does."""
    live_bytes = report["totals"]["live_bytes"]
    return report["target"]["arch"] == "i386" and live_bytes * _RANDOM_WORDS / 2**32 > 1e-6


def conservation(report):
    """Conservation law of each report with a scan: the stacks' leaks add up to the totals."""
    blocks = [stack for stack in report["stacks"] if stack["function"] not in _MAPPING]
    found = _found(blocks)
    for kind in LOST:
        (count, size), total = found[kind], report["leaks"][kind]
        if (count, size) != (total["blocks"], total["bytes"]):
            yield f"the stacks' {kind} leaks add up to {count} blocks, {size} bytes, in all there are {total}"
    for stack in blocks:
        if any(number < 0 for number in _found([stack])["reachable"]):
            yield f"stack {stack['id']}: more lost than live"
