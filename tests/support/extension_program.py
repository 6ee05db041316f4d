"""A Python program whose extension, a library in C, loses memory: LIBRARY ENDING. Protocol and endings are those of
tests/targets/answers/answers_rows.cc."""
import ctypes
import os
import signal
import sys


def say(text):
    os.write(1, text.encode())


def await_line():
    byte = b""
    while byte != b"\n":
        byte = os.read(0, 1)
        if not byte:
            os._exit(98)


def main(library, ending):
    extension = ctypes.CDLL(library)
    say(f"ready {os.getpid()}\n")
    await_line()
    extension.run_extension()
    say("done\n")
    await_line()
    if ending == "exit":
        sys.exit(0)
    if ending == "_exit":
        os._exit(0)
    if ending == "handler":
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        signal.raise_signal(signal.SIGTERM)
    if ending == "crash":
        ctypes.string_at(0)


main(*sys.argv[1:])
