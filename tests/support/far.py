"""Remote target simulated on this machine: starting heaptap-target, and recording with it."""
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
    """A free port that stays free: outside of the kernel's ephemeral range, and reserved against other tests."""
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
    """heaptap-target serving hosts at an address, until the end of the block."""
    with waiting(address, "serve", address, *options, **popen) as process:
        yield process


@contextlib.contextmanager
def waiting(address, *words, **popen):
    """heaptap-target waiting at an address, until the end of the block. wrapper: program that executes it."""
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
    """Whether the address is listened at in the process's network namespace. Without connecting, since an attempt would count."""
    if "/" in address:  # its name is there before it listens, which is one of its flags
        lines = pathlib.Path(f"/proc/{pid}/net/unix").read_text().splitlines()
        return any(line.endswith(f" {address}") and int(line.split()[3], 16) & 0x10000 for line in lines)
    port = f":{int(address.rpartition(':')[2]):04X} "
    tables = [pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines() for name in ("tcp", "tcp6")]
    return any(port in line.split(" 0", 1)[0] + line[:40] and " 0A " in line for table in tables for line in table)


def is_recorded(pid):
    """Whether the process has a recording that accepts connections."""
    return re.search(rf"heaptap\.recording\.{pid}\b", pathlib.Path("/proc/net/unix").read_text()) is not None


def pair(directory, *addresses):
    """Pairs a host, whose keys are in $HEAPTAP_KEYS, with a target whose keys are in directory / "board.keys": runs on each the command that
    the other one prints. The host has no token while doing so."""
    os.environ["HEAPTAP_KEYS"] = str(directory / "desk.keys")
    said = heaptap_test.heaptap("pair").stdout.decode()
    words = re.fullmatch(r"on the target: heaptap-target (pair .*)\n", said).group(1)
    said = heaptap_test.run([HEAPTAP_TARGET, *shlex.split(words), "--keys", directory / "board.keys"]).stdout.decode()
    key = re.search(r"on the host: heaptap pair \S+ (\S+) .*\n", said).group(1)
    for address in addresses:
        known = heaptap_test.heaptap("pair", address, key)
        assert known.status == 0, str(known)
    return key


def new_token():
    return subprocess.run([HEAPTAP_TARGET, "token"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def make_token(directory, name="far.token"):
    """Creates a token file for both sides."""
    token = directory / name
    token.write_text(new_token())
    token.chmod(0o600)
    return token


def run(line, directory, *arguments, stdin=b"", env=None, cwd=None, timeout_s=heaptap_test.TIMEOUT_S):
    """`heaptap run ARGUMENTS` with the program on the remote side: its output goes there, its status is returned here. line: "unix" or
    "tcp", which uses a token."""
    address = str(directory / "far.sock") if line == "unix" else f"127.0.0.1:{free_port()}"
    security = [] if line == "unix" else ["--token-file", make_token(directory)]
    with contextlib.suppress(FileNotFoundError):
        os.unlink(directory / "far.sock")
    with (directory / "far.in").open("wb+") as source, (directory / "far.out").open("wb+") as out, (directory / "far.err").open("wb+") as err:
        source.write(stdin)
        source.seek(0)
        with serving(address, "--quiet", "--once", *security, stdin=source, stdout=out, stderr=err, env=env, cwd=cwd) as server:
            done = heaptap_test.heaptap("run", "-H", address, *security, *arguments, timeout_s=timeout_s)
            ended(server, state=done)
        for stream in (out, err):
            stream.seek(0)
        return heaptap_test.Outcome(done.status, out.read(), without_orders(err.read()) + done.stdout + done.stderr, done.seconds)


def without_orders(said):
    """The program's output on the remote side, without heaptap-target's line about the order to run it, which --quiet keeps."""
    return re.sub(rb"^heaptap-target: [\d-]+T[\d:]+Z [^\n]* runs [^\n]* as user \d+\n", b"", said, count=1, flags=re.MULTILINE)
