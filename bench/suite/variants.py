"""Variants of running a work: bare, under heaptap, under heaptrack, Memcheck or LeakSanitizer. Each returns one sample per run."""
import os
import shutil

from .processes import Failure, MemoryWatch, Process, children_of

ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


class Bare:
    name = "bare"

    def __init__(self, directory):
        self.directory = directory

    def run(self, work, watch_memory=False):
        """A dictionary: target_cpu_s, helpers_cpu_s, wall_s, and with watch_memory the peaks in bytes."""
        self._clear()
        processes = self._start(work)
        watch = MemoryWatch([process.pid for process in processes]) if watch_memory else None
        exits = []
        try:
            if work.driver:
                work.driver(lambda: self._target_pid(processes[0].pid))
            for process in processes:
                exits.append(process.wait())
        except BaseException:
            for process in processes[len(exits) :]:
                process.terminate()
            raise
        peaks = watch.stop() if watch else {}
        if exits[0].code != work.exit_code:
            raise Failure(f"{work.name} ended with {exits[0].code} ({self.name}): {' '.join(processes[0].argv)}")
        if any(other.code != 0 for other in exits[1:]):
            raise Failure(f"what runs beside {work.name} under {self.name} failed")
        target_cpu_s, own_s = self._split(exits[0])
        sample = {
            "target_cpu_s": target_cpu_s,
            "helpers_cpu_s": own_s + sum(other.cpu_s for other in exits[1:]),
            "wall_s": max(ended.wall_s for ended in exits),
        }
        if watch:
            sample["memory"] = self._memory(processes, watch, peaks)
        return sample

    def output(self):
        with open(self._stdout(), "rb") as file:
            return file.read()

    def _stdout(self):
        return os.path.join(self.directory, f"{self.name}.out")

    def _clear(self):
        pass

    def _start(self, work):
        return [Process(work.argv, {**ENVIRONMENT, **work.environment}, stdout=self._stdout())]

    def _target_pid(self, first_pid):
        return first_pid

    def _split(self, ended):
        return ended.cpu_s, 0.0

    def _memory(self, processes, watch, peaks):
        """Peak of the target, and sum of its helpers' peaks."""
        target = processes[0].pid
        helpers = {pid for pid in peaks if self._is_helper(pid, target, watch.parents)}
        return {"target": peaks.get(target, {}), "helpers_rss_bytes": sum(peaks[pid].get("VmHWM", 0) for pid in helpers)}

    def _is_helper(self, pid, target, parents):
        while pid and pid != target:
            pid = parents.get(pid, 0)
        return pid != target


class Heaptap(Bare):
    """`heaptap run`: the target is heaptap's child."""

    name = "heaptap"

    def __init__(self, directory, heaptap, options=(), name="heaptap"):
        super().__init__(directory)
        self.name = name
        self.heaptap = heaptap
        self.options = list(options)
        self.trace = os.path.join(directory, f"{name}.htap")

    def _start(self, work):
        argv = [self.heaptap, "run", *self.options, "--force", "-o", self.trace, "--", *work.argv]
        return [Process(argv, {**ENVIRONMENT, **work.environment}, stdout=self._stdout())]

    def _target_pid(self, first_pid):
        children = children_of(first_pid)
        if not children:
            raise Failure("heaptap has no child")
        return children[0]

    def _split(self, ended):
        return ended.children_cpu_s, ended.own_cpu_s

    def _memory(self, processes, watch, peaks):
        collector = processes[0].pid
        targets = [pid for pid, parent in watch.parents.items() if parent == collector]
        target = targets[0] if targets else 0
        return {"target": peaks.get(target, {}), "helpers_rss_bytes": peaks.get(collector, {}).get("VmHWM", 0)}


class Heaptrack(Bare):
    """Equivalent of the `heaptrack` script (preloaded library, pipe, interpreter, zstd), without its shell."""

    name = "heaptrack"

    def __init__(self, directory, prefix):
        super().__init__(directory)
        self.preload = f"{prefix}/lib/heaptrack/libheaptrack_preload.so"
        self.interpreter = f"{prefix}/lib/heaptrack/libexec/heaptrack_interpret"
        self.pipe = os.path.join(directory, "heaptrack.pipe")
        self.compressor = "zstd" if shutil.which("zstd") else "gzip"
        self.trace = os.path.join(directory, "heaptrack." + ("zst" if self.compressor == "zstd" else "gz"))

    @staticmethod
    def find(directory):
        """None if it isn't installed."""
        script = shutil.which("heaptrack")
        if not script:
            return None
        found = Heaptrack(directory, os.path.dirname(os.path.dirname(os.path.realpath(script))))
        return found if os.path.exists(found.preload) and os.path.exists(found.interpreter) else None

    def _clear(self):
        for path in (self.pipe, self.trace, self.trace + ".failed"):
            if os.path.exists(path):
                os.remove(path)

    def _start(self, work):
        os.mkfifo(self.pipe)
        # A pipeline's status is its last part's; the interpreter's goes through a file of its own.
        pipeline = f'{{ "$0" < "$1" || : > "$2.failed"; }} | {self.compressor} -c > "$2" && [ ! -e "$2.failed" ]'
        helpers = Process(["/bin/sh", "-c", pipeline, self.interpreter, self.pipe, self.trace], ENVIRONMENT)
        environment = {**ENVIRONMENT, **work.environment}
        environment |= {"LD_PRELOAD": self.preload, "DUMP_HEAPTRACK_OUTPUT": self.pipe}
        return [Process(work.argv, environment, stdout=self._stdout()), helpers]


class Memcheck(Bare):
    """Valgrind's leak check: the work runs in its process."""

    name = "Memcheck"

    @staticmethod
    def find(directory):
        """None if it isn't installed."""
        return Memcheck(directory) if shutil.which("valgrind") else None

    def _start(self, work):
        argv = [shutil.which("valgrind"), "--leak-check=full", *work.argv]
        return [Process(argv, {**ENVIRONMENT, **work.environment}, stdout=self._stdout())]


class LeakSanitizer(Bare):
    """The work built with LeakSanitizer, beside the one built without. Leaks don't change the exit status."""

    name = "LeakSanitizer"

    @staticmethod
    def is_built(work):
        return os.access(work.argv[0] + "_lsan", os.X_OK)

    def _start(self, work):
        environment = {**ENVIRONMENT, **work.environment, "LSAN_OPTIONS": "exitcode=0"}
        return [Process([work.argv[0] + "_lsan", *work.argv[1:]], environment, stdout=self._stdout())]
