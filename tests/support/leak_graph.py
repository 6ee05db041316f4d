"""Heap graph of a random program (see targets/leaks/leak_random.c), and its expected leaks, computed from the definitions
alone.

A block is reachable where pointers to starts lead to it from a root; possible where any pointers do; else it is lost. Among
the lost blocks, a group that reach each other and that no other lost block points to has one definite block, the one that was
allocated first; all others are indirect.
"""
import collections
import dataclasses

from leak_expectations import KINDS


@dataclasses.dataclass
class Graph:
    size: dict = dataclasses.field(default_factory=dict)  # of each block
    line: dict = dataclasses.field(default_factory=dict)  # that allocated it
    pointers: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(list))  # from -> [(to, is to its start)]
    roots: list = dataclasses.field(default_factory=list)  # of (to, is to its start)


def read(text):
    graph, freed = Graph(), set()
    for line in text.splitlines():
        word, *rest = line.split()
        if word == "block":
            number, graph.size[int(rest[0])], graph.line[int(rest[0])] = map(int, rest)
        elif word == "pointer":
            graph.pointers[int(rest[0])].append((int(rest[1]), rest[2] == "start"))
        elif word == "root":
            graph.roots.append((int(rest[1]), rest[2] == "start"))
        elif word == "freed":
            freed.add(int(rest[0]))
        else:
            raise ValueError(f"no such word: {line}")
    for number in freed:
        del graph.size[number]
    return graph


def _flood(graph, begin, certain):
    """Blocks reached from those in begin: by pointers to starts only, or by all."""
    seen, waiting = set(), [number for number in begin if number in graph.size]
    while waiting:
        number = waiting.pop()
        if number not in seen:
            seen.add(number)
            waiting += [to for to, is_start in graph.pointers[number] if to in graph.size and (is_start or not certain)]
    return seen


@dataclasses.dataclass
class Truth:
    reachable: set
    possible: set
    definite: set
    indirect: set


def truth(graph):
    reachable = _flood(graph, [to for to, is_start in graph.roots if is_start], True)
    possible = _flood(graph, [to for to, _ in graph.roots], False) - reachable
    lost = graph.size.keys() - reachable - possible
    reach = {number: _flood(graph, [number], False) for number in lost}
    definite = set()
    for number in lost:
        before = {other for other in lost if number in reach[other]}
        if before <= reach[number]:
            definite.add(min(before))
    return Truth(reachable, possible, definite, lost - definite)


def expected_by_line(graph):
    """line -> kind -> [blocks, bytes]"""
    found = truth(graph)
    lines = {line: {kind: [0, 0] for kind in KINDS} for line in graph.line.values()}
    for kind in KINDS:
        for number in getattr(found, kind):
            count = lines[graph.line[number]][kind]
            count[0] += 1
            count[1] += graph.size[number]
    return lines
