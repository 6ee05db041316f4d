# CTEST TIMEOUT 900
# CTEST COST 40
"""Large programs of others, with all their children: they end as they do alone, with the same output, and each trace can be
read. What isn't installed is skipped, in CI it has to be there (tools/packages.txt, group `real`)."""
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import built, summary

TIMEOUT_S = 240  # they are large, and the machine may be busy
OTHER_USER = "nobody"  # some programs refuse to run as root

PAGE = """<html><body><p id="count"></p><script>
let words = []; for (let i = 0; i < 20000; i++) words.push("word " + i);
document.getElementById("count").textContent = words.join(" ").length;
</script></body></html>"""

CHROMIUM = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--dump-dom"]

PHP = """$rows = []; for ($i = 0; $i < 20000; $i++) $rows[] = ["id" => $i, "name" => md5((string)$i)];
usort($rows, fn($a, $b) => strcmp($a["name"], $b["name"])); echo json_encode(array_slice($rows, 0, 3)), "\\n", count($rows), "\\n";"""

PYTHON = """
import multiprocessing, threading, numpy, kiwisolver
def work(n):
    return int(numpy.arange(n).sum()) + len([str(i) for i in range(n)])
def solve(n):
    solver = kiwisolver.Solver(); last = None
    for i in range(n):
        variable = kiwisolver.Variable(str(i)); solver.addConstraint(variable == i if last is None else variable == last + 1)
        last = variable
    solver.updateVariables(); return last.value()
if __name__ == "__main__":
    threads = [threading.Thread(target=solve, args=(50,)) for _ in range(8)]
    for thread in threads: thread.start()
    with multiprocessing.get_context("fork").Pool(4) as pool:
        print(sum(pool.map(work, range(1000, 1040))), sorted(pool.map(solve, [5, 10, 20])))
    for thread in threads: thread.join()
"""

NODE = """
const { Worker, isMainThread, parentPort } = require("worker_threads");
if (isMainThread) {
  let sum = 0, left = 4;
  for (let i = 0; i < 4; i++) {
    const worker = new Worker(__filename);
    worker.on("message", (n) => { sum += n; });
    worker.on("exit", () => { if (--left === 0) console.log(sum); });
  }
} else {
  const rows = []; for (let i = 0; i < 50000; i++) rows.push({ name: "row " + i });
  parentPort.postMessage(JSON.stringify(rows).length);
}
"""

JAVA = """
import java.util.*;
import java.util.stream.*;
class Words {
  public static void main(String[] arguments) throws Exception {
    var threads = new ArrayList<Thread>();
    var sums = new long[8];
    for (int i = 0; i < sums.length; i++) {
      final int at = i;
      threads.add(new Thread(() -> sums[at] = IntStream.range(0, 100000).mapToObj(Integer::toString).mapToLong(String::length).sum()));
    }
    for (var thread : threads) thread.start();
    for (var thread : threads) thread.join();
    System.out.println(Arrays.stream(sums).sum());
  }
}
"""

CXX = """
#include <iostream>
#include <map>
#include <string>
int main() {
  std::map<std::string, int> counts;
  for (int i = 0; i < 100; ++i) counts[std::to_string(i % 7)]++;
  std::cout << counts.size() << std::endl;
}
"""

POSTGRES = """
set -e
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
$bin/initdb -D data -A trust -U test --no-sync >initdb.log
$bin/pg_ctl -D data -w -l server.log -o "-c listen_addresses='' -k $PWD -c fsync=off" start >/dev/null
query() { $bin/psql -X -h "$PWD" -U test -d postgres -At -c "$1"; }
query "create table numbers as select i, md5(i::text) as text from generate_series(1, 20000) i"
query "create index on numbers(text)"
query "set max_parallel_workers_per_gather = 2; select count(*), min(text) from numbers"
$bin/pg_ctl -D data -w -m fast stop >/dev/null
"""


class RealPrograms(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        # Another user has to reach the programs and the directory.
        self.directory.chmod(0o755)
        self.programs = self.directory / "heaptap"
        self.programs.mkdir()
        for file in ("heaptap", "libheaptap_agent.so"):
            shutil.copy(pathlib.Path(heaptap_test.HEAPTAP).parent / file, self.programs)

    def needs(self, *programs):
        for program in programs:
            if shutil.which(program) is None and not pathlib.Path(program).exists():
                heaptap_test.skip_what_is_missing(f"{program} is not installed")

    def needs_namespaces(self, *command):
        """The command, which makes user namespaces and does nothing else in them, has to succeed here."""
        outcome = heaptap_test.run([*command, "true"])
        if outcome.status != 0:
            said = outcome.stderr.decode(errors="replace").strip()
            heaptap_test.skip_what_is_missing(f"no user namespaces here, as in a chroot or where the kernel forbids them: {said}")

    def write(self, name, text):
        file = self.directory / name
        file.write_text(text)
        return file

    def run_in(self, name, command, as_user=None):
        """Runs it in a new directory, as another user if this one is root."""
        directory = self.directory / name
        directory.mkdir()
        env = {**os.environ, "HOME": str(directory), "LC_ALL": "C.UTF-8"}
        if as_user and os.geteuid() == 0:
            user = pwd.getpwnam(as_user)
            os.chown(directory, user.pw_uid, user.pw_gid)
            command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", *command]
        return heaptap_test.run(command, env=env, cwd=directory, timeout_s=TIMEOUT_S)

    def check(self, command, as_user=None, processes=1, same_errors=True):
        """`processes`: so many at least have a trace."""
        bare = self.run_in("bare", command, as_user)
        self.assertEqual(bare.status, 0, f"without heaptap: {bare}")
        self.assertTrue(bare.stdout, "a program that says nothing shows nothing")
        traced = self.run_in("traced", [self.programs / "heaptap", "run", "-q", "-f", "-e", "-o", "trace.%p.htap", "--", *command], as_user)
        self.assertEqual((traced.status, traced.stdout), (bare.status, bare.stdout), f"under heaptap and without it differ\n{traced}")
        if same_errors:
            self.assertEqual(traced.stderr, bare.stderr, f"stderr differs\n{traced}")
        for word in (b"ld.so", b"heaptap"):
            self.assertNotIn(word, traced.stderr, str(traced))
        traces = sorted((self.directory / "traced").glob("*.htap"))
        self.assertGreaterEqual(len(traces), processes, f"{[trace.name for trace in traces]}\n{traced}")
        self.check_traces(traces)

    def check_traces(self, traces):
        allocations = 0
        for trace in traces:
            report = summary(trace)
            allocations += report["totals"]["allocations"]
            self.assertEqual(report["capture"]["lost_events"], 0, trace.name)
            totals = report["totals"]
            self.assertEqual((totals["bad_frees"], totals["double_frees"], totals["mismatched_frees"]), (0, 0, 0), trace.name)
        self.assertGreater(allocations, 0)

    def test_chromium(self):
        self.needs("chromium", "setpriv")
        self.needs_namespaces("unshare", "-r")
        page = self.write("page.html", PAGE)
        # Its sandbox has processes in namespaces and changed roots.
        self.check(["chromium", *CHROMIUM, f"file://{page}"], as_user=OTHER_USER, processes=2, same_errors=False)

    def test_php(self):
        self.needs("php")
        self.check(["php", "-r", PHP])

    def test_python(self):
        self.needs("/usr/bin/python3")
        script = self.write("script.py", PYTHON)
        if subprocess.run(["/usr/bin/python3", "-c", "import numpy, kiwisolver"], stderr=subprocess.DEVNULL).returncode != 0:
            heaptap_test.skip_what_is_missing("python3-numpy and python3-kiwisolver are not installed")
        self.check(["/usr/bin/python3", script], processes=5)

    def test_postgres(self):
        self.needs("setpriv")
        if not list(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres")):
            heaptap_test.skip_what_is_missing("postgresql is not installed")
        self.check(["sh", "-c", POSTGRES], as_user=OTHER_USER, processes=8)

    def test_node(self):
        self.needs("node")
        self.check(["node", self.write("script.js", NODE)])

    def test_java(self):
        self.needs("java", "javac")
        self.check(["java", self.write("Words.java", JAVA)])

    def test_compiler_with_its_children(self):
        self.needs("g++")
        source = self.write("program.cc", CXX)
        self.check(["sh", "-c", f"g++ -O1 -g -o program {source} && ./program && echo built"], processes=5)

    def test_debugger(self):
        self.needs("gdb")
        commands = " ".join(f"-ex '{command}'" for command in ("break main", "run", "bt", "continue"))
        self.check(["sh", "-c", f"gdb -q -nx -batch {commands} {built('leak_definite')} | sed 's/process [0-9]*/process/'"])

    def test_without_network(self):
        self.needs("unshare")
        self.needs_namespaces("unshare", "-rn")
        self.check(["unshare", "-rn", "/bin/sh", "-c", "ls /sys/class/net; echo done"])

    def test_container(self):
        self.needs("bwrap")
        sandbox = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--"]
        self.needs_namespaces(*sandbox)
        self.check([*sandbox, "/bin/sh", "-c",
                    "ls / | wc -l; perl -e 'my %h; $h{$_} = $_ x 3 for 1 .. 1000; print scalar(keys %h), \"\\n\"'"])


if __name__ == "__main__":
    unittest.main()
