"""Debug registers of a process's threads, read by ptrace: no file in /proc shows them. x86-64 only."""
import ctypes
import os
import platform

_SEIZE, _INTERRUPT, _PEEKUSER, _DETACH = 0x4206, 0x4207, 3, 17
_WALL = 0x40000000
_FIRST = 848  # offsetof(struct user, u_debugreg)

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def known():
    return platform.machine() == "x86_64"


def addresses(thread):
    """The four address registers, and the control register (DR7)."""
    if _libc.ptrace(_SEIZE, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), f"thread {thread} can't be traced: {os.strerror(ctypes.get_errno())}")
    _libc.ptrace(_INTERRUPT, thread, None, None)
    os.waitpid(thread, _WALL)
    values = [_libc.ptrace(_PEEKUSER, thread, _FIRST + 8 * number, None) for number in (0, 1, 2, 3, 7)]
    _libc.ptrace(_DETACH, thread, None, None)
    return values[:4], values[4]
