"""State of a process that must be the same before and after an inspection: code, mappings, signals, run state."""
import contextlib
import hashlib
import os
import pathlib
import re

from waiting import TIMEOUT_S, TooSlow, wait_for


def threads(pid):
    """Oldest first, as the kernel lists them; by number they wouldn't be, where it began again at low ones."""
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


def mappings(pid):
    """(line, start, end, permissions) of the stable mappings: files, the kernel's, code."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        place, permissions, _, _, inode, *name = line.split(maxsplit=5)
        start, end = (int(part, 16) for part in place.split("-"))
        if inode != "0" or "x" in permissions or name in (["[vdso]"], ["[vvar]"]):
            yield line, start, end, permissions


def code(pid, place=lambda line, start: start):
    """`place` -> digest of each executable mapping."""
    digests = {}
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line, start, end, permissions in mappings(pid):
            if "x" in permissions and start < 1 << 63:
                with contextlib.suppress(OSError):  # [vsyscall]
                    memory.seek(start)
                    digests[place(line, start)] = hashlib.sha256(memory.read(end - start)).hexdigest()
    return digests


def code_of_files(pid):
    """Same by mapped file, so that it can be compared with another process's."""
    return code(pid, lambda line, start: tuple(line.split()[2:]))


def status(pid, thread):
    """The lines of /proc/PID/task/TID/status."""
    text = pathlib.Path(f"/proc/{pid}/task/{thread}/status").read_text()
    return dict(re.findall(r"^(\w+):\s*(.*)$", text, re.MULTILINE))


def tracers(pid):
    """PIDs of the tracers of the process's threads."""
    found = set()
    for thread in threads(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.add(status(pid, thread)["TracerPid"])
    return found - {"0"}


class Image:
    """State of a process; `stay`: its threads that live as long as it does. If it generates code at run time (makes_code), only code of
    files is compared."""

    def __init__(self, pid, stay, makes_code=False):
        self.pid = pid
        self.makes_code = makes_code
        self.mappings = self._mappings()
        kept = {int(line.partition("-")[0], 16) for line in self.mappings}
        self.code = {start: digest for start, digest in code(pid).items() if start in kept}
        self.threads = stay
        # C libraries block all signals for a moment in fork and the like: what is there most of the time counts.
        self.masks = {thread: self._usual_mask(thread) for thread in self.threads}

    def _usual_mask(self, thread):
        seen = [self._masks(thread) for _ in range(9)]
        return max(seen, key=seen.count)

    def _masks(self, thread):
        lines = status(self.pid, thread)
        return tuple(lines[name] for name in ("SigBlk", "SigIgn", "SigCgt"))

    def _mappings(self):
        return [line for line, *_ in mappings(self.pid) if not self.makes_code or line.split(maxsplit=5)[4] != "0"]

    def differences(self, patience_s=TIMEOUT_S):
        """Changes of the process's state, as sentences. Pending changes have `patience_s` to complete."""
        found = []

        def is_as_before():
            found[:] = [*self._traced(), *self._masked()]
            return not found

        with contextlib.suppress(TooSlow):
            wait_for("it is as it was", is_as_before, patience_s)
        if self._mappings() != self.mappings:
            found.append("the mappings differ")
        now = code(self.pid)
        found += [f"the code at {start:#x} differs" for start in self.code if now.get(start) != self.code[start]]
        if gone := {*self.threads} - {*threads(self.pid)}:
            found.append(f"threads are gone: {gone}")
        return found

    def _traced(self):
        for thread in threads(self.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                lines = status(self.pid, thread)
                if lines["TracerPid"] != "0":
                    yield f"thread {thread} is traced by {lines['TracerPid']}"
                if lines["State"][0] in "tT":
                    yield f"thread {thread} is stopped: {lines['State']}"

    def _masked(self):
        for thread, masks in self.masks.items():
            if self._masks(thread) != masks:
                yield f"signals of thread {thread}: {self._masks(thread)}, not {masks}"
