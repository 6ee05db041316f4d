"""System calls that fail for a process and all that it starts, as on a kernel without them or under a filter."""
import ctypes
import errno
import pathlib
import re
import struct

NUMBERS = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


def numbers():
    """Those of the machine's kernel headers: {name: number}."""
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", NUMBERS.read_text())}


def refuse(calls, error=errno.ENOSYS):
    """Installs a filter under which the system calls with these numbers fail with that error."""
    load, equal, give = 0x20, 0x15, 0x06
    code = struct.pack("<HBBI", load, 0, 0, 0)
    for call in calls:
        code += struct.pack("<HBBI", equal, 0, 1, call) + struct.pack("<HBBI", give, 0, 0, 0x00050000 | error)
    code += struct.pack("<HBBI", give, 0, 0, 0x7fff0000)
    instructions = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(instructions)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter")
