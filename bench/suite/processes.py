"""Starts processes and measures them from outside: nothing is loaded into them, and their exit is included.

A process's CPU time comes from wait4: of all its threads, including the kernel's work at its exit. If a collector is the measured
program's parent, and so waits for it, wait4 returns the sum of both; the collector's own time is read from its CPU clock while it
is a zombie, and the rest is the measured program's.
"""
import os
import re
import signal
import subprocess
import threading
import time

TIMEOUT_S = 600


class Failure(Exception):
    """Failure of a measured program."""


def ask(*argv):
    """What a command prints."""
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


class Exit:
    """End of a process. CPU times in seconds; `children`: waited-for descendants."""

    def __init__(self, pid, start):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        own_s = time.clock_gettime((~pid << 3) | 2)  # CPUCLOCK_SCHED of that process, see clock_getcpuclockid(3)
        _, status, usage = os.wait4(pid, 0)
        self.wall_s = time.monotonic() - start
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.own_cpu_s = min(own_s, self.cpu_s)
        self.children_cpu_s = self.cpu_s - self.own_cpu_s
        self.peak_rss_bytes = usage.ru_maxrss * 1024
        self.code = os.waitstatus_to_exitcode(status)


class Process:
    """A started process, killed after TIMEOUT_S at the latest."""

    def __init__(self, argv, environment, stdout=os.devnull, stderr=os.devnull, new_group=True):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, stdout, flags, 0o644),
            (os.POSIX_SPAWN_OPEN, 2, stderr, flags, 0o644),
        ]
        self.argv = argv
        self.start = time.monotonic()
        options = {"setpgroup": 0} if new_group else {}
        self.pid = os.posix_spawn(argv[0], argv, environment, file_actions=actions, **options)
        self._timer = threading.Timer(TIMEOUT_S, self._give_up)
        self._timer.daemon = True
        self._timer.start()

    def wait(self):
        try:
            return Exit(self.pid, self.start)
        finally:
            self._timer.cancel()

    def terminate(self):
        """Cleanup after a failure: kills the process and its descendants."""
        for ended in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.pid, ended)
            except OSError:
                break
            time.sleep(0.2)
        self.wait()

    def _give_up(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass


def children_of(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
    except OSError:
        pass
    return found


class Watch:
    """A look() at something, again and again, in a thread that begins with it and ends with stop()."""

    INTERVAL_S = 0.002

    def __init__(self):
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def look(self):
        raise NotImplementedError

    def stop(self):
        self._stop.set()
        self._thread.join()

    def _watch(self):
        while not self._stop.wait(self.INTERVAL_S):
            self.look()


class MemoryWatch(Watch):
    """Memory of a process and its descendants, sampled every few milliseconds, since an exited process has none to read. The peak of the
    resident set (VmHWM) is the kernel's own and exact up to the last sample."""

    FIELDS = ("VmHWM", "RssAnon", "RssFile", "RssShmem")

    def __init__(self, roots):
        self.peaks = {}  # by pid: {field: bytes}
        self.parents = {pid: 0 for pid in roots}
        self._looks = 0
        super().__init__()

    def stop(self):
        super().stop()
        return self.peaks

    def look(self):
        for pid in list(self.parents):
            self._look_at(pid)
            if self._looks % 8 == 0:
                self.parents.update({child: pid for child in children_of(pid)})
        self._looks += 1

    def _look_at(self, pid):
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
                status = file.read()
        except OSError:
            return
        peak = self.peaks.setdefault(pid, {})
        for name, size in re.findall(r"^(\w+):\s+(\d+) kB$", status, re.MULTILINE):
            if name in self.FIELDS:
                peak[name] = max(peak.get(name, 0), int(size) * 1024)
