#!/usr/bin/env python3
"""A command, and nothing left of it: when it ends, when this is told to end, or when the process that started this dies, all processes are killed
that came of the command, also those that left its session. Exit status: the command's as a shell shows it, or 128 + the signal's number.

usage: tools/contained.py COMMAND [ARG…]"""

import ctypes
import os
import pathlib
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PATIENCE_S = 30  # with processes that are killed and don't end: the kernel is at work for them


def become_parent_of_orphans():
    """From now on what descends from this process stays below it, and it hears of its own parent's end."""
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value in ((PR_SET_CHILD_SUBREAPER, 1), (PR_SET_PDEATHSIG, signal.SIGTERM)):
        if libc.prctl(option, value, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def below(pid):
    """The processes that descend from pid."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue  # it has just ended
            children.setdefault(int(parent), []).append(int(entry.name))
    found, wave = [], [pid]
    while wave:
        wave = [child for parent in wave for child in children.get(parent, [])]
        found += wave
    return found


def reap(wanted=None):
    """All children that have ended, also adopted ones; the status of `wanted`, if it is among them."""
    status = None
    while True:
        try:
            pid, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == wanted:
            status = os.waitstatus_to_exitcode(how)


def kill_all():
    """Again and again, as what is killed may have started something meanwhile."""
    end = time.monotonic() + PATIENCE_S
    while (left := below(os.getpid())) and time.monotonic() < end:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)
        reap()


def main(command):
    become_parent_of_orphans()
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)  # what ends the group of the process that started this ends everything but the one that has to clean up
    # Signals are taken by sigwait alone: one that came just before a wait for children would be noticed at that wait's end.
    awaited = {signal.SIGCHLD, *ENDING}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    try:
        pid = os.posix_spawnp(command[0], command, os.environ, setsigmask=[], setsigdef=ENDING)
    except OSError as error:
        print(f"contained: can't run {command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    try:
        while (status := reap(pid)) is None:
            if (number := signal.sigwait(awaited)) in ENDING:
                return 128 + number
        return 128 - status if status < 0 else status
    finally:
        kill_all()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[-1])
    sys.exit(main(sys.argv[1:]))
