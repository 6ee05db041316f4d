# CTEST COST 45
# CTEST TIMEOUT 3600
"""The first two commands answer what a program is about: each question (row), by each way to record, however the program ends. Of each
row and way two endings, so that each ending meets all rows and all ways; HEAPTAP_LONG=1: all of them. What a crash's stack is:
first_answers_test.py."""
import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import HEAPTAP, LONG, built, heaptap
from waiting import finished, read_until, wait_for

# "run": heaptap runs the program; else it attaches. "far": by heaptap-target.
WAYS = {
    "agent": ("run", "--via", "agent"),
    "ptrace": ("run", "--via", "ptrace"),
    "attach": ("attach",),
    "far agent": ("run", "--via", "agent"),
    "far ptrace": ("run", "--via", "ptrace"),
    "far attach": ("attach",),
}
OWN_ENDINGS = ("return", "exit", "_exit", "handler", "crash")  # the program's; "handler": _exit in a signal's
SENT = {"signal": signal.SIGTERM, "killed": signal.SIGKILL}
ENDINGS = (*OWN_ENDINGS, *SENT, "running")
TITLES = {"crash": r"killed by SIGSEGV after", "signal": r"killed by SIGTERM after", "killed": r"killed by SIGKILL after",
          "running": r"detached, still running after"}


def said_by(*command):
    """Empty if it fails."""
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    return outcome.stdout if outcome.returncode == 0 else ""


def at(*functions):
    """A site: these functions, innermost first."""
    return " < ".join(rf"{function} answers_rows\.cc:\d+" for function in functions)


@dataclasses.dataclass
class Answer:
    """Patterns that have to be found in what the two commands print, in this order."""
    first: tuple
    second: tuple


def listed(amount, *functions):
    """A line of the end: an amount, and who made it."""
    return rf"\n  {amount}  #\d+  {at(*functions)}"


def lost(amount, rounded, functions, behind="", second=(), held_until=(), killed=()):
    """A leak. `rounded`, `killed`: amounts where no scan is possible, and where they are of several sites. `behind`: the amount."""
    def answer(ending):
        if ending == "killed":
            lines = [listed(each, *functions) for each in killed or (rounded,)]
            return Answer((r"leaks unknown\)", *lines, "! no leak scan was made at the end: the program was killed"),
                          (r"Stacks by bytes not freed\n", rf"#\d+  {at(functions[0])}"))
        return Answer((rf"\nLEAKED {amount}", listed(amount + behind, *functions), *held_until, "next:  heaptap show leaks "),
                      (rf"definitely lost at {functions[0]}\(.*\) answers_rows\.cc:\d+", *second, *held_until,
                       *(rf"\n +{function}\(.*\)  answers_rows\.cc:\d+" for function in functions)))
    return answer


def leak_of_plugin(ending):
    """Its library is closed by then."""
    functions = r"allocate_in_plugin_a plugin_a\.c:\d+ < plugin_entry plugin_a\.c:\d+"
    if ending == "killed":
        return Answer((r"leaks unknown\)", rf"\n  700 B in 1 block  #\d+  {functions}"),
                      (r"Stacks by bytes not freed\n", "allocate_in_plugin_a"))
    return Answer((r"LEAKED 700 bytes in 1 block\n", rf"\n  700 bytes in 1 block  #\d+  {functions}", "next:  heaptap show leaks "),
                  (r"definitely lost at allocate_in_plugin_a\b", r"\n +plugin_entry  plugin_a\.c:\d+", r"\n +run_plugin\(\)  "))


def leak_of_extension(ending):
    """A library that python3 has loaded. What the interpreter itself loses is another matter, as are stale words of its memory that
    happen to point to some of the ten blocks."""
    functions = r"lose_in_extension lossy_extension\.c:\d+ < run_extension lossy_extension\.c:\d+"
    if ending == "killed":
        return Answer((r"leaks unknown\)",), (r"Stacks by bytes not freed\n",))
    return Answer((r"LEAKED ", rf"\n  (?:1,500,000 bytes in 10|1,\d\d0,000 bytes in [789]) blocks  #\d+  {functions}", "next:  heaptap show leaks "),
                  (r"definitely lost at lose_in_extension\(?\)? lossy_extension\.c:\d+", r"\n +run_extension\b.*  lossy_extension\.c:\d+"))


def bad_release(kind, released_in, *stacks):
    """Where it is, and where the block comes from; then their stacks."""
    def answer(_ending):
        return Answer((rf"\n1 {kind} at answers_rows\.cc:\d+, allocated at answers_rows\.cc:\d+\n", "next:  heaptap show summary "),
                      (r"\nInvalid, double and mismatched frees\n", rf"\n +{released_in}\(.*\)  answers_rows\.cc:\d+\n",
                       *(rf"\n +{function}\(.*\)  answers_rows\.cc:\d+\n" for function in stacks),
                       r"\n\(of releases only the caller was recorded: heaptap run --sanity records whole stacks\)\n"))
    return answer


def held(ending):
    if ending == "killed":
        return Answer((r"leaks unknown\)", listed(r"1\.0 MiB in 256 blocks", "fill_table")), (at("fill_table"),))
    return Answer((r"no leaks.*; 1\.[01] MiB still reachable, 1\.0 MiB of them by global g_table \(answers_rows\.cc:\d+\)",
                   listed(r"1\.0 MiB in 256 blocks", "fill_table"), "next:  heaptap show leaks --globals "),
                  (r"\n +1\.0 MiB +256 .* global g_table \(answers_rows\.cc:\d+\)",))


def cache(ending):
    """Its destructor drops what it holds."""
    if ending in ("return", "exit"):
        held_until = r"\n +held by global g_cache \(answers_rows\.cc:\d+\) until its destructor or an exit handler ran\n"
        return lost("1,000,000 bytes in 1,000 blocks", "", ("make_page", "fill_cache"), held_until=(held_until,))(ending)
    line = listed(r"976\.6 KiB in 1,000 blocks", "make_page", "fill_cache")
    if ending == "killed":
        return Answer((r"leaks unknown\)", line), (at("make_page"),))
    return Answer((r"no leaks.* still reachable, 1023\.4 KiB of them by global g_cache \(answers_rows\.cc:\d+\)", line),
                  (r"\n +1023\.4 KiB +2,000 .* global g_cache \(answers_rows\.cc:\d+\)",))


def lossy(amount, count, variable, *functions):
    """A few lost bytes don't hide who holds the rest."""
    def answer(ending):
        held = listed(amount + rf" in {count} blocks", *functions)
        if ending == "killed":
            return Answer((r"leaks unknown\)", held), (at(functions[0]),))
        holder = rf" of them by global {variable} \(answers_rows\.cc:\d+\)"
        return Answer((r"\nLEAKED 77 bytes in 1 block\n", listed("77 bytes in 1 block", "lose_word"), r"\n.* still reachable, .*" + holder, held,
                       "next:  heaptap show leaks "),
                      (r"definitely lost +77 B", r"still reachable .*" + holder, r"definitely lost at lose_word\(.*\) answers_rows\.cc:\d+"))
    return answer


def cache_lossy(ending):
    """Where its destructor runs, the cache is the leak."""
    if ending in ("return", "exit"):
        return Answer((r"LEAKED 1,000,077 bytes in 1,001 blocks", listed("1,000,000 bytes in 1,000 blocks", "make_page", "fill_cache"), r"\n +held by global g_cache "),
                      (r"definitely lost at make_page", r"definitely lost at lose_word"))
    return lossy(r"976\.6 KiB", "1,000", "g_cache", "make_page", "fill_cache")(ending)


def no_leaks(ending):
    return r"leaks unknown\)" if ending == "killed" else r"\nno leaks\b"


def peak(ending):
    return Answer((r"peak 8\.\d MiB after ", no_leaks(ending), rf"\n  8\.0 MiB of the peak: #\d+  {at('load_image', 'peak')}"),
                  (r"Stacks by bytes at the peak\n", rf"8\.0 MiB .*\n +#\d+  {at('load_image')}"))


def temporary(ending):
    return Answer((no_leaks(ending), rf"\n  3,000 temporary allocations: #\d+  {at('format', 'temporary')}"),
                  (r"Stacks by temporary allocations\n", rf"\n +#\d+  {at('format')}"))


def fragmentation(ending):
    """What is free inside the allocator is known where a scan ended the recording: not of a program that was killed, nor of one that is
    let go of, of which the end says only how much is resident."""
    resident = r"\n1\d\.\d MiB resident"
    parts = ", 244.1 KiB" if ending == "running" else ".*: 0\.[23] live, [67]\.\d free inside the allocator"
    known = (resident + parts, r"\nno leaks.* 244\.1 KiB of them by global g_held ") if ending != "killed" else (r"leaks unknown\)",)
    is_unknown = ending in ("running", "killed")
    cause = r"(?:, or in blocks that weren't recorded|.*\n  \d\.\d MiB of it in whole pages\n)"
    first = known if is_unknown else (known[0] + cause, *known[1:])
    return Answer((*first, rf"of the peak: #\d+  {at('pass_one', 'fragment')}",
                   rf"next:  heaptap show {'top' if is_unknown else '(?:top|fragmentation)'} "),
                  (r"244\.1 KiB +250 .*\n +#\d+  " + at("hold_one", "fragment"),))


def mapped(_ending):
    return Answer((r"\nmmap: peak 64\.0 MiB, 64\.0 MiB mapped at the end\n",
                   rf"\n  64\.0 MiB of the mapped peak: #\d+  {at('map_region')}"),
                  (r"Stacks by bytes not freed\n", r"64\.0 MiB", rf"{'map_region'}(\(\) )? answers_rows\.cc:\d+"))


def mapped_lossy(ending):
    """A few lost bytes don't hide who mapped the rest."""
    answer = mapped(ending)
    lines = () if ending == "killed" else (r"\nLEAKED 77 bytes in 1 block\n", listed("77 bytes in 1 block", "lose_word"))
    return dataclasses.replace(answer, first=(*answer.first, *lines, "next:  heaptap show top "))


def child_that_nobody_recorded(_ending):
    return Answer((r"\n! 1 child process ran unrecorded: -f records children\n",), ())


def child(ending):
    """Of several processes the one with the largest peak is told."""
    return Answer((no_leaks(ending) if ending == "killed" else "", r"\nlargest: \S*answers_rows \(pid \d+\), peak 8\.0 MiB .*; no leaks",
                   rf"\n  8\.0 MiB of the peak: #\d+  {at('load_image', 'peak')}", r"\nall 2 processes: "),
                  (r"8\.0 MiB", at("load_image")))


def child_lossy(ending):
    """What another child loses is less than a hundredth of it."""
    return Answer((r"leaks unknown\)" if ending == "killed" else "",
                   r"\nlargest: \S*answers_rows \(pid \d+\), peak 8\.0 MiB .*; no leaks",
                   rf"\n  8\.0 MiB of the peak: #\d+  {at('load_image', 'peak')}", r"\nall 3 processes: .*, leaked 77 bytes in 1 block"),
                  (r"8\.0 MiB", at("load_image")))


ROWS = {
    "leak": lost("1,000 bytes in 10 blocks", "1000 B in 10 blocks", ("lose_one", "leak")),
    "plugin": leak_of_plugin,
    "extension": leak_of_extension,
    "threads": lost("400 bytes in 4 blocks", "400 B in 4 blocks", ("lose_one", "lose_in_thread")),
    "cycle": lost("64 bytes in 2 blocks", "", ("tie",), r" \(in a cycle\)", (r"\n +1 block in a cycle: #b\d+ -> #b\d+ -> #b\d+\n",),
                  killed=("32 B in 1 block", "32 B in 1 block")),
    "double": bad_release("double free", "release_again", "make_buffer", "double_free", "release"),
    "mismatch": bad_release(r"mismatched free \(free of operator new\)", "release_by_free", "make_number"),
    "held": held,
    "cache": cache,
    "peak": peak,
    "temporary": temporary,
    "fragmentation": fragmentation,
    "mmap": mapped,
    "child": child_that_nobody_recorded,
    "child -f": child,
    "held_lossy": lossy(r"1\.0 MiB", "256", "g_table", "fill_table"),
    "cache_lossy": cache_lossy,
    "child_lossy -f": child_lossy,
    "mmap_lossy": mapped_lossy,
}
# What `heaptap leaks PID` is about, and --globals, while heaptap runs the program.
LIVE = {
    "leak": Answer((r"definitely lost +1000 B +in 10 blocks", r"definitely lost at lose_one\(\) answers_rows\.cc:\d+"), ()),
    "plugin": Answer((r"definitely lost at allocate_in_plugin_a\b",), ()),
    "extension": Answer((r"1\.\d MiB in (?:10|[789]) blocks definitely lost at lose_in_extension",), ()),
    "threads": Answer((r"400 B in 4 blocks definitely lost at lose_one\(\) answers_rows\.cc:\d+",), ()),
    "cycle": Answer((r"definitely lost at tie\(\) answers_rows\.cc:\d+", r"\n +1 block in a cycle: #b\d+ -> #b\d+ -> #b\d+\n"), ()),
    "held": Answer((r"no leaks\n.*still reachable +1\.\d MiB",), (r"\n +1\.0 MiB +256 .* global g_table \(answers_rows\.cc:\d+\)",)),
    "cache": Answer((r"no leaks\n",), (r"\n +1023\.4 KiB +2,000 .* global g_cache \(answers_rows\.cc:\d+\)",)),
    "fragmentation": Answer((r"no leaks\n",), (r"244\.1 KiB +250 .* global g_held ",)),
}


def is_attach(way):
    return WAYS[way][0] == "attach"


def endings_of(row, way):
    """Those that make sense. While heaptap runs a program, other commands ask for leaks and for what is held."""
    return [ending for ending in ENDINGS if ending != "running" or is_attach(way) or row in LIVE]


def chosen(row, way):
    """Two of them, others for each neighbour."""
    endings = endings_of(row, way)
    if LONG:
        return endings
    place = list(ROWS).index(row) + list(WAYS).index(way)
    return sorted({endings[place % len(endings)], endings[(place + len(ENDINGS) // 2) % len(endings)]}, key=endings.index)


def program(row, ending):
    if row == "extension":
        script = pathlib.Path(heaptap_test.__file__).with_name("extension_program.py")
        return [sys.executable, script, built("liblossy_extension.so"), ending]
    return [built("answers_rows"), row, ending]


class Recorded:
    """The target program while it is recorded in one way, and what heaptap says about it."""

    def __init__(self, test, way, row, ending):
        row, *options = row.split()
        self.directory, self.started = test.directory, []
        self.errors = (self.directory / "stderr").open("wb+")
        command = program(row, ending)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.host = ["-H", test.server_address] if way.startswith("far") else []
        heaptap_words = [HEAPTAP, *WAYS[way], *self.host, *options, "--force", "-o", self.directory / "t.htap"]
        if is_attach(way):
            talker = self.start(command, **pipes)
        elif self.host:
            talker = test.server
        else:
            talker = self.start([*heaptap_words, "--", *command], stderr=self.errors, **pipes)
        if not is_attach(way):
            self.heaptap = self.start([*heaptap_words, "--", *command], stderr=self.errors) if self.host else talker
        self.talker = talker
        self.pid = int(self.hear(rb"ready (\d+)\n")[1])
        if is_attach(way):
            self.heaptap = self.start([*heaptap_words, self.pid], stderr=self.errors)
            wait_for("recorded", lambda: b"recording process" in self.said(), state=[self.heaptap, lambda: self.said().decode()])

    def start(self, command, **options):
        self.started.append(subprocess.Popen([str(word) for word in command], cwd=self.directory, **options))
        return self.started[-1]

    def end(self, server):
        for pid in heaptap_test.descendants(server.pid):  # it would read the next one's lines
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.started:
            heaptap_test.end(process)
            process.communicate()
        self.errors.close()

    def said(self):
        return (self.directory / "stderr").read_bytes()

    def hear(self, pattern):
        text = read_until(self.talker.stdout.fileno(), pattern, lambda text: re.search(pattern, text), state=[self.talker, self.said])
        return re.search(pattern, text)

    def go_on(self):
        self.talker.stdin.write(b"go\n")
        self.talker.stdin.flush()

    def lines(self):
        """What heaptap printed by its end."""
        finished(self.heaptap, state=self.said)
        return [line.removeprefix("heaptap: ") for line in self.said().decode().splitlines() if line.startswith("heaptap: ")]


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap has no tracer")
class Answers(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.make_class_directory()
        cls.server_address = f"{directory}/far.sock"
        serving = far.serving(cls.server_address, "-q", stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # the program's, too
        cls.server = cls.enterClassContext(serving)

    def check(self, text, patterns, what):
        rest = text
        for pattern in patterns:
            match = re.search(pattern, rest)
            self.assertIsNotNone(match, f"{what} lacks {pattern!r}, or not in this order:\n{text}")
            rest = rest[max(match.end() - 1, 0):]  # a line's end may be the next one's beginning

    def shown(self, *words):
        outcome = heaptap(*words, cwd=self.directory)
        self.assertEqual(outcome.status, 0, outcome)
        return "\n" + outcome.stdout.decode()

    def ask(self, row, way, ending):
        recorded = Recorded(self, way, row, ending)
        try:
            self.ask_about(recorded, row, way, ending)
        finally:
            recorded.end(self.server)

    def ask_about(self, recorded, row, way, ending):
        recorded.go_on()
        recorded.hear(rb"done\n")
        if ending == "running" and not is_attach(way):
            return self.ask_while_it_runs(row, recorded)
        if ending in SENT:
            os.kill(recorded.pid, SENT[ending])
        elif ending == "running":
            recorded.heaptap.send_signal(signal.SIGINT)
        else:
            recorded.go_on()
        lines = recorded.lines()
        title = next(number for number, line in enumerate(lines) if f" (pid {recorded.pid}) " in line)
        self.assertRegex(lines[title], TITLES.get(ending, r" exited with 0 after "))
        answer = ROWS[row](ending)
        self.check("\n" + "\n".join(lines[title:]) + "\n", answer.first, "the end")
        if row == "child" and not is_attach(way):  # what it lacks isn't in the trace
            return self.assertRegex(lines[-1], r"^next:  heaptap run -f .*answers_rows child ")
        self.assertTrue(lines[-1].startswith("next:  heaptap show "), lines)
        self.check(self.shown(*shlex.split(lines[-1].removeprefix("next:  heaptap "))), answer.second, f"`{lines[-1]}`")

    def ask_while_it_runs(self, row, recorded):
        # The agent's program doesn't wait for the host.
        wait_for("recorded", lambda: far.is_recorded(recorded.pid), state=recorded.heaptap)
        self.check(self.shown("leaks", *recorded.host, recorded.pid), LIVE[row].first, "`heaptap leaks`")
        self.check(self.shown("leaks", *recorded.host, "--globals", recorded.pid), LIVE[row].second, "`heaptap leaks --globals`")


def check_row(row):
    def check(self):
        for way in WAYS:
            for ending in chosen(row, way):
                with self.subTest(way=way, ending=ending):
                    self.ask(row, way, ending)
    return check


for _row in ROWS:
    setattr(Answers, f"test_{_row}", check_row(_row))

NODE = 'const rows = []; for (let i = 0; i < 1e5; i++) rows.push({name: "row " + i}); console.log(rows.length)'


@unittest.skipUnless(LONG, "HEAPTAP_LONG=1: they take their time")
class RealPrograms(heaptap_test.TestCase):
    """The same questions, of programs of others, as far as they are installed."""

    def end_of(self, process, errors):
        """What heaptap says at the end, and what the command prints that it names."""
        finished(process)
        lines = [line.removeprefix("heaptap: ") for line in errors.read_text().splitlines() if line.startswith("heaptap: ")]
        self.assertTrue(lines and lines[-1].startswith("next:  heaptap show "), lines)
        outcome = heaptap(*shlex.split(lines[-1].removeprefix("next:  heaptap ")), cwd=self.directory)
        self.assertEqual(outcome.status, 0, outcome)
        return "\n".join(lines) + "\n", outcome.stdout.decode()

    def start(self, *command):
        errors = self.directory / "stderr"
        with errors.open("wb") as file, (self.directory / "stdout").open("wb") as out:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=file,
                                       cwd=self.directory)
        self.addCleanup(heaptap_test.end, process)
        return process, errors

    def needs(self, program):
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")

    def recorded(self, run, *command):
        return self.end_of(*self.start(HEAPTAP, *run, "--force", "-o", self.directory / "t.htap", "--", *command))

    def by_ways(self, check, commands=(("run",), ("run", "--via", "ptrace"))):
        """Calls `check` with the beginning of a command line, here and elsewhere."""
        address = str(self.directory / "far.sock")
        with far.serving(address, "-q", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            for host in ((), ("-H", address)):
                for command in commands:
                    with self.subTest(command=command, far=bool(host)):
                        check(*command, *host)

    def test_most_of_a_compiler_is_mapped(self):
        """The few bytes that it loses don't hide that."""
        self.needs("g++")
        compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True).stdout.strip()
        (self.directory / "program.cc").write_text("#include <string>\nint main() { return std::string().size(); }\n")
        multiarch = subprocess.run(["g++", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
        options = ["-imultiarch", multiarch] if multiarch else []

        def check(*run):
            first, second = self.recorded(run, compiler, "-quiet", *options, self.directory / "program.cc", "-o", self.directory / "program.s")
            self.assertRegex(first, r"\nmmap: peak \d+\.\d MiB, \d+\.\d MiB mapped at the end.*\n +\d+\.\d MiB of the mapped peak: #\d+ ")
            self.assertNotRegex(first, r"mapped peak: .*  ggc_internal_alloc", "it allocates for others")
            self.assertRegex(first, r"\nLEAKED \d+ bytes in ")
            self.assertRegex(second, r"Stacks by bytes not freed\n\n.*\n.*\n +\d+\.\d MiB .* mmap\n +#\d+  ")
            self.assertNotRegex(second, r"#\d+  ggc_internal_alloc", "it allocates for others")

        self.by_ways(check)

    def test_what_node_holds_is_told_by_its_global(self):
        self.needs("node")

        def check(*run):
            first, _ = self.recorded(run, "node", "-e", NODE)
            self.assertRegex(first, r"\nno (definite )?leaks; .* still reachable, .* of them by ")

        self.by_ways(check)

    def test_of_a_go_program_nothing_is_claimed(self):
        self.needs("go")
        (self.directory / "program.go").write_text('package main\nfunc main() { println(len(make([]byte, 1000))) }\n')
        environment = {**os.environ, "GOCACHE": str(self.directory / "cache"), "CGO_ENABLED": "0"}
        subprocess.run(["go", "build", "-o", "program", "program.go"], check=True, cwd=self.directory, env=environment)
        first, second = self.recorded(["run"], "./program")
        self.assertRegex(first, r"\nUNKNOWN: nothing was seen of what it allocates\n! .*a Go program's runtime doesn't use malloc")
        self.assertNotIn("no leaks", first + second)

    def check_server(self, ends, *options):
        """redis, which is given keys, and then ended."""
        socket = self.directory / "redis.sock"
        server = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--daemonize", "no"]
        attaches = options[0] == "attach"
        socket.unlink(missing_ok=True)
        words = [HEAPTAP, *options, "--force", "-o", self.directory / "t.htap"]
        process, errors = self.start(*server) if attaches else self.start(*words, "--", *server)
        client = ["redis-cli", "-s", str(socket)]
        about = wait_for("redis serves", lambda: said_by(*client, "info", "server"), state=process)
        pid = int(re.search(r"process_id:(\d+)", about)[1])
        if attaches:
            process, errors = self.start(*words, pid)
            wait_for("recorded", lambda: "recording process" in errors.read_text(), state=process)
        keys = "".join(f"set key{i} {'value' * 10}{i}\n" for i in range(2000))
        subprocess.run(client, input=keys, capture_output=True, text=True, check=True)
        if ends == "running":
            process.send_signal(signal.SIGINT)
        else:
            os.kill(pid, SENT[ends])
        first, second = self.end_of(process, errors)
        if ends == "killed":
            self.assertIn("leaks unknown)", first)
            self.assertRegex(second, r"Stacks by bytes not freed\n")
        elif attaches:  # what it holds hangs on blocks from before, which nobody recorded: no variable is known
            unknown = r"[KM]iB of them by blocks from before the recording or mapped memory, so that the variable is unknown"
            self.assertRegex(first, rf"\nno (definite )?leaks in what was recorded; .* still reachable, .*{unknown}\b.*\n.* in 2,000 blocks  #\d+  ")
        else:
            self.assertRegex(first, r"\nno (definite )?leaks.* still reachable, .* of them by .*global")
            self.assertRegex(second, r"retained by global variables\n")

    def test_a_server_is_told_by_who_holds_its_memory(self):
        self.needs("redis-server")
        self.needs("redis-cli")
        recording = (("run",), ("run", "--via", "ptrace"), ("attach",))
        self.by_ways(functools.partial(self.check_server, "signal"), recording)
        self.by_ways(functools.partial(self.check_server, "killed"), recording)
        self.by_ways(functools.partial(self.check_server, "running"), (("attach",),))


if __name__ == "__main__":
    unittest.main()
