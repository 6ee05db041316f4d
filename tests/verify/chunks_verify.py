"""What glibc's own data say of the blocks in use, beside what was recorded from the program's start, block by block: what a scan after an
attach finds of earlier blocks is what was allocated and not released, and nothing else but the C library's caches of threads.

The environment names heaptap (HEAPTAP) and the program that lists chunks (VERIFY)."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, heaptap
from waiting import descendants, read_until, wait_for

LIST_CHUNKS = pathlib.Path(os.environ["VERIFY"]) / "list_chunks"
READY = "ready to be looked at"
PROGRAMS = {  # each says READY, and waits for input
    "python3": ["python3", "-c", f"import json, re, decimal\nkept = {{i: str(i) * 40 for i in range(20000)}}\ndel kept[5]\nprint({READY!r}, flush=True)\ninput()"],
    "python3 with threads": ["python3", "-c", f"""
import threading
all_have = threading.Barrier(7)
def work():
    kept = [bytearray(i % 3000 + 600) for i in range(3000)]
    del kept[::2]
    all_have.wait()
    threading.Event().wait()
for _ in range(6): threading.Thread(target=work, daemon=True).start()
all_have.wait()
print({READY!r}, flush=True)
input()"""],
    "perl": ["perl", "-e", f"$| = 1; %h = map {{ $_ => [1, $_, 'x' x ($_ % 500)] }} 1 .. 5000; delete $h{{$_ * 3}} for 1 .. 1500; print qq({READY}\\n); <STDIN>"],
    "bash": ["bash", "-c", f"declare -A a; for i in {{1..2000}}; do a[$i]=x$i$i; done; unset 'a[7]'; echo {READY}; read x"],
    "sqlite3": ["sqlite3", "-cmd", "create table t(a, b); insert into t select value, randomblob(300) from generate_series(1, 2000); delete from t where a % 3 = 0;",
                "-cmd", f"select '{READY}';"],
    "awk": ["awk", f"BEGIN {{ for (i = 0; i < 5000; i++) a[i] = i i i; for (i = 0; i < 5000; i += 3) delete a[i]; print \"{READY}\"; fflush(); getline x }}"],
    "php": ["php", "-r", f"$a = []; for ($i = 0; $i < 2000; $i++) $a[] = str_repeat('x', $i); echo \"{READY}\\n\"; fgets(STDIN);"],
    "gdb": ["gdb", "-q", "-nx", "-ex", "info line main", "-ex", f"echo {READY}\\n", "/usr/bin/env"],
    "bc": ["bc", "-q"],
    "node": ["node", "-e", f"const z = require('zlib'); const k = []; for (let i = 0; i < 500; i++) k.push(z.deflateSync(Buffer.alloc(3000, i & 255))); console.log('{READY}'); process.stdin.once('data', () => process.exit(0));"],
}
INPUT = {"bc": f'print "{READY}\\n"\n'}


class Chunks(heaptap_test.TestCase):
    def compare(self, name):
        words = PROGRAMS[name]
        if not shutil.which(words[0]):
            self.skipTest(f"{words[0]} is missing")
        trace = self.directory / "t.htap"
        recorded = subprocess.Popen([HEAPTAP, "run", "-q", "-o", trace, "--", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.directory)
        self.addCleanup(recorded.communicate)
        self.addCleanup(heaptap_test.end, recorded)
        os.write(recorded.stdin.fileno(), INPUT.get(name, "").encode())
        read_until(recorded.stdout.fileno(), READY, lambda text: READY.encode() in text, state=[recorded])
        process = self.recorded_process(recorded.pid)
        scanned = heaptap("leaks", str(process))
        self.assertIn(scanned.status, (0, 1, 3), scanned)
        listed = wait_for("heaps that no thread is changing", lambda: self.list_chunks(process), state=[process])
        lines = [line.split() for line in listed.splitlines()]
        heaps = [(int(begin), int(end)) for kind, begin, end in lines if kind == "heap"]
        chunks = {int(begin): int(size) for kind, begin, size in lines if kind == "block"}
        report = heaptap_test.read_report(heaptap("show", "blocks", "--json", "-n", "0", trace).stdout)
        blocks = {int(block["address"], 16): block["size"] for block in report["blocks"]}
        in_heaps = {address: size for address, size in blocks.items() if any(begin <= address < end for begin, end in heaps)}
        missing = [address for address, size in in_heaps.items() if chunks.get(address, -1) < size]
        threads = len(os.listdir(f"/proc/{process}/task"))
        extra = [(hex(address), size) for address, size in chunks.items() if address not in blocks]
        print(f"{name}: {len(in_heaps)} blocks in {len(heaps)} heaps, {len(chunks)} chunks in use, {len(missing)} of the blocks not among them, "
              f"{len(extra)} others with {threads} threads: {extra[:8]}", file=sys.stderr)
        self.assertGreater(len(in_heaps), 40)
        self.assertEqual(missing, [])
        self.assertLessEqual(len(extra), threads, extra[:30])

    def list_chunks(self, process):
        """None where a thread was stopped within the allocator."""
        listed = subprocess.run([LIST_CHUNKS, str(process)], capture_output=True, text=True, check=False)
        self.assertIn(listed.returncode, (0, 3), listed.stderr)
        return listed.stdout if listed.returncode == 0 else None

    @staticmethod
    def recorded_process(heaptap_pid):
        """The one that has the agent."""
        for process in descendants(heaptap_pid):
            if "libheaptap" in pathlib.Path(f"/proc/{process}/maps").read_text():
                return process
        raise AssertionError(f"no recorded process below {heaptap_pid}")


def _add(name):
    setattr(Chunks, "test_" + name.replace(" ", "_"), lambda self: self.compare(name))


for _name in PROGRAMS:
    _add(_name)

if __name__ == "__main__":
    unittest.main()
