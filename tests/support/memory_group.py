"""A group of processes (cgroup) with a limit of memory."""
import os
import pathlib
import time
import unittest


class MemoryGroup:
    """A group for processes that join it."""

    def __init__(self, limit_bytes):
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        v2 = pathlib.Path("/sys/fs/cgroup")
        name = f"heaptap-test-{os.getpid()}-{time.monotonic_ns()}"
        try:
            if (v1 / "memory.limit_in_bytes").exists():
                self.folder, limit = v1 / name, "memory.limit_in_bytes"
                self.folder.mkdir()
            else:
                if "memory" not in (v2 / "cgroup.controllers").read_text().split():
                    raise unittest.SkipTest("no memory controller for groups here")
                if "memory" not in (v2 / "cgroup.subtree_control").read_text().split():
                    (v2 / "cgroup.subtree_control").write_text("+memory")
                self.folder, limit = v2 / name, "memory.max"
                self.folder.mkdir()
            (self.folder / limit).write_text(str(limit_bytes))
        except OSError as error:
            raise unittest.SkipTest(f"no memory groups can be made here: {error}") from None

    def joining(self, *command):
        """A command that joins the group and goes on as this one."""
        return ["/bin/sh", "-c", f'echo $$ > {self.folder}/cgroup.procs; exec "$@"', "sh", *command]

    def remove(self):
        self.folder.rmdir()
