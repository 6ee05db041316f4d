"""A machine of another CPU, with a kernel of its own, in an emulator (QEMU): boots it, executes programs on it, and records them there
by heaptap-target for the heaptap of this machine."""
import contextlib
import os
import pathlib
import shutil
import socket
import stat
import struct
import subprocess
import threading
import time

import far
import heaptap_test
from waiting import TIMEOUT_S, TooSlow, last_lines, wait_for

HERE = pathlib.Path(__file__).resolve().parent
EMULATORS = {
    # One processor: with two, a stop by ptrace takes the tick that a kernel waits for another processor. Pointers are signed, by an
    # algorithm that is quick to emulate.
    "aarch64": ["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on", "-append", "console=ttyAMA0 quiet panic=-1 loglevel=4"],
}
LIBRARIES = ["ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"]
COMMAND_PORT, HEAPTAP_PORT = 7000, 7001
TOKEN = "/heaptap.token"
PROCESS, INPUT, OUTPUT, ERRORS, STATUS = b"p", b"i", b"o", b"e", b"s"


def archive(files):
    """An initramfs (cpio, "newc") of {path: bytes, or None for a directory}, with the directories above them."""
    entries = {}
    for path, data in files.items():
        for parent in reversed(pathlib.PurePosixPath(path).parents):
            entries.setdefault(str(parent), None)
        entries[path] = data
    made = b""
    pieces = []
    for number, (path, data) in enumerate([*sorted(entries.items()), ("TRAILER!!!", b"")]):
        name = path.lstrip("/").encode() + b"\0"
        if name == b"\0":
            continue
        mode = stat.S_IFDIR | 0o755 if data is None else stat.S_IFREG | (0o600 if path == TOKEN else 0o755)
        size = len(data or b"")
        head = b"070701" + b"".join(b"%08x" % field for field in (number + 1, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, len(name), 0))
        made = head + name
        pieces += [made, b"\0" * (-len(made) % 4), data or b"", b"\0" * (-size % 4)]
    return b"".join(pieces)


class Command:
    """A program that runs on the machine. What it prints is collected."""

    def __init__(self, machine, words, env, cwd, stdin):
        self.machine = machine
        self.words = [str(word) for word in words]
        self.text = {OUTPUT: b"", ERRORS: b""}
        self.pid = None
        self.status = None
        self.files = []  # in its working directory, at its end
        self.connection = machine.connect()
        texts = [str(cwd), str(len(self.words)), *self.words, *(f"{name}={value}" for name, value in env.items())]
        sent = b"".join(text.encode() + b"\0" for text in texts)
        self.connection.sendall(struct.pack("<I", len(sent)) + sent)
        self.reader = threading.Thread(target=self.collect, daemon=True)
        self.reader.start()
        if stdin is not None:
            self.write(stdin)
            self.write(b"")

    def write(self, data):
        """To its standard input; nothing ends it."""
        with contextlib.suppress(OSError):
            for at in range(0, max(len(data), 1), 65536):
                piece = data[at:at + 65536]
                self.connection.sendall(INPUT + struct.pack("<I", len(piece)) + piece)

    def said(self, text):
        """Waits until it has printed this."""
        wait_for(f"it says {text}", lambda: text in self.text[OUTPUT] or self.status is not None, state=[self.machine.emulator, self])
        assert text in self.text[OUTPUT], str(self)

    def collect(self):
        with contextlib.suppress(OSError, struct.error):
            while self.status is None:
                kind, count = struct.unpack("<cI", self.read(5))
                data = self.read(count)
                if kind == PROCESS:
                    self.pid, = struct.unpack("<i", data)
                elif kind == STATUS:
                    self.files = sorted(name.decode() for name in data[4:].split(b"\0")[:-1])
                    self.status = heaptap_test.shell_status(os.waitstatus_to_exitcode(struct.unpack("<i", data[:4])[0]))
                else:
                    self.text[kind] += data

    def read(self, count):
        data = b""
        while len(data) < count and (piece := self.connection.recv(count - len(data))):
            data += piece
        return data

    def wait(self, timeout_s=TIMEOUT_S):
        """Its outcome, once it has ended."""
        began = time.monotonic()
        self.reader.join(timeout_s)
        if self.status is None:
            raise TooSlow(f"on the machine, not ended after {timeout_s} s: {' '.join(self.words)}\n{self.text}\n{self.machine}")
        return heaptap_test.Outcome(self.status, self.text[OUTPUT], self.text[ERRORS], time.monotonic() - began)

    def end(self):
        """Kills it, if it still runs, and waits for its end."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
        self.reader.join(TIMEOUT_S)
        self.connection.close()

    def __str__(self):
        return f"on the machine: {' '.join(self.words)}: {self.text}\n{self.machine}"


class Machine:
    """kernel: what tools/cross_kernel.sh made. libraries: a directory of a system for this CPU. files: {path there: file here, or bytes}.
    compile_static(source, to) makes a program."""

    def __init__(self, cpu, directory, kernel, libraries, heaptap_target, files, compile_static):
        if not shutil.which(EMULATORS[cpu][0]):
            heaptap_test.skip_what_is_missing(f"{EMULATORS[cpu][0]} is missing")
        self.console = directory / "console"
        self.ports = [far.free_port(), far.free_port()]
        self.token = far.make_token(directory, "machine.token")
        init = directory / "init"
        compile_static(HERE / "machine_init.c", init)
        content = {"/init": init, "/bin/heaptap-target": heaptap_target, TOKEN: self.token, **files}
        for driver in (kernel / "modules").iterdir():
            content[f"/modules/{driver.name}"] = driver
        for name in LIBRARIES:
            content[f"/lib/{name}"] = next(path for path in sorted(libraries.rglob(name)) if path.exists())
        image = directory / "initramfs"
        image.write_bytes(archive({path: file if isinstance(file, bytes) else pathlib.Path(file).read_bytes() for path, file in content.items()}))
        forwarded = "".join(f",hostfwd=tcp:127.0.0.1:{here}-:{there}" for here, there in zip(self.ports, (COMMAND_PORT, HEAPTAP_PORT)))
        with self.console.open("wb") as console:
            self.emulator = subprocess.Popen(
                [*EMULATORS[cpu], "-m", "768", "-nographic", "-no-reboot", "-kernel", kernel / "kernel", "-initrd", image,
                 "-netdev", f"user,id=n,restrict=on{forwarded}", "-device", "virtio-net-device,netdev=n"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)
        try:
            wait_for("the machine has booted", lambda: b"machine: listening" in self.console.read_bytes(), state=[self.emulator, self.console])
        except BaseException:
            self.close()
            raise

    def close(self):
        self.emulator.kill()
        self.emulator.wait()

    def __str__(self):
        return f"the machine's console: {last_lines(self.console)}"

    def connect(self):
        """A connection to the machine's first process. The emulator accepts those that nothing waits for as well: that one greets."""
        def connected():
            made = socket.create_connection(("127.0.0.1", self.ports[0]), timeout=TIMEOUT_S)
            with contextlib.suppress(OSError):
                if made.recv(1) == b"+":
                    return made
            made.close()
            return None

        return wait_for("the machine takes a command", connected, state=[self.emulator, self.console])

    def start(self, words, env=None, cwd="/tmp", stdin=b""):
        """stdin: None leaves it open, for Command.write()."""
        return Command(self, words, {"PATH": "/bin", **(env or {})}, cwd, stdin)

    def run(self, words, timeout_s=TIMEOUT_S, **options):
        return self.start(words, **options).wait(timeout_s)

    @contextlib.contextmanager
    def serving(self, *options, **how):
        """heaptap-target there, until the end of the block: (its command, the words that lead heaptap to it)."""
        # Not quiet: it says when it listens, which can't be seen from here.
        command = self.start(["/bin/heaptap-target", "serve", f"0.0.0.0:{HEAPTAP_PORT}", "--token-file", TOKEN, *options], **how)
        try:
            wait_for("heaptap-target waits there", lambda: command.status is not None or b"waiting" in command.text[ERRORS],
                     state=[self.emulator, command])
            assert command.status is None, str(command)
            yield command, ["-H", f"127.0.0.1:{self.ports[1]}", "--token-file", self.token]
        finally:
            command.end()
