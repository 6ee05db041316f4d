"""What pages say of constants, numbers of formats, commands and options, held against the sources. Private to check_docs.py.

Sources are found by what stands in them, never by their directory."""

import dataclasses
import functools
import re

import check_layers

KIB, MIB = 1 << 10, 1 << 20


@dataclasses.dataclass(frozen=True)
class Fact:
    """A statement of a page: the numbers of its groups are the values of these constants, in the units given."""

    page: str
    says: str  # a pattern with a group for each constant
    constants: tuple
    beside: str = ""  # stands in the file that defines them, where others have one of the same name
    units: tuple = ()  # none: 1 each


WIRE, TESTS, SECURITY = "docs/wire.md", "docs/tests.md", "docs/security.md"
CHANNEL = "docs/decisions/0114-channel-between-machines.md"
LINE = "docs/decisions/0115-line-and-sessions.md"
STREAM = "docs/decisions/0116-stream-of-events.md"
NAMES = "docs/decisions/0117-symbols-files-and-rows.md"
TWO_MACHINES = "docs/howto/two-machines.md"

FACTS = (
    Fact("docs/man/heaptap-run.1.scd",
         r"or (3) if it can't be judged\. (127): no such program\. (126): .* (125): heaptap itself failed\. (2): wrong usage",
         ("kExitUnknown", "kExitNotFound", "kExitNotExecutable", "kExitFailed", "kExitUsage")),
    Fact(WIRE, r"This is version (\d+)\.(\d+)\.", ("kMajorVersion", "kMinorVersion"), "kFileMagic"),
    Fact(WIRE, r"major version +u16, (\d+)\n.*minor version +u16, (\d+)", ("kMajorVersion", "kMinorVersion"), "kFileMagic"),
    Fact(WIRE, r"u32, (0x\w+): the bytes", ("kFrameSync",)),
    Fact(WIRE, r"larger than (\d+) MiB, stored or raw", ("kMaxFrameBytes",), units=(MIB,)),
    Fact(WIRE, r"part of a trace\. Version (\d+)", ("kRawStreamVersion",)),
    Fact(WIRE, r"version    u32, (\d+); a receiver", ("kRawStreamVersion",)),
    Fact(WIRE, r"n below: (\d+) to (\d+)", ("kLeastTableBits", "kMaxTableBits")),
    Fact(WIRE, r"by itself; at most (\d+) times what is stored", ("kMaxPacking",)),
    Fact(WIRE, r"how many events follow, at most ([\d,]+)", ("kMaxEvents",), "kMaxEventsOfByte"),
    Fact(WIRE, r"steps of at most (\d+) us and ([\d,]+) ticks", ("time_step_ns", "kMaxStepTicks"), units=(1000, 1)),
    Fact(WIRE, r"a request has at most ([\d,]+), an answer (\d+) MiB", ("kMaxRequestBytes", "kMaxAnswerBytes"), "enum class CommonKind",
         (1, MIB)),
    Fact(WIRE, r"since minor version (\d+) of the host's", ("kFunctionsSinceMinor",)),
    Fact(WIRE, r"same messages, of at most (\d+) MiB", ("kMaxMessageBytes",), "kSessionBytes", (MIB,)),
    Fact(WIRE, r"names the session, (\d+) bytes", ("kSessionBytes",)),
    Fact(WIRE, r"functions' symbols \(field 6, one each; at most (\d+) of (\d+) bytes", ("kMaxFunctions", "kMaxFunctionName"),
         "kMaxFunctionName"),
    Fact(WIRE, r"its name, of 1 to (\d+) bytes", ("kMaxMarkNameBytes",)),
    Fact(WIRE, r"build-id \(124\), and at most (\d+) KiB", ("kFilePieceBytes",), units=(KIB,)),
    Fact(WIRE, r"build-ids, at most ([\d,]+) \|", ("kMaxIds",)),
    Fact(WIRE, r"addresses \(132\), at most ([\d,]+) \|", ("kMaxAddresses",), "kMaxFramesEach"),
    Fact(WIRE, r"Bounds: ([\d,]+) bytes a message", ("kMaxMessageBytes",), "RFC 6762, 17"),
    Fact(WIRE, r"Kept are ([\d,]+) services, (\d+) of one sender", ("kMaxFoundServices", "kMaxServicesOfSender")),
    Fact(WIRE, r"(\d+) addresses of a host, (\d+) links", ("kMaxLinkAddresses", "kMaxLinks")),
    Fact(WIRE, r"(\d+) unicast answers a second", ("kMaxAnswersToOne",)),
    Fact(CHANNEL, r"\((\d[\d,]*) services, (\d+) of one sender, ", ("kMaxFoundServices", "kMaxServicesOfSender")),
    Fact(CHANNEL, r", (\d[\d,]*) bytes a message\)", ("kMaxMessageBytes",), "RFC 6762, 17"),
    Fact(CHANNEL, r"bounds cost: (\d+) waiting, (\d+) in handshakes", ("kMaxWaiting", "kMaxHeard"), "class Admission"),
    Fact(CHANNEL, r"(\d+) at once and then 10 a second", ("kAllAtOnce",)),
    Fact(LINE, r"each new session \((\d+) at most\)", ("kMaxSessions",)),
    Fact(LINE, r"\((\d+) MiB, `--buffer`\)", ("kBufferBytes",), units=(MIB,)),
    Fact(LINE, r"Heartbeats\*\* every (\d+) s; (\d+) s of silence", ("heartbeat", "silence"), "struct Intervals", (1000, 1000)),
    Fact(LINE, r"a session, (\d+) random bytes", ("kSessionBytes",)),
    Fact(LINE, r"No host for `--orphan-timeout`\*\* \((\d+) s\)", ("orphan_timeout",), "struct TargetOptions"),
    Fact(LINE, r"`--exit-wait` \((\d+) s\)", ("exit_wait",), "struct ForwardingOptions"),
    Fact(LINE, r"(\d+) s of silence \(the host 30 s\), (\d+) minutes", ("silence", "in_all"), "class LineToHost"),
    Fact(LINE, r"\(the host (\d+) s\)", ("kLongestSilentWait",)),
    Fact(LINE, r"\| ([\d,]+) processes at once, ([\d,]+) in all; ", ("kMaxAtOnce", "kMaxInAll"), "kMaxInAll"),
    Fact(LINE, r"; (\d+) events a byte; ", ("kMaxEventsOfByte",)),
    Fact(LINE, r"; (\d+) Mi events held back", ("kMaxWaiting",), "kBatchEvents", (MIB,)),
    Fact(LINE, r"\| host \| ([\d,]+) unread answers", ("kMaxUnheard",)),
    Fact(STREAM, r"of at most (\d+) µs and ([\d,]+) ticks", ("time_step_ns", "kMaxStepTicks"), units=(1000, 1)),
    Fact(STREAM, r"differ by at most ([\d,]+) ticks", ("kMaxDisorder",)),
    Fact(STREAM, r"more than (\d+) KiB wait", ("kIsBehind",), units=(KIB,)),
    Fact(NAMES, r"(\d+) descriptors, ([\d,]+) modules", ("kMaxOpen", "kMaxOffers"), "kMaxOffers"),
    Fact(NAMES, r"Pieces of (\d+) KiB", ("kFilePieceBytes",), units=(KIB,)),
    Fact(NAMES, r"\(mode 0700, files 0600, (\d+) GiB", ("kMaxCacheBytes",), units=(1 << 30,)),
    Fact(NAMES, r"(\d+) ms an answer", ("kMaxTime",), "kMaxIds"),
    Fact(NAMES, r"in ([\d,]+) tables", ("kMaxTables",), "kMaxKeptRows"),
    Fact(SECURITY, r"handshakes a second, after (\d+)", ("kAllAtOnce",)),
    Fact(SECURITY, r"have a host write a report, ([\d,]+) at most", ("kMaxReportsByConsole",)),
    Fact(TWO_MACHINES, r"Without a host for `--orphan-timeout` \((\d+) s\)", ("orphan_timeout",), "struct TargetOptions"),
    Fact(TWO_MACHINES, r"for `--exit-wait` \((\d+) s\)", ("exit_wait",), "struct ForwardingOptions"),
    Fact(TESTS, r"\| `write` \|.*\| (\d+)ms \|", ("write",), "struct Intervals"),
    Fact(TESTS, r"\| `heartbeat` \|.*\| (\d+)ms \|", ("heartbeat",), "struct Intervals"),
    Fact(TESTS, r"\| `silence` \|.*\| (\d+)ms \|", ("silence",), "struct Intervals"),
    Fact(TESTS, r"\| `retry` \|.*\| (\d+)ms \|", ("retry",), "struct Intervals"),
    Fact(TESTS, r"\| `look` \|.*\| (\d+)ms \|", ("look",), "struct Intervals"),
    Fact(TESTS, r"\| `reach` \|.*\| (\d+)ms \|", ("reach",), "struct Intervals"),
)


@dataclasses.dataclass(frozen=True)
class Numbers:
    """A section of a page names each number of some enumerations, and no other, where these patterns find numbers."""

    page: str
    section: str  # its heading
    says: tuple
    enumerations: tuple  # their heads in the sources, each with what stands beside it in its file


FIRST_CELL = r"^\| ([\d, ]+) \|"
NUMBERS = (
    Numbers(WIRE, "## A frame", (FIRST_CELL,), (("enum class FrameType", "kFrameSync"),)),
    Numbers(WIRE, "## The control protocol", (FIRST_CELL, r"\bkind (\d+)\b", r"(\d+) \*(?:received|heartbeat)\*"),
            (("enum class CommonKind", "kMajorVersion"), ("enum class Kind", "kSubscribe"), ("enum class Kind", "kHeartbeat"),
             ("enum class Kind", "kFramesAt"))),
    Numbers(WIRE, "## Capture and end", (FIRST_CELL, r"^\|[^|]*\|[^|]*\| \| (\d+) \|"), (("enum class Field", "kCollectorPeakRssBytes"),)),
)

# Names of the project's own: constants, members of classes, tests.
OWN_NAME = re.compile(r"`(?:\w+::)*(?:(k[A-Z][A-Za-z0-9]+)|[A-Z][a-z]\w*::(\w+)|(?:e2e\.)?(\w+_test))(?:\(\))?`")
# Commands that no page needs to name.
UNNAMED_COMMANDS = {"completions", "help"}
# What pages show as mistyped.
MISTYPED = {"hlep"}
COMMAND = re.compile(r"(?:`|(?<=\$) |^ {4,})(heaptap(?:-target)?) ([a-z][a-z-]*)\b(?!\.)([^`\n]*)", re.MULTILINE)
MAN_COMMAND = re.compile(r"\*(heaptap(?:-target)?) ([a-z][a-z-]*)()")
MAN_PAGE = re.compile(r"\*(heaptap[\w.-]*)\*\((\d)\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*(?!\w)")
# Where the rest of a line isn't heaptap's: another program's arguments, a comment, another command.
REST = re.compile(r" -- | #|[|;&]| \$\(")
FORMAT_VERSION = re.compile(r'`(heaptap-[a-z]+)`, version (\d+)|"format": "(heaptap-[a-z]+)", "version": (\d+)')


def value_of(expression):
    """The value of a constant expression of whole numbers. None: it is no such."""
    text = re.sub(r"std::chrono::\w+\s*[({]([^(){}]*)[)}]", r"(\1)", expression)
    text = re.sub(r"\b[\w:]+\{([^{}]*)\}", r"(\1)", text)
    text = re.sub(r"(?<=\d)'(?=\d)|(?<=[\da-f])[uU][lL]*\b", "", text)
    if not re.fullmatch(r"(?:0x[0-9a-f]+|\d+|<<|[()*+ -])+", text.strip()):
        return None
    return eval(text, {"__builtins__": {}})  # numbers and signs alone: see above


def number_of(text):
    return int(text.replace(",", ""), 0)


class Sources:
    """The texts below src/."""

    def __init__(self, root):
        self.root = root
        paths = [path for pattern in ("*.h", "*.cc") for path in sorted((root / "src").rglob(pattern))]
        self.texts = [path.read_text(encoding="utf-8") for path in paths]

    @functools.cached_property
    def words(self):
        """All names in the sources and in headers of tests, and what the files of tests are called."""
        texts = [*self.texts, *(path.read_text(encoding="utf-8") for path in (self.root / "tests").rglob("*.h"))]
        found = {word for text in texts for word in re.findall(r"\w+", text)}
        return found | {path.stem for path in (self.root / "tests").rglob("*_test.*")}

    def values(self, constant, beside):
        """What a constant is in the files that have both."""
        definition = re.compile(rf"\b{constant}(?:\[\w*\])?(?: = |\{{|\s*=\s*)([^;,]+?)\}}?[;,]")
        found = {value_of(match[1]) for text in self.texts if constant in text and beside in text for match in definition.finditer(text)}
        return found - {None}

    def enumeration(self, head, beside):
        """The numbers of an enumeration."""
        found = set()
        for text in self.texts:
            begin = text.find(head)
            if begin < 0 or beside not in text:
                continue
            body = text[begin : text.index("};", begin)]
            found |= {int(number) for number in re.findall(r"^\s*k\w+ = (\d+)", re.sub(r",\s*(?=k\w+ =)", ",\n", body), re.MULTILINE)}
            found |= {int(number) for number in re.findall(r"\{\s*k\w+ = (\d+)", body)}
        return found

    @functools.cached_property
    def commands(self):
        """The commands of heaptap and of heaptap-target."""
        found = {}
        for text in self.texts:
            names = re.findall(r'NamedCommand\{"([a-z]+)"', text)
            if names:
                found["heaptap-target" if "kServe" in text else "heaptap"] = set(names)
        return found

    @functools.cached_property
    def options(self):
        return {option for text in self.texts for option in OPTION.findall(text)}

    def has_option(self, option):
        return option in self.options or ("--no-" in option and option.replace("--no-", "--") in self.options)

    @functools.cached_property
    def formats(self):
        """Documents with a version of their own."""
        pattern = re.compile(r'member\("format", "(heaptap-[a-z]+)"\);\s*\w+\.member\("version", (\d+)\)')
        return dict(match.groups() for text in self.texts for match in pattern.finditer(text))


def line_at(text, place):
    return text[:place].count("\n") + 1


def check_facts(sources, name, text):
    """What a page says of constants."""
    for fact in FACTS:
        if fact.page != name:
            continue
        said = re.search(fact.says, text, re.MULTILINE)
        if said is None:
            yield 1, f"it doesn't say any more what {' and '.join(fact.constants)} are: tools/doc_facts.py looks for '{fact.says}'"
            continue
        units = fact.units or (1,) * len(fact.constants)
        for constant, unit, group in zip(fact.constants, units, said.groups(), strict=True):
            values = sources.values(constant, fact.beside)
            if values != {number_of(group) * unit}:
                is_now = " or ".join(f"{value / unit:,.12g}" for value in sorted(values)) or "nowhere"
                yield line_at(text, said.start()), f"it says {group}; {constant} is {is_now}"


def check_numbers(sources, name, text):
    """Whether tables of numbers are whole."""
    for numbers in NUMBERS:
        if numbers.page != name:
            continue
        begin = text.find(numbers.section)
        if begin < 0:
            yield 1, f"there is no section '{numbers.section}' any more"
            continue
        level = numbers.section.split(" ")[0]
        end = re.compile(rf"^{level} ", re.MULTILINE).search(text, begin + 1)
        section = text[begin : end.start() if end else len(text)]
        cells = [cell for pattern in numbers.says for cell in re.findall(pattern, section, re.MULTILINE)]
        said = {int(number) for cell in cells for number in re.findall(r"\d+", cell)}
        real = {number for head, beside in numbers.enumerations for number in sources.enumeration(head, beside)}
        what = numbers.enumerations[-1][0].split()[-1]
        for number in sorted(real - said):
            yield line_at(text, begin), f"{numbers.section.strip('# ')}: {number} of {what} is missing"
        for number in sorted(said - real):
            yield line_at(text, begin), f"{numbers.section.strip('# ')}: {number} is no {what}"


def check_commands(sources, name, text):
    """Whether the commands and options that a page names are there."""
    if not sources.commands:
        return
    is_man = name.endswith(".scd")
    for match in (MAN_COMMAND if is_man else COMMAND).finditer(text):
        program, command, rest = match.groups()
        if command not in sources.commands.get(program, {command}) | MISTYPED:
            yield line_at(text, match.start()), f"{program} has no command {command}"
        for option in OPTION.findall(REST.split(rest)[0]):
            if not sources.has_option(option):
                yield line_at(text, match.start()), f"{program} has no option {option}"
    if is_man:
        for match in MAN_PAGE.finditer(text):
            if not (sources.root / "docs" / "man" / f"{match[1]}.{match[2]}.scd").is_file():
                yield line_at(text, match.start()), f"there is no page {match[1]}({match[2]})"


def check_formats(sources, name, text):
    for match in FORMAT_VERSION.finditer(text):
        document, version = (match[1], match[2]) if match[1] else (match[3], match[4])
        if sources.formats.get(document, version) != version:
            yield line_at(text, match.start()), f"{document} has version {sources.formats[document]}"


def check_names(sources, name, text):
    """Whether names of the project's own are there."""
    for match in OWN_NAME.finditer(text):
        own = match[1] or match[2] or match[3]
        if sources.texts and own not in sources.words:
            yield line_at(text, match.start()), f"nothing is called {own}"


def check_whole(sources):
    """What pages leave out: (page, violation)."""
    root = sources.root

    def text_of(name):
        return (root / name).read_text(encoding="utf-8") if (root / name).is_file() else ""

    readme, targets_page = text_of("README.md"), "docs/man/heaptap-target.1.scd"
    for command in sorted(sources.commands.get("heaptap", set()) - UNNAMED_COMMANDS):
        if not re.search(rf"heaptap {command}[ `]", readme):
            yield "README.md", f"the command {command} is missing"
        if not text_of(f"docs/man/heaptap-{command}.1.scd"):
            yield f"docs/man/heaptap-{command}.1.scd", "the command has no page"
    for command in sorted(sources.commands.get("heaptap-target", set()) - UNNAMED_COMMANDS):
        if f"*heaptap-target {command}*" not in text_of(targets_page):
            yield targets_page, f"the command {command} is missing"
    architecture = text_of("docs/architecture.md")
    if "## Floors" in architecture:
        for directory in sorted(path.name for path in (root / "src").iterdir() if path.is_dir() and any(path.iterdir())):
            if f"\n| `{directory}` " not in architecture:
                yield "docs/architecture.md", f"Floors: {directory} is missing"
        for name in check_layers.Rules(text_of("tools/layers.txt")).rooms:
            floor, _, room = name.partition("/")
            row = re.search(rf"^\| `{floor}` .*$", architecture, re.MULTILINE)
            if row and f"`{room}`" not in row[0]:
                yield "docs/architecture.md", f"Floors: the room {name} is missing"


def check_text(sources, name, text):
    """(line, violation) of a page."""
    for check in (check_facts, check_numbers, check_names, check_commands, check_formats):
        yield from check(sources, name, text)
