"""heaptap on a pseudo-terminal of a given width, and the width of its output."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata

import heaptap_test

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[@-~]")


def start_on_terminal(*arguments, columns=80, cwd=None, stdout=True, stderr=False, **environment):
    """Starts heaptap; returns the process, and the descriptor of its terminal output."""
    inner, outer = pty.openpty()
    fcntl.ioctl(outer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name not in ("PAGER", "HEAPTAP_PAGER", "COLUMNS", "NO_COLOR")}
    process = subprocess.Popen([heaptap_test.HEAPTAP, *map(str, arguments)], stdin=subprocess.DEVNULL, cwd=cwd,
                               stdout=outer if stdout else subprocess.PIPE, stderr=outer if stderr else subprocess.PIPE,
                               env={**variables, "TERM": "xterm", **environment})
    os.close(outer)
    return process, inner


def pieces_of(inner):
    """Terminal output, until the terminal is closed."""
    while True:
        try:
            piece = os.read(inner, 65536)
        except OSError:  # the other end is closed
            return
        if not piece:
            return
        yield piece


def on_terminal(*arguments, columns=80, cwd=None, stderr=False, **environment):
    """Terminal output, stderr (if that is no terminal), and exit status."""
    process, inner = start_on_terminal(*arguments, columns=columns, cwd=cwd, stderr=stderr, **environment)
    text = b"".join(pieces_of(inner))
    os.close(inner)
    errors = process.communicate()[1] or b""
    return text.decode().replace("\r\n", "\n"), errors.decode(), process.returncode


def display_width(text):
    """Width in columns: without colours, wide characters count twice."""
    plain = ESCAPES.sub("", text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain)


def has_unbreakable_word(line, columns):
    """Whether the line has a path, a name without spaces or a command in backticks that fits on no line."""
    plain = ESCAPES.sub("", line)
    indent = len(plain) - len(plain.removeprefix("heaptap: ").lstrip(" "))
    return any(indent + display_width(word) > columns for word in re.findall(r"(?:`[^`]*`|\S)+", plain))


def is_command(line):
    """Whether the line is to be copied, so that it stays on one line."""
    return re.match(r"(heaptap: )?next:  heaptap |  +(sudo |heaptap |export |apt-get )", ESCAPES.sub("", line)) is not None


def too_wide(text, columns):
    return [line for line in text.splitlines()
            if display_width(line) > columns and not has_unbreakable_word(line, columns) and not is_command(line)]
