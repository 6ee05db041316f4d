"""Cost of an allocate-free pair by ptrace: heaptap, gdb with commands at its breakpoints, ltrace. On one core and on all."""
import json
import os
import shutil
import subprocess
from statistics import median

from . import tables
from .processes import TIMEOUT_S, Failure
from .variants import ENVIRONMENT

DEPTH = 15
# By what shows; the slower ones get fewer pairs.
COUNTS = {"bare": 200_000, "heaptap": 10_000, "gdb": 300, "ltrace": 2_000}
CORES = {"one core": {0}, "all cores": None}

_GDB = """set pagination off
set breakpoint pending on
set debuginfod enabled off
break malloc
commands
silent
backtrace
continue
end
break free
commands
silent
backtrace
continue
end
run
"""


def _commands(build, directory):
    """name -> command words before the program's."""
    script = os.path.join(directory, "gdb.script")
    with open(script, "w", encoding="utf-8") as file:
        file.write(_GDB)
    trace = os.path.join(directory, "tracers.htap")
    heaptap = os.path.join(build, "bin", "heaptap")
    commands = {"bare": [], "heaptap": [heaptap, "run", "-q", "--via", "ptrace", "--no-leak-scan", "--force", "-o", trace, "--"]}
    if shutil.which("gdb"):
        commands["gdb"] = [shutil.which("gdb"), "-nx", "-batch", "-x", script, "--args"]
    if shutil.which("ltrace"):
        commands["ltrace"] = [shutil.which("ltrace"), "-o", os.path.join(directory, "ltrace.out"), "-e", "malloc+free"]
    return commands


def _run(words, cores):
    """The program's own line of JSON, extracted from gdb's output."""
    pin = (lambda: os.sched_setaffinity(0, cores)) if cores else None
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT,
                          timeout=TIMEOUT_S, preexec_fn=pin, check=False)
    for line in done.stdout.decode(errors="replace").splitlines():
        if line.startswith('{"us"'):
            return json.loads(line)
    raise Failure(f"{' '.join(words)} didn't come to its end ({done.returncode})")


def measure(build, directory, runs, note):
    """List of samples: tool, cores, microseconds and stops per pair. The tools take turns."""
    program, samples = os.path.join(build, "bench", "timed_pairs"), []
    commands = _commands(build, directory)
    for number in range(runs):
        note(f"pairs by ptrace, round {number + 1}")
        for cores, numbers in CORES.items():
            for tool, words in commands.items():
                sample = _run([*words, program, str(DEPTH), str(COUNTS[tool])], numbers)
                samples.append({"tool": tool, "cores": cores, **sample})
    return samples


def print_table(samples):
    rows = []
    for tool in dict.fromkeys(sample["tool"] for sample in samples):
        row = [tool]
        for cores in CORES:
            of_tool = [sample for sample in samples if (sample["tool"], sample["cores"]) == (tool, cores)]
            row += [tables.format_number(median(sample[key] for sample in of_tool), 2) for key in ("us", "stops")]
        rows.append(row)
    header = ["tool", *(f"{what}, {cores}" for cores in CORES for what in ("us", "stops"))]
    tables.print_table(f"An allocate-free pair by ptrace, {DEPTH} functions deep", header, rows)
