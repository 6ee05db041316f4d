"""Process group (cgroup) with a memory limit."""
import os
import pathlib
import time

import heaptap_test

CURE = "run as root with /sys/fs/cgroup writable and its memory controller (mount -t cgroup -o memory memory /sys/fs/cgroup/memory; a container: " \
    "--privileged --cgroupns=private)"


class MemoryGroup:
    """A cgroup for processes that join it."""

    def __init__(self, limit_bytes):
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        v2 = pathlib.Path("/sys/fs/cgroup")
        self.name = name = f"heaptap-test-{os.getpid()}-{time.monotonic_ns()}"
        try:
            if (v1 / "memory.limit_in_bytes").exists():
                self.directory, limit = v1 / name, "memory.limit_in_bytes"
                self.directory.mkdir()
            else:
                if "memory" not in (v2 / "cgroup.controllers").read_text().split():
                    self.skip_without_controller()
                if "memory" not in (v2 / "cgroup.subtree_control").read_text().split():
                    (v2 / "cgroup.subtree_control").write_text("+memory")
                self.directory, limit = v2 / name, "memory.max"
                self.directory.mkdir()
            (self.directory / limit).write_text(str(limit_bytes))
        except OSError as error:
            heaptap_test.skip_what_is_missing(f"groups of processes with a limit of memory can't be made here: {error}", CURE)

    @staticmethod
    def skip_without_controller():
        lines = [line.split() for line in pathlib.Path("/proc/cgroups").read_text().splitlines()]
        if not any(line[0] == "memory" for line in lines):
            heaptap_test.skip_what_the_kernel_lacks("limits of memory for groups of processes: this kernel has none (CONFIG_MEMCG)")
        heaptap_test.skip_what_is_missing("the memory controller isn't there for groups of processes", CURE)

    def joining(self, *command):
        """A command that joins the cgroup and then executes this one."""
        return ["/bin/sh", "-c", f'echo $$ > {self.directory}/cgroup.procs; exec "$@"', "sh", *command]

    def remove(self):
        self.directory.rmdir()
