"""Process in namespaces of its own, with a root directory that has only its program, as from a container runtime."""
import os
import pathlib
import re
import shutil
import subprocess

import heaptap_test
from waiting import wait_for

# Goes into its root as runtimes do: the old one is out of reach then.
ENTER = r"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def do(result):
    if result != 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
root = sys.argv[1].encode()
do(libc.mount(b"none", b"/", None, 1 << 18 | 1 << 14, None))         # MS_PRIVATE | MS_REC
do(libc.mount(root, root, None, 1 << 12 | 1 << 14, None))            # MS_BIND | MS_REC
do(libc.mount(b"proc", root + b"/proc", b"proc", 0, None))
os.chdir(root)
do(libc.syscall(155, b".", b"."))                                    # pivot_root
do(libc.umount2(b".", 2))                                            # MNT_DETACH
os.chdir("/")
os.execv(sys.argv[2], sys.argv[2:])
"""
UNSHARE = ["unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child"]
USER = ["--user", "--map-root-user"]


def usable():
    return subprocess.run([*UNSHARE, *USER, "true"], capture_output=True, check=False).returncode == 0


def libraries_of(program):
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [pathlib.Path(path) for path in re.findall(r"(?:=> |^\s+)(/\S+)", listed, re.MULTILINE)]


def make_root(root, files):
    """files: path in it -> file to copy. The libraries they need are copied too, if installed here."""
    for directory in ("proc", "tmp", "dev"):
        (root / directory).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    wanted = dict(files)
    for source in list(files.values()):
        for library in libraries_of(source):
            if not any(library.samefile(other) for other in files.values()):
                wanted.setdefault(str(library), library)
    for path, source in wanted.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place)


class Container:
    """Runs a command in a root directory, until the test ends. user: in a user namespace of its own too."""

    def __init__(self, test, root, *command, user=True, **popen):
        words = [*UNSHARE, *(USER if user else []), "python3", "-c", ENTER, root, *command]
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, **popen)
        test.addCleanup(self._end)
        self.program = str(command[0])
        wait_for(f"{command[0]} runs in its container", lambda: self.process.poll() is not None or self.find() is not None, state=self.process)
        self.pid = self.find()  # as it is seen from here

    def find(self):
        for pid in heaptap_test.descendants(self.process.pid):
            try:
                if os.readlink(f"/proc/{pid}/exe") == self.program:
                    return pid
            except OSError:
                continue
        return None

    def _end(self):
        heaptap_test.end(self.process)
        self.process.wait()
