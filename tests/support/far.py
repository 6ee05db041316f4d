"""heaptap-target on this machine, as if it were another one: what runs a program there, and what records it here."""
import contextlib
import os
import pathlib
import random
import re
import shlex
import socket
import subprocess

import heaptap_test
from waiting import ended, wait_for

HEAPTAP_TARGET = pathlib.Path(os.environ.get("HEAPTAP_TARGET", pathlib.Path(heaptap_test.HEAPTAP).parent / "heaptap-target"))


_kept = []  # sockets whose names say that a port is this script's, for as long as it runs


def free_port():
    """A port that nobody listens at, and nobody is given meanwhile: below those that the kernel gives away, and of no other test."""
    for port in random.sample(range(20_000, 30_000), 10_000):
        name = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError), socket.socket() as probe:
            name.bind(f"\0heaptap.test.port.{port}")
            probe.bind(("127.0.0.1", port))
            _kept.append(name)
            return port
        name.close()
    raise AssertionError("there is no free port")


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
        wait_for(f"{address} is served", lambda: process.poll() is not None or listens(process.pid, address), state=process)
        yield process
    finally:
        heaptap_test.end(process)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def listens(pid, address):
    """Whether something does in the network of this process. Without touching the socket: an attempt would count."""
    if "/" in address:  # its name is there before it listens, which is one of its flags
        lines = pathlib.Path(f"/proc/{pid}/net/unix").read_text().splitlines()
        return any(line.endswith(f" {address}") and int(line.split()[3], 16) & 0x10000 for line in lines)
    port = f":{int(address.rpartition(':')[2]):04X} "
    tables = [pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines() for name in ("tcp", "tcp6")]
    return any(port in line.split(" 0", 1)[0] + line[:40] and " 0A " in line for table in tables for line in table)


def is_recorded(pid):
    """Whether there is a recording of it that can be asked."""
    return re.search(rf"heaptap\.recording\.{pid}\b", pathlib.Path("/proc/net/unix").read_text()) is not None


def pair(folder, *addresses):
    """Makes a host, whose keys are in $HEAPTAP_KEYS, and a target with its keys in folder / "board.keys" known to each other: each types what
    the other one prints. The host has no token meanwhile."""
    os.environ["HEAPTAP_KEYS"] = str(folder / "desk.keys")
    said = heaptap_test.heaptap("pair").stdout.decode()
    words = re.fullmatch(r"on the target: heaptap-target (pair .*)\n", said).group(1)
    said = heaptap_test.run([HEAPTAP_TARGET, *shlex.split(words), "--keys", folder / "board.keys"]).stdout.decode()
    key = re.search(r"on the host: heaptap pair \S+ (\S+) .*\n", said).group(1)
    for address in addresses:
        known = heaptap_test.heaptap("pair", address, key)
        assert known.status == 0, str(known)
    return key


def new_token():
    return subprocess.run([HEAPTAP_TARGET, "token"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def make_token(folder, name="far.token"):
    """A file with one that both sides know."""
    token = folder / name
    token.write_text(new_token())
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
            ended(server, state=done)
        for stream in (out, err):
            stream.seek(0)
        return heaptap_test.Outcome(done.status, out.read(), without_orders(err.read()) + done.stdout + done.stderr, done.seconds)


def without_orders(said):
    """What the program said on the other side, without heaptap-target's line of the order to run it, which --quiet keeps."""
    return re.sub(rb"^heaptap-target: [\d-]+T[\d:]+Z [^\n]* runs [^\n]* as user \d+\n", b"", said, count=1, flags=re.MULTILINE)
