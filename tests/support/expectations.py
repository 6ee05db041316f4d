"""Expectations in the comment lines at the top of a target program.

  // RUN ARG…                 one run with these arguments; what follows, up to the next RUN, holds for it alone, what stands
                              before the first RUN for all. Without a RUN there is one run without arguments.
  // RUN-LONG ARG…            the same, made only with HEAPTAP_LONG=1
  // REPEAT N                 each run is made N times, ten times as often with HEAPTAP_LONG=1
  // LEVELS OPTION…           besides as always, the program is built and run with each of these, e.g. -O2
  // OPTIONS OPTION…          of `heaptap run`
  // STDIN TEXT               with \\n
  // ENV NAME=VALUE           @TARGETS@ is the directory of the built programs
  // TRACE any | none | incomplete | incomplete-by-agent | threads
                              `any`: nothing is asked of the trace; `none`: not to be run by run_targets.py; `incomplete`: it
                              has to say that not all is in it, the other one by the agent
                              alone; `threads`: more than --aggregate keeps apart, which isn't tried
  // EXPECT exit N            the program's status, with and without heaptap (0 where nothing is said)
  // EXPECT signal NAME
  // EXPECT PATH OP VALUE     a number of the summary, e.g. totals.allocations >= 5, errors.length == 0, or whether something is
                              so: capture.complete == 0, of a run that isn't as TRACE says
  // EXPECT stack KEY=… …     over all stacks that match, the sums are as said. Keys that select:
                                function=NAME        what was called
                                caller=NAME          the function of the innermost frame
                                through=NAME         any frame
                                path=A<B<C           the innermost frames, A called by B called by C
                              keys that are sums: allocations frees allocated_bytes live_blocks live_bytes peak_bytes
                              temporary_allocations; stacks (how many match), threads (how many took part). OP is = >= or <=.
  // EXPECT error KEY=… …     over all errors that match, the count is as said. Keys that select: kind function caller
                                allocated=FUNCTION allocated_in=NAME released_in=NAME; the sum: count
  // CLEAN, // LEAK …         what is said of leaks: leak_expectations.py
Names are compared without arguments, template arguments and clone suffixes.
"""
import dataclasses
import functools
import operator
import re
import shlex
import signal

import leak_expectations

_MAPPING = {"mmap", "mmap64", "mremap"}
_OPERATORS = {"=": operator.eq, "==": operator.eq, ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_SUMS = {"allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes", "peak_bytes", "temporary_allocations",
         "stacks", "threads", "count"}
_SELECTORS = {"function", "caller", "through", "path", "kind", "allocated", "allocated_in", "released_in"}


@dataclasses.dataclass
class Run:
    arguments: list
    long: bool = False
    status: int = 0
    expectations: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Target:
    runs: list
    options: list
    stdin: bytes
    environment: dict
    trace: str  # "" or a word behind TRACE
    leaks: leak_expectations.Leaks
    levels: list = dataclasses.field(default_factory=list)
    repeat: int = 1


def read(source, targets_directory):
    common, runs, current = Run([]), [], None
    target = Target(runs, [], b"", {}, "", leak_expectations.read(source))
    for line in source.read_text().splitlines():
        if not line.startswith("// "):
            if line and not line.startswith("//"):
                break
            continue
        word, _, rest = line[3:].partition(" ")
        if word in ("RUN", "RUN-LONG"):
            current = Run(shlex.split(rest), word == "RUN-LONG", common.status, list(common.expectations))
            runs.append(current)
        elif word == "OPTIONS":
            target.options += shlex.split(rest)
        elif word == "LEVELS":
            target.levels += rest.split()
        elif word == "REPEAT":
            target.repeat = int(rest)
        elif word == "STDIN":
            target.stdin += rest.encode().decode("unicode_escape").encode()
        elif word == "ENV":
            name, _, value = rest.partition("=")
            target.environment[name] = value.replace("@TARGETS@", str(targets_directory))
        elif word == "TRACE":
            target.trace = rest
        elif word == "EXPECT":
            _expect(current or common, rest)
    if not runs:
        runs.append(common)
    return target


def _expect(run, text):
    words = shlex.split(text)
    if words[0] == "exit":
        run.status = int(words[1])
    elif words[0] == "signal":
        run.status = 128 + getattr(signal, words[1])
    else:
        run.expectations.append(text)


@functools.cache
def plain(name):
    """A function's name without arguments, template arguments, clone suffixes."""
    name = re.sub(r" \[clone.*|@.*", "", name or "?").replace("(anonymous namespace)::", "")
    previous = None
    while previous != name:
        previous, name = name, re.sub(r"<[^<>]*>", "", name)
    name = re.sub(r"(?<!operator)\(.*", "", name).strip()
    return name if "operator" in name else name.rpartition(" ")[2]  # without the type that templates begin with


def names(frames):
    return [plain(frame.get("function")) for frame in frames]


def _selects(entry, key, value):
    frames = names(entry["frames"])
    if key == "caller":
        return frames[:1] == [value]
    if key == "through":
        return value in frames
    if key == "path":
        path = value.split("<")
        return frames[:len(path)] == path
    if key == "allocated":
        return (entry.get("allocated") or {}).get("function") == value
    if key in ("allocated_in", "released_in"):
        return value in names((entry.get(key[:-3]) or {}).get("frames", []))
    return entry[key] == value


def _sum(entries, key):
    if key == "stacks":
        return len(entries)
    if key == "threads":
        return len({thread for entry in entries for thread in entry["threads"]})
    if key == "count":
        return sum(entry.get("count", 1) for entry in entries)
    values = [entry[key] for entry in entries]
    return None if None in values else sum(values)


def _check_entries(kind, terms, report):
    entries, wanted = report["stacks" if kind == "stack" else "errors"], []
    for term in terms:
        key, compare, value = re.fullmatch(r"(\w+)(=|>=|<=)(.*)", term).groups()
        if key in _SUMS:
            wanted.append((key, compare, int(value)))
        elif key in _SELECTORS and compare == "=":
            entries = [entry for entry in entries if _selects(entry, key, value)]
        else:
            raise ValueError(f"no such key: {term}")
    for key, compare, value in wanted:
        found = _sum(entries, key)
        if found is None and is_aggregate(report):
            continue
        if not _OPERATORS[compare](found, value):
            yield f"{key} is {found}"


def is_aggregate(report):
    """Made with --aggregate: there are no single events, and figures that need them are null."""
    return report.get("capture", {}).get("events_kept") is False


def check(text, report):
    """Violations of an expectation, as sentences; empty if it holds."""
    words = shlex.split(text)
    if is_aggregate(report) and (words[0] == "error" or words[0].startswith("errors.")):
        problems = []
    elif words[0] in ("stack", "error"):
        problems = list(_check_entries(words[0], words[1:], report))
    else:
        path, compare, value = words
        found = report
        for part in path.split("."):
            found = len(found) if part == "length" else found[part]
        holds = found is not None and _OPERATORS[compare](found, int(value)) or found is None and is_aggregate(report)
        problems = [] if holds else [f"it is {found}"]
    return [f"EXPECT {text}: {problem}" for problem in problems]


class _Place:
    """A stack as text, formatted only when printed."""

    def __init__(self, stack):
        self._stack = stack

    def __str__(self):
        return f"stack {self._stack['id']} ({self._stack['function']} from {' < '.join(names(self._stack['frames'])[:4])})"


def conservation(report):
    """Violations of the conservation laws of complete traces."""
    totals = report["totals"]
    blocks = [stack for stack in report["stacks"] if stack["function"] not in _MAPPING]
    mappings = [stack for stack in report["stacks"] if stack["function"] in _MAPPING]
    for stack in report["stacks"]:
        if stack["live_blocks"] is None:
            continue
        where = _Place(stack)
        if stack["function"] not in _MAPPING and stack["allocations"] - stack["frees"] != stack["live_blocks"]:
            yield f"{where}: {stack['allocations']} allocations - {stack['frees']} frees != {stack['live_blocks']} live"
        if stack["live_blocks"] == 0 and stack["live_bytes"] != 0:
            yield f"{where}: no live block, {stack['live_bytes']} live bytes"
        if stack["live_bytes"] > stack["allocated_bytes"]:
            yield f"{where}: more live than allocated bytes"
        if (stack["temporary_allocations"] or 0) > stack["frees"]:
            yield f"{where}: more temporary than released blocks"
        if any(stack[key] < 0 for key in _SUMS & stack.keys() if isinstance(stack[key], int)):
            yield f"{where}: a negative number"
    for key in ("allocations", "allocated_bytes", "live_blocks", "live_bytes", "temporary_allocations"):
        if totals[key] is None:
            continue
        if sum(stack[key] for stack in blocks) != totals[key]:
            yield f"the stacks' {key} add up to {sum(stack[key] for stack in blocks)}, in totals there are {totals[key]}"
    if not is_aggregate(report) and sum(stack["peak_bytes"] for stack in blocks) != totals["peak_live_bytes"]:
        yield f"the stacks' peak_bytes add up to {sum(s['peak_bytes'] for s in blocks)}, the peak is {totals['peak_live_bytes']}"
    if totals["frees"] is None or totals["peak_live_bytes"] is None:
        return
    released = sum(stack["frees"] for stack in blocks)
    others = totals["unknown_frees"] + (totals["bad_frees"] or 0) + (totals["double_frees"] or 0)
    if not released <= totals["frees"] <= released + others:
        yield f"{totals['frees']} frees in totals, {released} of the stacks' blocks, {others} of no block"
    if totals["live_blocks"] > totals["peak_live_blocks"] or totals["live_bytes"] > totals["peak_live_bytes"]:
        yield "more alive than at the peak"
    if sum(stack["live_bytes"] for stack in mappings) != totals["mapped_live_bytes"]:
        yield f"mappings add up to {sum(s['live_bytes'] for s in mappings)}, mapped_live_bytes is {totals['mapped_live_bytes']}"
    kinds = totals.get("mapped", {})
    known = [kinds[kind]["live_bytes"] for kind in kinds if kind != "memory"]
    if None not in known and sum(known) != totals["mapped_live_bytes"]:
        yield f"the kinds of what is mapped add up to {sum(known)}, mapped_live_bytes is {totals['mapped_live_bytes']}"
    for stack in mappings:
        if sum(stack["mapped"].values()) != stack["live_bytes"]:
            yield f"{_Place(stack)}: its kinds add up to {sum(stack['mapped'].values())}, it has {stack['live_bytes']} bytes"
    if len({stack["id"] for stack in report["stacks"]}) != len(report["stacks"]):
        yield "two stacks have the same id"
