"""heaptap-target on this machine, as if it were another one: what runs a program there, and what records it here."""
import contextlib
import os
import pathlib
import socket
import subprocess
import time

import heaptap_test

HEAPTAP_TARGET = pathlib.Path(os.environ.get("HEAPTAP_TARGET", pathlib.Path(heaptap_test.HEAPTAP).parent / "heaptap-target"))


def wait_for(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not after {seconds} s: {what}")
        time.sleep(0.01)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serving(address, *options, **popen):
    """heaptap-target that serves hosts at an address, until the end of the block."""
    with waiting(address, "serve", address, *options, **popen) as process:
        yield process


@contextlib.contextmanager
def waiting(address, *words, **popen):
    """heaptap-target that waits at an address, until the end of the block. wrapper: what executes it."""
    process = subprocess.Popen([*popen.pop("wrapper", ()), HEAPTAP_TARGET, *map(str, words)], stdin=popen.pop("stdin", subprocess.DEVNULL),
                               stdout=popen.pop("stdout", subprocess.PIPE), stderr=popen.pop("stderr", subprocess.PIPE), **popen)
    try:
        wait_for(lambda: process.poll() is not None or listens(process.pid, address), f"{address} is served")
        yield process
    finally:
        heaptap_test.end(process)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def listens(pid, address):
    """Without touching the socket: an attempt would count."""
    if "/" in address:
        return f" {address}\n" in pathlib.Path(f"/proc/{pid}/net/unix").read_text()
    port = f":{int(address.rpartition(':')[2]):04X} "
    tables = [pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines() for name in ("tcp", "tcp6")]
    return any(port in line.split(" 0", 1)[0] + line[:40] and " 0A " in line for table in tables for line in table)


def make_token(folder):
    """A file with one that both sides know."""
    token = folder / "far.token"
    token.write_text("aPSsw0rdThatNobodyKnows/42")
    token.chmod(0o600)
    return token


def run(line, folder, *arguments, stdin=b"", env=None, cwd=None, timeout_s=heaptap_test.TIMEOUT_S):
    """`heaptap run ARGUMENTS` with the program on the other side: its output is that side's, its status is told here. line: "unix" or
    "tcp", which has a token."""
    address = str(folder / "far.sock") if line == "unix" else f"127.0.0.1:{free_port()}"
    security = [] if line == "unix" else ["--token-file", make_token(folder)]
    with contextlib.suppress(FileNotFoundError):
        os.unlink(folder / "far.sock")
    with (folder / "far.in").open("wb+") as source, (folder / "far.out").open("wb+") as out, (folder / "far.err").open("wb+") as err:
        source.write(stdin)
        source.seek(0)
        with serving(address, "--quiet", "--once", *security, stdin=source, stdout=out, stderr=err, env=env, cwd=cwd) as server:
            done = heaptap_test.heaptap("run", "-H", address, *security, *arguments, timeout_s=timeout_s)
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:
                raise AssertionError(f"heaptap-target doesn't end: {done}") from None
        for stream in (out, err):
            stream.seek(0)
        return heaptap_test.Outcome(done.status, out.read(), err.read() + done.stdout + done.stderr, done.seconds)
