# CTEST COST 20
"""Real programs: what heaptap counts equals what the oracle counts in the very same run. The oracle is preloaded by the
user, behind heaptap's agent, so that both see the same calls and no program needs to be deterministic."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
import oracle
from waiting import finished, wait_for

_SQL = """
create table words(id integer primary key, word text, weight real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
  insert into words select i, printf('word-%d', (i * 7919) % 3001), i / 7.0 from n;
create index by_word on words(word);
select count(*), min(word), max(weight) from words where word like 'word-1%';
select substr(word, 1, 6) as head, sum(weight) from words group by head order by 2 desc limit 5;
update words set weight = weight * 2 where id % 3 = 0;
delete from words where id % 5 = 0;
select count(*) from words a join words b on a.id = b.id + 1;
"""
_PYTHON = """
import json, re, collections
counts = collections.Counter(re.findall(r"\\w+", "the quick brown fox jumps over the lazy dog " * 200))
tree = {i: {str(j): [j] * (i % 7) for j in range(20)} for i in range(100)}
print(len(json.dumps(tree)), counts.most_common(2))
class Cycle: pass
for i in range(500):
    a = Cycle(); a.me = a
"""
_PERL = """
my %h; for my $i (1..5000) { my $k = "k" . ($i * 31 % 997); $h{$k} .= "x" x ($i % 17); push @l, [$i, $k]; }
print scalar(keys %h), " ", length(join(",", map { $_->[1] } sort { $a->[1] cmp $b->[1] } @l)), "\\n";
eval { die { code => 5 } }; print $@->{code}, "\\n";
"""
_CPP = """
#include <map>
#include <string>
#include <vector>
template <int N> struct Row { std::map<std::string, std::vector<int>> cells[N]; };
int main() { Row<3> a; Row<4> b; return a.cells[0].size() + b.cells[1].size(); }
"""


def program(name):
    path = name if os.path.isabs(name) else shutil.which(name, path="/usr/bin:/bin")
    if not path or not os.path.exists(path):
        heaptap_test.skip_what_is_missing(f"there is no {name} on this machine")
    return path


class RealPrograms(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.assertTrue(heaptap_test.ORACLE.exists(), f"the oracle was not built: {heaptap_test.ORACLE}")
        self.counted = self.directory / "oracle"
        self.environment = {**os.environ, "ORACLE_OUT": str(self.counted), "LD_PRELOAD": str(heaptap_test.ORACLE), "LC_ALL": "C",
                            "HOME": str(self.directory)}

    def check(self, *command, stdin=b"", status=0, **variables):
        env = {**self.environment, **variables}
        plain = {name: value for name, value in {**os.environ, **env}.items() if name not in ("LD_PRELOAD", "ORACLE_OUT")}
        bare = heaptap_test.run(command, stdin=stdin, cwd=self.directory, env=plain)
        traced = heaptap_test.heaptap("run", "-q", "-o", self.trace, "--", *command, stdin=stdin, cwd=self.directory, env=env)
        self.assertEqual(traced.status, status, str(traced))
        self.assertEqual((traced.stdout, traced.stderr), (bare.stdout, bare.stderr), "output under heaptap and without it differ")
        self.compare()

    def compare(self):
        report, counts = heaptap_test.summary(self.trace), oracle.read(self.counted)
        seen, mapped = {}, {}
        for stack in report["stacks"]:
            where = mapped if stack["function"] in ("mmap", "mmap64", "mremap") else seen
            calls, size = where.get(stack["function"], (0, 0))
            where[stack["function"]] = (calls + stack["allocations"], size + stack["allocated_bytes"])
        self.assertGreater(counts.allocations, 5, "the oracle saw nothing: is it preloaded?")
        self.assertEqual(dict(sorted(seen.items())), dict(sorted(counts.functions.items())), "calls and bytes of each function")
        for name in ("mmap", "mmap64"):
            self.assertEqual(mapped.get(name, (0, 0))[0], counts.mappings.get(name, (0, 0))[0], f"calls of {name}")
        totals = report["totals"]
        self.assertEqual((totals["allocations"], totals["allocated_bytes"], totals["frees"]),
                         (counts.allocations, counts.allocated_bytes, counts.frees), "allocations, bytes and frees in all")
        self.assertEqual(report["capture"]["lost_events"], 0)
        self.assertEqual([totals[key] for key in ("bad_frees", "double_frees", "unknown_frees")], [0, 0, 0])
        self.assertEqual(list(expectations.conservation(report)), [])

    def test_sqlite(self):
        self.check(program("sqlite3"), ":memory:", stdin=_SQL.encode())

    def test_python_with_malloc(self):
        self.check(program("/usr/bin/python3"), "-s", "-S", "-c", _PYTHON, PYTHONMALLOC="malloc", PYTHONHASHSEED="0")

    def test_python_threads(self):
        script = ("import threading\n"
                  "def work():\n  for i in range(3000): x = [i] * (i % 50)\n"
                  "ts = [threading.Thread(target=work) for _ in range(8)]\n"
                  "[t.start() for t in ts]; [t.join() for t in ts]; print('done')")
        self.check(program("/usr/bin/python3"), "-s", "-c", script, PYTHONMALLOC="malloc", PYTHONHASHSEED="0")

    def test_perl(self):
        self.check(program("perl"), "-e", _PERL, PERL_HASH_SEED="0")

    def test_compiler(self):
        compiler, directory = (subprocess.run([program("g++"), option], capture_output=True, text=True, check=True).stdout.strip()
                            for option in ("-print-prog-name=cc1plus", "-print-multiarch"))
        source = self.directory / "source.cc"
        source.write_text(_CPP)
        self.check(program(compiler), "-quiet", "-imultiarch", directory, "-fsyntax-only", source)

    def test_git(self):
        git = program("git")
        setting = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
                   "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}
        plain = {**os.environ, **setting, "HOME": str(self.directory)}
        repository = self.directory / "repository"

        def do(*words):
            subprocess.run([git, "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", *words], env=plain, check=True,
                           capture_output=True)
        repository.mkdir()
        do("init", "-q")
        for number in range(10):
            (repository / f"file{number}").write_text(f"{number}\n" * 50)
            do("add", ".")
            do("commit", "-q", "-m", f"commit {number}")
        (repository / "file3").write_text("changed\n")
        for words in (["log", "--stat"], ["status", "--short"], ["diff"]):
            with self.subTest(words):
                for leftover in (self.trace, self.counted):
                    leftover.unlink(missing_ok=True)
                self.check(git, "-C", repository, *words, **setting)

    def test_shell_tools(self):
        lines = "".join(f"{number * 7919 % 100003}\n" for number in range(20000)).encode()
        for command in (["sort", "-n", "--parallel=2"], ["awk", "{ seen[$1 % 100] += $1 } END { for (i = 0; i < 3; i++) print seen[i] }"],
                        ["bash", "-c", "while read -r x; do ((s += x)); a[x % 50]=$s; done; echo $s ${#a[@]}"],
                        ["grep", "-c", "-E", "(1|2)+3"], ["ls", "-l", "/usr/bin"], ["xz", "-c", "-T2"]):
            with self.subTest(command[0]):
                for leftover in (self.trace, self.counted):
                    leftover.unlink(missing_ok=True)
                self.check(program(command[0]), *command[1:], stdin=lines)

    def test_redis(self):
        server = program("redis-server")
        address = self.directory / "redis.sock"
        command = [heaptap_test.HEAPTAP, "run", "-q", "-o", self.trace, "--", server, "--port", "0", "--unixsocket", address,
                   "--save", "", "--appendonly", "no"]
        process = subprocess.Popen([str(word) for word in command], cwd=self.directory, env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(heaptap_test.end, process)
        connection = self.connect(address, process)
        for number in range(3000):
            connection.sendall(f"SET key{number} {'v' * (number % 300)}\r\nLPUSH list{number % 10} {number}\r\n".encode())
        connection.sendall(b"SORT list3 DESC\r\nFLUSHALL\r\nECHO the-end\r\n")
        received = b""
        while b"the-end" not in received:
            received = received[-100:] + connection.recv(65536)
        connection.close()
        os.kill(self.pid_of("redis-server", process), signal.SIGTERM)
        _, errors = finished(process)
        self.assertEqual(process.returncode, 0, errors)
        self.compare()

    def connect(self, address, process):
        def connection():
            self.assertIsNone(process.poll(), process.stderr.read() if process.returncode is not None else "")
            connecting = socket.socket(socket.AF_UNIX)
            try:
                connecting.connect(str(address))
                return connecting
            except OSError:
                connecting.close()
                return None

        return wait_for("redis-server listens", connection, state=process)

    def pid_of(self, name, process):
        for pid in [process.pid, *heaptap_test.descendants(process.pid)]:
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == name:
                return pid
        self.fail(f"{name} doesn't run")


if __name__ == "__main__":
    unittest.main()
