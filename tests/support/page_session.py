"""Checked sessions in documentation pages: fenced blocks after a line `<!-- checked -->`, with commands (`$ …`) and their output.

Values that vary from run to run are compared by form: PIDs, times, addresses. A line `…` matches any lines. A command continues on
the next line after a backslash. `<!-- needs NAME -->`: the page is skipped if program NAME isn't installed. Behind `<!-- checked but for
numbers -->` all numbers and units are compared by form, for programs that go on while they are looked at.
"""
import dataclasses
import re

MARK = "<!-- checked -->"
LOOSE_MARK = "<!-- checked but for numbers -->"
NEEDED = re.compile(r"^<!-- needs (\S+) -->$", re.MULTILINE)  # a program that not every machine has
BLOCK = re.compile(rf"^({re.escape(MARK)}|{re.escape(LOOSE_MARK)})\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d[\d.,]*(?:[KMG]\b| (?:ns|us|ms|s|min|[KMG]iB|B)\b)?")
BARS = re.compile("[▁▂▃▄▅▆▇█]+")
DURATION = r"\d+(?:\.\d+)? (?:ns|us|µs|ms|s|min)(?: \d+ s)?"
# What is looked for in a page's line, and what may stand there instead.
FORMS = [
    # A peak in the middle of some milliseconds: how far that is from the end is a matter of the machine's pace.
    (re.compile(r"(?<=iB )after " + DURATION + "$"), rf"(?:after {DURATION}|\(at the end: it was still growing\))"),
    # What is resident depends on the machine's libraries and on how much of them was touched.
    (re.compile(r"(?<=^  resident  ).*$"), r".*"),
    (re.compile(r"(?<=^  peak resident  ).*$"), r".*"),
    (re.compile(DURATION), DURATION),
    (re.compile(r"0x[0-9a-f]+"), r"0x[0-9a-f]+"),
    (re.compile(r"(?<=\(pid )\d+"), r"\d+"),
    (re.compile(r"(?<=process )\d+"), r"\d+"),
    (re.compile(r"(?<=\.)\d+(?=\.(?:htap|html|run))"), r"\d+"),
    (re.compile(r"(?<=-)\d+(?=-\d+\.memlog)"), r"\d+"),
    (re.compile(r"(?<=/)\d+(?=\.htap)"), r"\d+"),
    (re.compile(r"(?<= )\d+\.\d+ sec$"), r"\d+\.\d+ sec"),
    (re.compile(r"(?<=scanned )[\d.,]+ [KMG]?i?B"), r"[\d.,]+ [KMG]?i?B"),
    (re.compile(r"(?<=\.html \()[\d.,]+ [KMG]?i?B"), r"[\d.,]+ [KMG]?i?B"),
]


@dataclasses.dataclass
class Step:
    line: int  # of the page
    command: str
    printed: list  # lines
    is_loose: bool = False  # numbers are compared by form


def steps_of(text):
    """The commands of a page's checked blocks, in order."""
    if text.count(MARK) + text.count(LOOSE_MARK) != len(BLOCK.findall(text)):
        raise ValueError(f"{MARK} has to stand right before a fenced block")
    steps = []
    for block in BLOCK.finditer(text):
        first = text[: block.start(2)].count("\n") + 1
        lines = iter(enumerate(block[2].splitlines(), first))
        for number, line in lines:
            if line.startswith("$ "):
                command = line[2:]
                while command.endswith("\\"):
                    command += "\n" + next(lines)[1]
                steps.append(Step(number, command, [], block[1] == LOOSE_MARK))
            elif not steps or steps[-1].line < first:
                raise ValueError(f"line {number}: a checked block begins with a command")
            else:
                steps[-1].printed.append(line)
    return steps


def needs_of(text):
    return NEEDED.findall(text)


def pattern_of(line):
    """A regular expression for a line of the page."""
    pattern, at = "", 0
    while at < len(line):
        found = [(match.start(), -match.end(), form) for wanted, form in FORMS if (match := wanted.search(line, at))]
        if not found:
            break
        start, end, form = min(found)
        pattern += re.escape(line[at:start]) + form
        at = -end
    return pattern + re.escape(line[at:])


def without_numbers(line):
    """A line of any numbers, columns of any width, any bars, and a peak at any time."""
    line = BARS.sub("▁", NUMBER.sub("N", line))
    line = re.sub(r"(?<=peak N )(?:after N|\(at the end: it was still growing\))", "at some time", line)
    return re.sub(r"(?<=\S) +", " ", line)


def difference_of(step, printed):
    """Why a step's output doesn't match the page's lines; None: it does."""
    if step.is_loose:
        return difference([without_numbers(line) for line in step.printed], [without_numbers(line) for line in printed])
    return difference(step.printed, printed)


def difference(expected, printed):
    """Why the output doesn't match the page's lines; None: it does."""
    if not expected:
        return None if not printed else f"printed, but not in the page: {printed[0]!r}"
    if expected[0] == "…":
        reasons = [difference(expected[1:], printed[skipped:]) for skipped in range(len(printed) + 1)]
        return None if None in reasons else reasons[0]
    if not printed:
        return f"in the page, but not printed: {expected[0]!r}"
    if not re.fullmatch(pattern_of(expected[0]), printed[0]):
        return f"in the page {expected[0]!r}, printed {printed[0]!r}"
    return difference(expected[1:], printed[1:])
