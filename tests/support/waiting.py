"""Waiting for a condition, with a diagnosis on timeout: what was awaited, for how long, and the state then.

`state` of all functions: source of the diagnosis, or a list of sources. A PID (its threads, and those of its descendants: /proc
status, wchan, stack), a started process (same, or how it ended), a path (the last lines of a log), a callable (its result), a
text.
"""
import contextlib
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

# Of what hangs. A machine that is busy takes its time, so this is no measure of anything.
TIMEOUT_S = int(os.environ.get("HEAPTAP_TIMEOUT", 300))
LAST_LINES = 30
STATUS = re.compile(r"^(?:Name|State|TracerPid|SigPnd|ShdPnd|SigBlk):.*$", re.MULTILINE)


class TooSlow(AssertionError):
    pass


def wait_for(what, condition, timeout=TIMEOUT_S, state=()):
    """The result of `condition()` as soon as it is true. The only polling loop of the tests. Fails early if a child process of the test
    in `state` has ended."""
    began = time.monotonic()
    while not (found := condition()):
        waited_s = time.monotonic() - began
        if waited_s > timeout:
            give_up(what, began, state)
        if any(isinstance(each, subprocess.Popen) and each.poll() is not None for each in _as_list(state)):
            return condition() or give_up(what, began, state)
        time.sleep(min(0.001 + waited_s / 20, 0.05))
    return found


def give_up(what, began, state):
    raise TooSlow(f"waited for {time.monotonic() - began:.0f} s in vain: {what}\n{describe(state)}")


def read_until(descriptor, what, is_enough=lambda text: False, timeout=TIMEOUT_S, state=(), so_far=b"", ends=False):
    """Data read from the descriptor after `so_far`, as soon as `is_enough` holds for it. Fails at end of file, unless `ends`."""
    began, came = time.monotonic(), so_far
    while not is_enough(came):
        left_s = timeout - (time.monotonic() - began)
        shown = f"it printed: {came[-3000:]!r}"
        if left_s <= 0 or not select.select([descriptor], [], [], left_s)[0]:
            give_up(what, began, [shown, *_as_list(state)])
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # a terminal whose other side is closed
            piece = b""
        if not piece and ends:
            break
        if not piece:
            raise AssertionError(f"the output ends without {what}\n{describe([shown, *_as_list(state)])}")
        came += piece
    return came


def ended(process, timeout=TIMEOUT_S, state=()):
    """The return code of a process, once it has ended."""
    began = time.monotonic()
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        give_up(f"the end of {_name(process)}", began, [process, *_as_list(state)])


def finished(process, stdin=None, timeout=TIMEOUT_S, state=()):
    """(stdout, stderr) of a process, once it has ended."""
    began = time.monotonic()
    try:
        return process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired as late:
        said = [f"{name}: {text[-3000:]!r}" for name, text in (("stdout", late.stdout), ("stderr", late.stderr)) if text]
        give_up(f"the end of {_name(process)}", began, [process, *said, *_as_list(state)])


def until_it_waits(pid, call=""):
    """Waits until the first thread of the process sleeps, in a kernel function of this name if one is given."""
    def waits():
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0] == "S" and call in pathlib.Path(f"/proc/{pid}/wchan").read_text()

    wait_for(f"process {pid} comes to rest {call}", waits, state=pid)


def until_it_woke(pid, times):
    """Waits until the first thread of the process has woken up so many times and sleeps again; or has ended."""
    def wakes():
        status = _read(pathlib.Path(f"/proc/{pid}/status"))
        found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.MULTILINE)
        return int(found[1]) if found else sys.maxsize

    wanted = wakes() + times
    wait_for(f"process {pid} wakes up {times} times", lambda: wakes() >= wanted, state=pid)


def until_taken(process, number):
    """Waits until a signal that was sent to a started process isn't pending any more: the next one is another one."""
    def is_taken():
        pending = re.findall(r"^(?:SigPnd|ShdPnd):\s+(\w+)", _read(pathlib.Path(f"/proc/{process.pid}/status")), re.MULTILINE)
        return not any(int(bits, 16) >> (number - 1) & 1 for bits in pending)

    wait_for(f"signal {number} is taken", is_taken, state=process)


def at_any_moment(chance, max_s, exponent=1):
    """Sleeps for a random time, for tests that must pass whenever something interferes."""
    time.sleep(chance.random() ** exponent * max_s)


# ---- How things are.

def describe(state):
    return "\n".join(_describe_one(each) for each in _as_list(state))


def _as_list(state):
    return list(state) if isinstance(state, (list, tuple)) else [state]


def _describe_one(state):
    if isinstance(state, subprocess.Popen):
        if state.poll() is not None:
            return f"{_name(state)} has ended with {state.returncode}{_rest_of(state)}"
        return f"{_name(state)}:\n{processes(state.pid)}"
    if isinstance(state, int):
        return processes(state)
    if isinstance(state, pathlib.Path):
        return last_lines(state)
    if callable(state):
        try:
            return str(state())
        except Exception as error:  # the wait's own failure is to be seen, not this one
            return f"not known: {error!r}"
    return str(state)


def _name(process):
    words = process.args if isinstance(process.args, (list, tuple)) else [process.args]
    return f"`{' '.join(map(str, words))}` (pid {process.pid})"


def _rest_of(process):
    """Unread output of an ended process."""
    if process.stderr is None or process.stderr.closed:
        return ""
    with contextlib.suppress(OSError, ValueError):
        if select.select([process.stderr], [], [], 0)[0]:
            return f"; stderr: {os.read(process.stderr.fileno(), 65536)[-3000:].decode(errors='replace')}"
    return ""


def last_lines(path):
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        return f"{path}: {error.strerror}"
    return "\n".join([f"--- {path}, the last lines of {len(lines)}", *lines[-LAST_LINES:]])


def descendants(pid):
    """The descendants of pid (without itself), children before grandchildren."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry))
    found, wave = [], [pid]
    while wave:
        wave = [child for parent in wave for child in children.get(parent, [])]
        found += wave
    return found


def working_in(directory):
    """PIDs of the processes whose working directory this is."""
    found, directory = set(), directory.resolve()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if (process / "cwd").readlink() == directory:
                found.add(int(process.name))
    return found


def has_ended(pid):
    """Whether the process has ended, be it a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def processes(pid):
    """States of a process and its descendants."""
    return "\n".join(process_state(each) for each in [pid, *descendants(pid)])


def process_state(pid):
    """For each thread, as far as the kernel reports: status, wait channel and kernel stack."""
    directory = pathlib.Path(f"/proc/{pid}")
    lines = [f"--- process {pid}: {_read(directory / 'cmdline').replace(chr(0), ' ').strip() or 'gone, or without memory'}"]
    for thread in _threads(directory / "task"):
        status = "; ".join(" ".join(line.split()) for line in STATUS.findall(_read(thread / "status")))
        lines.append(f"{thread.name}: {status}; wchan: {_read(thread / 'wchan') or '-'}; syscall: {_read(thread / 'syscall').strip() or '-'}")
        lines += ["    " + line for line in _read(thread / "stack").splitlines()[:8]]
    return "\n".join(lines)


def _threads(directory):
    """Of a process that may be gone by now."""
    try:
        return sorted(directory.iterdir(), key=lambda path: int(path.name))
    except OSError:
        return []


def _read(path):
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


# ---- The whole script.

def watch(limit_s):
    """Limits the run time of a script: on timeout it fails with its current position, instead of being killed silently."""
    def fail(number, frame):
        raise TooSlow(f"the script takes more than {limit_s} s\n{processes(os.getpid())}")

    signal.signal(signal.SIGALRM, fail)
    signal.alarm(limit_s)


if "HEAPTAP_TEST_LIMIT_S" in os.environ:
    watch(int(os.environ["HEAPTAP_TEST_LIMIT_S"]))
