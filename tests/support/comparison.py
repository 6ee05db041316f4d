"""Comparison of two summaries of one program: both capture methods must agree, number by number."""
import collections
import itertools

SUMS = ("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes", "temporary_allocations", "peak_bytes")
LOST = ("definite", "indirect", "possible")
_MAPPING = ("mmap", "mmap64", "mremap")
# Two names of one function: a tracer sees its address, not who was called by which name.
_NAMES = {"mmap64": "mmap", "aligned_alloc": "memalign"}


_TABLE_ENTRY_BYTES = 16


def _is_thread_table(stack):
    """Whether the block is a thread's table of modules with thread-local memory, made by the loader for libc: that is called
    directly. When loading a library, the loader allocates below libc's function that catches its errors, so it is in the stack a
    second time."""
    modules = [(frame.get("module") or "").rpartition("/")[2] for frame in stack["frames"]]
    runs = [module for module, _ in itertools.groupby(modules)]
    loader = [module.startswith("ld-linux") for module in runs]
    return stack["function"] == "calloc" and loader[:2] == [True, False] and sum(loader) == 1 and runs[1] == "libc.so.6"


def take_out_agents_share(report):
    """Subtracts the agent's effect: it is a module with thread-local memory, so each thread's table of such modules has one more entry
    (docs/decisions/0040-agent-has-thread-local-memory.md). Changes the report to that of a process without the agent."""
    shares = collections.Counter()
    for stack in report["stacks"]:
        if not _is_thread_table(stack) or stack["allocated_bytes"] % stack["allocations"]:
            continue
        size = stack["allocated_bytes"] // stack["allocations"]
        for key in ("allocated_bytes", "live_bytes", "peak_bytes"):
            share = stack[key] // size * _TABLE_ENTRY_BYTES
            stack[key] -= share
            shares[key] += share
    totals = report["totals"]
    for key, sum_key in (("allocated_bytes",) * 2, ("live_bytes",) * 2, ("peak_bytes", "peak_live_bytes")):
        totals[sum_key] -= shares[key]
    if report["leaks"]["scanned"]:
        report["leaks"]["reachable"]["bytes"] -= shares["live_bytes"]


def _places(frames):
    """Origin of a stack: module and offset of each frame."""
    return tuple((frame.get("module"), frame.get("offset") if frame.get("module") else None) for frame in frames)


def stacks(report, mapped):
    """(function, places) -> numbers, summed; for mmap and the like if `mapped`, else for the others."""
    found = collections.defaultdict(collections.Counter)
    for stack in report["stacks"]:
        if (stack["function"] in _MAPPING) != mapped:
            continue
        function = _NAMES.get(stack["function"], stack["function"])
        numbers = found[function, _places(stack["frames"])]
        numbers.update({key: stack[key] for key in SUMS})
        if report["leaks"]["scanned"] and not mapped:
            numbers.update({f"{kind} {unit}": stack["leaks"][kind][unit] for kind in LOST for unit in ("blocks", "bytes")})
    return found


def _errors(report):
    return collections.Counter((error["kind"], error["function"], _places(error["frames"])) for error in report["errors"])


def _show(key):
    function, places = key[-2:]
    return f"{function} from " + " < ".join(f"{(module or '?').rpartition('/')[2]}+{offset}" for module, offset in places[:8])


def _differing(one, other, show):
    for key in sorted({*one, *other}, key=repr):
        if one.get(key) != other.get(key):
            yield f"{show(key)}: {_brief(one.get(key))} and {_brief(other.get(key))}"


def _brief(numbers):
    return {key: number for key, number in numbers.items() if number} if isinstance(numbers, dict) else numbers


# Totals that no two runs share: a time, and what was in RAM at some.
SAMPLED = ("peak_time_ns", "resident")


def differences(one, other, mapped=True):
    """Differences as sentences; empty if the two are equal. `mapped`: includes mmap and the like."""
    left, right = ({key: number for key, number in report["totals"].items()
                    if key not in SAMPLED and (mapped or "mapped" not in key)} for report in (one, other))
    yield from _differing(left, right, lambda key: f"totals.{key}")
    left, right = (stacks(report, False) for report in (one, other))
    yield from _differing(left, right, _show)
    if mapped:
        left, right = (stacks(report, True) for report in (one, other))
        yield from _differing(left, right, _show)
    yield from _differing(_errors(one), _errors(other), lambda key: f"{key[0]} {_show(key)}")
    left, right = ({key: report["leaks"][key] for key in ("scanned", *LOST, "reachable")} for report in (one, other))
    yield from _differing(left, right, lambda key: f"leaks.{key}")
