"""Cost of a build, from the records of its steps: parsing, summing, comparing. Reads no file but tools/layers.txt and starts no process;
bench/build does both.

A record is written by bench/build's launcher for one step: the command and bash's `times` (its own user and system time, then
those of the command and the processes it started):

    /usr/bin/c++ … -o src/CMakeFiles/heaptap_base.dir/Unity/unity_0_cxx.cxx.o -c …
    0m0.001s 0m0.002s
    0m4.210s 0m0.312s
"""
import dataclasses
import pathlib
import posixpath
import re

FORMAT, VERSION = "heaptap-build-cost", 1
COMPILING, LINKING = "compiling", "linking"
# Library -> directory, as tools/layers.txt has the rooms.
LAYERS = pathlib.Path(__file__).resolve().parents[2] / "tools/layers.txt"
ROOMS = {f"heaptap_{name}": f"src/{floor}/{name}"
         for floor, name in re.findall(r"^room (\w+)/(\w+):", LAYERS.read_text(encoding="utf-8"), re.MULTILINE)}
# The room of what no launcher sees: archives, commands of the build's own, the build tool.
OTHER = "other commands"
UNKNOWN = "unknown"
GROWTH_LIMIT = 1.1
# What a room may grow by in any case: short steps differ by as much from run to run.
ROOM_NOISE_S = 0.5
LABEL_WIDTH = 72

TIME = r"(\d+)m([\d.]+)s"
RECORD = re.compile(rf"^(.*?)\n{TIME} {TIME}\n{TIME} {TIME}\n", re.MULTILINE | re.DOTALL)
# An object file's directory, target, and what it was made of.
OBJECT = re.compile(r"(?:(.*)/)?CMakeFiles/([^/]+)\.dir/(.+)\.(?:o|gch)")
UNITY = re.compile(r"Unity/unity_\d+_\w+\.\w+")


@dataclasses.dataclass(frozen=True)
class Step:
    """One compilation or link step. `name`: the source or the linked file; `files`: those compiled as one unit, if any."""

    room: str
    kind: str
    name: str
    files: tuple
    user_s: float
    system_s: float

    @property
    def cpu_s(self):
        return self.user_s + self.system_s


def parse_records(text):
    """(command, user seconds, system seconds) of each step."""
    for command, *times in RECORD.findall(text):
        user_s, system_s = (60 * int(minutes) + float(seconds) for minutes, seconds in zip(times[4::2], times[5::2]))
        yield command, user_s, system_s


def room_of(object_file):
    """src/FLOOR/ROOM for rooms and programs with a directory there, heaptap_small for the copies built for size; else the directory:
    src/agent, tests/unit, tests/targets, demo, …"""
    match = OBJECT.fullmatch(object_file)
    if not match:
        return UNKNOWN
    directory, target, source = match[1] or "", match[2], match[3]
    if target == "heaptap_small":
        return target
    if directory == "src":
        return ROOMS.get(target) or "src/" + posixpath.dirname(source)
    parts = (directory or posixpath.dirname(source)).split("/")  # targets of the root have sources from anywhere
    return "/".join(parts[: 2 if parts[0] in ("src", "tests") else 1]) or UNKNOWN


def source_of(object_file):
    """Source of an object file, as a path relative to the source root if it is there."""
    match = OBJECT.fullmatch(object_file)
    return posixpath.normpath(posixpath.join(match[1] or "", match[3].replace("__/", "../"))) if match else object_file


def unity_source(object_file):
    """File of the build directory that includes several sources compiled as one unit, or None."""
    match = OBJECT.fullmatch(object_file)
    return object_file.removesuffix(".o") if match and UNITY.fullmatch(match[3]) else None


def included_files(text):
    """Files that a source includes by path."""
    return tuple(posixpath.basename(path) for path in re.findall(r'^#include "(.*)"', text, re.MULTILINE))


def step_of(command, user_s, system_s, read):
    """The build step of a command. read(path) returns the text of a file of the build directory."""
    words = command.split()
    output = next((words[at + 1] for at in reversed(range(len(words) - 1)) if words[at] == "-o"), words[-1])
    if "-c" not in words:
        objects = [word for word in words if word.endswith(".o") and word != output]
        return Step(room_of(objects[0]) if objects else UNKNOWN, LINKING, output, (), user_s, system_s)
    unity = unity_source(output)
    files = included_files(read(unity)) if unity else ()
    return Step(room_of(output), COMPILING, unity or source_of(output), files, user_s, system_s)


def label_of(step, width=LABEL_WIDTH):
    """Display name of a step: its name, or the room and as many of the files compiled as one unit as fit."""
    if not step.files:
        return step.name
    stems = [name.rpartition(".")[0] for name in step.files]
    for count in range(len(stems), 0, -1):
        rest = "" if count == len(stems) else f", … ({len(stems)} files)"
        label = f"{step.room}: {', '.join(stems[:count])}{rest}"
        if len(label) <= width:
            return label
    return f"{step.room}: {stems[0]}, … ({len(stems)} files)"


def rooms_of(steps):
    """Seconds and number of steps of each room, most expensive first."""
    rooms = {}
    for step in steps:
        row = rooms.setdefault(step.room, {"room": step.room, "steps": 0, "compiling_s": 0.0, "linking_s": 0.0})
        row["steps"] += 1
        row[step.kind + "_s"] += step.cpu_s
    return sorted(rooms.values(), key=lambda row: (-row_cpu_s(row), row["room"]))


def row_cpu_s(row):
    return row["compiling_s"] + row["linking_s"]


def dearest(steps, count=10):
    return sorted(steps, key=lambda step: (-step.cpu_s, step.name))[:count]


def summary_of(steps, build_cpu_s):
    """Summary of a build with so many processor seconds in total: rooms + other = total."""
    seen_s = sum(step.cpu_s for step in steps)
    other_s = max(0.0, build_cpu_s - seen_s)
    return {
        "total_s": seen_s + other_s,
        "other_s": other_s,
        "rooms": rooms_of(steps),
        "steps": [dataclasses.asdict(step) for step in dearest(steps, len(steps))],
    }


def costs(summary):
    """Processor seconds by room."""
    return {row["room"]: row_cpu_s(row) for row in summary["rooms"]} | {OTHER: summary["other_s"]}


def grown_rooms(before, after):
    """(room, seconds before, seconds after) of each room that grew by more than the limit, largest growth first. A new room counts from
    0 seconds."""
    old, new = costs(before), costs(after)
    rows = [(room, old.get(room, 0.0), new_s) for room, new_s in new.items()]
    grown = [row for row in rows if row[2] > row[1] * GROWTH_LIMIT and row[2] - row[1] > ROOM_NOISE_S]
    return sorted(grown, key=lambda row: row[1] - row[2])


def total_grew(before, after):
    return after["total_s"] > before["total_s"] * GROWTH_LIMIT


def why_not_comparable(before, after):
    """Reason why a summary read from a file isn't comparable with the other one, or None."""
    if not isinstance(before, dict) or (before.get("format"), before.get("version")) != (FORMAT, VERSION):
        return f"it is not {FORMAT} of version {VERSION}"
    for name in ("targets", "tests"):
        if before.get(name) != after[name]:
            return f"its {name} are {before.get(name)}, not {after[name]}"
    return None
