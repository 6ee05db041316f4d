"""Workloads: the suite's own programs, and whole programs of the system."""
import os
import shutil
import signal
import socket
import subprocess
import time

from .processes import Failure, ask

EIGHTH, FIFTH = 1 / 8, 1 / 5


class Work:
    """A command and its expected result. `aim`: CPU time that heaptap adds to the target, as a fraction of what heaptrack adds.
    `driver`, if any, is called once the command was started, with a function that returns the target's PID; it returns when it has
    ended the target."""

    def __init__(self, name, argv, aim=EIGHTH, environment=None, driver=None, exit_code=0, same_output=True):
        self.name = name
        self.argv = argv
        self.aim = aim
        self.environment = environment or {}
        self.driver = driver
        self.exit_code = exit_code
        self.same_output = same_output


class Catalogue:
    """Factory of the works; those of missing programs are left out and named in `missing`."""

    def __init__(self, bench_build, inputs, directory):
        self.bench_build = bench_build
        self.inputs = inputs
        self.directory = directory
        self.missing = []

    def works(self):
        made = [
            Work("tight pairs", [self._own("pairs"), "tight", "15", "1", "20000000"]),
            Work("C++ churn", [self._own("churn"), "600000"]),
            Work("four threads", [self._own("passing"), "4", "2500000"]),
            self._sqlite3(),
            self._python3(),
            self._redis(),
            self._cc1plus(),
            self._clang(),
            self._perl(),
        ]
        return [work for work in made if work]

    def pairs(self, mode, depth, threads, count):
        return Work(f"pairs {mode} {depth} {threads}", [self._own("pairs"), mode, str(depth), str(threads), str(count)])

    def passing(self, name, threads, count):
        return Work(name, [self._own("passing"), str(threads), str(count)])

    def churn(self, name, rounds):
        return Work(name, [self._own("churn"), str(rounds)])

    def recursion(self, name, levels, count):
        return Work(name, [self._own("recursion"), str(levels), str(count)])

    def small_churn(self):
        return Work("small churn", [self._own("churn"), "30000"])

    def _own(self, name):
        return os.path.join(self.bench_build, name)

    def _input(self, name):
        return os.path.join(self.inputs, name)

    def _program(self, name, *candidates):
        for candidate in candidates or (name,):
            path = shutil.which(candidate, path="/usr/bin:/bin:" + os.environ.get("PATH", ""))
            if path:
                return path
        self.missing.append(name)
        return None

    def _sqlite3(self):
        program = self._program("sqlite3")
        if not program:
            return None
        script = os.path.join(self.directory, "script.sql")
        with open(script, "w", encoding="ascii") as file:
            file.write(sql_script())
        return Work("sqlite3", [program, "-batch", ":memory:", f".read {script}"])

    def _python3(self):
        program = self._program("python3", "/usr/bin/python3", "python3")
        environment = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        return program and Work("python3", [program, "-S", self._input("script.py")], environment=environment)

    def _perl(self):
        program = self._program("perl")
        environment = {"PERL_HASH_SEED": "0"}
        return program and Work("perl", [program, self._input("script.pl")], aim=FIFTH, environment=environment)

    def _cc1plus(self):
        driver = self._program("g++", "/usr/bin/g++", "g++")
        if not driver:
            return None
        compiler = ask(driver, "-print-prog-name=cc1plus")
        # With -O1 heaptrack's interpreter takes 18 GiB on this input, which would flatter the comparison.
        argv = [compiler, "-quiet", "-O0", "-D_GNU_SOURCE", self._input("program.cc"), "-o", "/dev/null"]
        multiarch = ask(driver, "-print-multiarch")
        if multiarch:
            argv[1:1] = ["-imultiarch", multiarch]
        return Work("cc1plus", argv, aim=FIFTH)

    def _clang(self):
        program = self._program("clang", "clang-19", "clang")
        return program and Work("clang", [program, "-O1", "-c", self._input("program.cc"), "-o", "/dev/null"], aim=FIFTH)

    def _redis(self):
        server, client = self._program("redis-server"), self._program("redis-benchmark")
        if not server or not client:
            return None
        address = os.path.join(self.directory, "redis.sock")
        argv = [server, "--port", "0", "--unixsocket", address, "--save", "", "--appendonly", "no", "--logfile", "/dev/null"]
        return Work("redis-server", argv, driver=redis_driver(client, address), same_output=False)


def sql_script():
    lines = ["CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, kind INTEGER, price REAL);", "BEGIN;"]
    for i in range(60_000):
        lines.append(f"INSERT INTO item VALUES({i}, 'item number {i * 7919 % 100_003}', {i % 97}, {i * 31 % 1000}.25);")
    lines += [
        "COMMIT;",
        "INSERT INTO item SELECT id + 60000, name || ' again', kind, price * 2 FROM item;",
        "INSERT INTO item SELECT id + 120000, upper(name), kind + 1, price / 2 FROM item;",
        "CREATE INDEX item_name ON item(name);",
        "SELECT kind, count(*), sum(price), max(name) FROM item GROUP BY kind ORDER BY 3 DESC LIMIT 5;",
        "SELECT count(DISTINCT substr(name, 1, 14)), group_concat(kind, ',') IS NULL FROM item;",
        "UPDATE item SET name = printf('%s of kind %d', name, kind) WHERE kind % 3 = 0;",
        "SELECT count(*) FROM item a JOIN item b ON a.name = b.name AND a.id < b.id;",
    ]
    for i in range(20_000):
        lines.append(f"SELECT name FROM item WHERE id = {i * 12 + 5} AND name LIKE '%99%';")
    return "\n".join(lines) + "\n"


def redis_driver(client, address):
    """Waits for the server, sends it a fixed number of requests, and ends it."""
    requests = ["-t", "set,get,lpush,lrange_100,hset,sadd,zadd", "-n", "60000", "-r", "50000", "-d", "100", "-P", "8"]

    def drive(target_pid):
        wait_for_server(address)
        done = subprocess.run(
            [client, "-s", address, "-c", "20", "-q", *requests],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )
        os.kill(target_pid(), signal.SIGTERM)
        if done.returncode != 0:
            raise Failure(f"redis-benchmark ended with {done.returncode}")

    return drive


def wait_for_server(address):
    for _ in range(1000):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(address)
                return
            except OSError:
                time.sleep(0.01)
    raise Failure(f"no redis-server at {address}")
