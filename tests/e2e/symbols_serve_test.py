# CTEST COST 25
"""`heaptap symbols serve`: what has symbols tells what has none. Reports are the same as with symbols at hand; programs without unwind
tables are walked by rows that come over the line; a server that is gone, late or a stranger does no harm."""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import HEAPTAP, heaptap, read_report
from waiting import ended, finished, has_ended, read_until, wait_for, working_in

# Inlined functions, a static one, a global that holds a block, and blocks that are lost.
PROGRAM = r"""
#include <stdlib.h>
void *holder;
static inline __attribute__((always_inline)) void *innermost(size_t size) { return malloc(size); }
static inline __attribute__((always_inline)) void *middle(size_t size) { return innermost(size + 1); }
__attribute__((noinline)) static void *hidden_maker(size_t size) { void *volatile block = middle(size); return block; }
__attribute__((noinline)) static int make(int rounds) {
  int i, sum = 0;
  for (i = 0; i < rounds; i++) { void *volatile lost = hidden_maker(100); sum += lost != NULL; lost = NULL; }
  return sum;
}
int main(void) {
  void **block = hidden_maker(64);
  holder = block;
  *block = malloc(33);
  return make(50) == 50 ? 0 : 1;
}
"""

# Deep enough that a stack that ends early is seen; no part of it has unwind tables, and RBP is a register like others.
BARE = r"""
#include <stdlib.h>
#include <unistd.h>
#define LEVEL(name, next) __attribute__((noinline)) int name(int depth, int salt) { \
    volatile char room[24 + 8 * (sizeof(#name) % 5)]; room[0] = (char)salt; \
    int got = next(depth - 1, salt * 31 + depth); return got + room[0]; }
__attribute__((noinline)) int bare_innermost(int depth, int salt) {
  void *volatile block = malloc((size_t)(depth & 15) + 40);
  if (salt % 3) free(block);
  return block != NULL;
}
LEVEL(bare_third, bare_innermost)
LEVEL(bare_second, bare_third)
LEVEL(bare_first, bare_second)
int run_bare(int rounds, const char *until) {
  int i, sum = 0;
  for (i = 0; i < rounds || (until && access(until, F_OK) != 0); i++) {
    sum += bare_first(i, i * 7);
    if (until) usleep(2000);
  }
  return sum;
}
"""
BARE_MAIN = BARE + r"""
int main(int argc, char **argv) { return run_bare(300, argc > 1 ? argv[1] : 0) == 1 << 30; }
"""
LIBRARY_MAIN = r"""
int run_bare(int rounds, const char *until);
int main(int argc, char **argv) { return run_bare(300, argc > 1 ? argv[1] : 0) == 1 << 30; }
"""
# Preloaded, it sends the signal in the very moment when others can connect.
AT_LISTEN = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
int listen(int descriptor, int backlog) {
  int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
  int status = next(descriptor, backlog);
  raise(SIGTERM);
  return status;
}
"""
NO_TABLES = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
BARE_FUNCTIONS = ["bare_innermost", "bare_third", "bare_second", "bare_first", "run_bare", "main"]


def compile_c(source, path, *flags):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.with_suffix(".c")
    text.write_text(source)
    subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", text, "-o", path, *flags], check=True)


def strip(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "-o", target, source], check=True)


def strip_tables(source, target):
    """What is loaded of unwind tables goes too."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["objcopy", "--strip-all", "-R", ".eh_frame", "-R", ".eh_frame_hdr", source, target], check=True)


@contextlib.contextmanager
def server(address, *words, status=0, env=None):
    """A server of symbols that waits there until the end of the block, where Ctrl-C ends it."""
    process = subprocess.Popen([HEAPTAP, "symbols", "serve", "--listen", address, *map(str, words)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    try:
        wait_for(f"{address} is served", lambda: process.poll() is not None or far.listens(process.pid, address), state=process)
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            if ended(process) != status:
                raise AssertionError(process.stderr.read())
    finally:
        heaptap_test.end(process)
        process.wait()
        process.stderr.close()


class TestCase(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.address = str(self.directory / "symbols.sock")
        self.served = self.directory / "served"

    def show(self, view, *words, trace=None, status=0):
        done = heaptap("show", view, "--json", trace or self.trace, *words, cwd=self.directory)
        self.assertEqual(done.status, status, str(done))
        return done


class Names(TestCase):
    def setUp(self):
        super().setUp()
        compile_c(PROGRAM, self.served / "build/program")
        self.program = self.directory / "target/program"
        strip(self.served / "build/program", self.program)
        done = heaptap("run", "-q", "-o", self.trace, "--", self.program, cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))

    def test_reports_are_those_with_symbols_at_hand(self):
        with server(self.address, self.served):
            for view in ("leaks", "top", "tree", "blocks", "summary", "sizes"):
                local = self.show(view, "--symbols", self.served / "build").stdout
                served = self.show(view, "--symbols-server", self.address)
                self.assertEqual(json.loads(served.stdout), json.loads(local), view)
                self.assertEqual(served.stderr, b"")
                text = [heaptap("show", view, self.trace, *words, cwd=self.directory).stdout
                        for words in (("--symbols", self.served / "build"), ("--symbols-server", self.address))]
                self.assertEqual(text[0], text[1])
        names = {frame["function"] for frame in json.loads(served.stdout).get("frames", [])}
        self.assertLessEqual({"hidden_maker", "innermost", "middle", "make", "main"},
                             names | {frame["function"] for frame in json.loads(self.served_tree()).get("frames", [])})

    def served_tree(self):
        with server(self.address, self.served):
            return self.show("top", "--symbols-server", self.address).stdout

    def test_what_is_served_is_counted(self):
        for directory, files in ((self.served, "1 file with"), (self.directory / "target", "1 file with"), (self.directory / "none", "0 files with")):
            directory.mkdir(exist_ok=True)
            with server(self.address, directory) as serving:
                self.assertIn(f"heaptap: {files} a build-id", serving.stderr.readline().decode())

    def test_debug_files_apart_and_compressed(self):
        whole = self.served / "build/program"
        apart = self.directory / "apart"
        apart.mkdir()
        subprocess.run(["objcopy", "--only-keep-debug", "--compress-debug-sections", whole, apart / "some.debug"], check=True)
        strip(whole, apart / "stripped")
        with server(self.address, apart):
            served = self.show("leaks", "--symbols-server", self.address).stdout
        self.assertEqual(json.loads(served), json.loads(self.show("leaks", "--symbols", self.served / "build").stdout))

    def test_the_variable_that_holds_a_block_has_its_name(self):
        with server(self.address, self.served):
            local, served = (json.loads(self.show("leaks", "--globals", *words).stdout)
                             for words in (("--symbols", self.served / "build"), ("--symbols-server", self.address)))
        self.assertEqual(served, local)
        self.assertIn("holder", json.dumps(served))

    def test_the_server_goes_to_who_waits(self):
        """As where a firewall lets nobody in to the machine that has the symbols."""
        token, port = far.make_token(self.directory), far.free_port()
        security = ["--token-file", token]
        with self.calling(f"127.0.0.1:{port}", *security) as process:
            local = self.show("leaks", "--symbols", self.served / "build").stdout
            for _ in range(2):  # it stays, for who waits next
                served = self.show("leaks", "--symbols-server", f"listen:127.0.0.1:{port}", *security)
                self.assertEqual(json.loads(served.stdout), json.loads(local))
        # A stranger's names are nobody's.
        with self.calling(f"127.0.0.1:{port}", "--token-file", far.make_token(self.directory, "another")) as process:
            began = ["show", "leaks", self.trace, "--symbols-server", f"listen:127.0.0.1:{port}", *security]
            waiting = subprocess.Popen([HEAPTAP, *map(str, began)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.directory)
            read_until(process.stderr.fileno(), "it is refused", lambda text: b"different token" in text, state=process)
            waiting.send_signal(signal.SIGINT)
            self.assertNotIn(b"hidden_maker", waiting.communicate()[0])

    @contextlib.contextmanager
    def calling(self, address, *words):
        """A server that goes there until the end of the block."""
        process = subprocess.Popen([HEAPTAP, "symbols", "serve", "--connect", address, *map(str, words), self.served],
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=heaptap_test.sooner(retry="50ms"))
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()

    def test_run_and_check_ask_too(self):
        with server(self.address, self.served):
            done = heaptap("run", "--force", "-o", self.trace, "--symbols-server", self.address, "--", self.program, cwd=self.directory)
            self.assertIn(b"hidden_maker", done.stderr, str(done))
            done = heaptap("check", self.trace, "--max-leaked", "0", "--symbols-server", self.address, cwd=self.directory)
            self.assertIn(b"hidden_maker", done.stdout + done.stderr, str(done))

    def test_the_console_asks_for_each_command_anew(self):
        done = heaptap("console", self.trace, "--symbols-server", self.address, "-x", "show top", "-x", "show leaks", cwd=self.directory)
        self.assertEqual((done.status, done.stderr.count(b"no symbols from")), (0, 2), str(done))
        self.assertNotIn(b"hidden_maker", done.stdout)
        with server(self.address, self.served):
            local, served = (heaptap("console", self.trace, *words, "-x", "show top", "-x", "report 1", "-x", "export folded",
                                     cwd=self.directory)
                             for words in (("--symbols", self.served / "build"), ("--symbols-server", self.address)))
            self.assertEqual(served.status, 0, str(served))
            self.assertEqual(served.stdout, local.stdout)
            self.assertIn(b"hidden_maker", served.stdout)
            self.assertEqual(served.stderr, b"")

    def test_monitor_says_once_that_it_is_gone(self):
        done = heaptap("console", self.trace, "--symbols-server", self.address, "-x", "show top", "-x", "monitor 10ms 3", cwd=self.directory)
        self.assertEqual((done.status, done.stderr.count(b"no symbols from")), (0, 2), str(done))
        self.assertEqual(done.stdout.count(b"\n  live "), 3, str(done))

    def test_a_recorder_that_the_console_begins_keeps_no_token_in_its_environment(self):
        token = far.new_token()
        address = f"127.0.0.1:{far.free_port()}"
        # The console hasn't read the token when it begins the recording.
        done = heaptap("console", self.trace, "--symbols-server", address, "-x",
                       "run -q --force sh -c 'cat /proc/$PPID/cmdline /proc/$PPID/environ > seen.tmp; mv seen.tmp seen'",
                       cwd=self.directory, env={**os.environ, "HEAPTAP_TOKEN": token})
        seen = self.directory / "seen"
        wait_for("its environment is known", seen.exists, state=done)
        self.assertTrue(seen.read_bytes().startswith(b"heaptap\0run\0"), seen.read_bytes())
        self.assertIn(b"PATH=", seen.read_bytes())
        self.assertNotIn(token.encode(), seen.read_bytes())
        wait_for("it has ended, and writes nothing more into the directory", lambda: not working_in(self.directory), state=done)

    def test_a_recording_that_the_console_begins_asks_it_too(self):
        token = far.new_token()
        address = f"127.0.0.1:{far.free_port()}"
        environment = {**os.environ, "HEAPTAP_TOKEN": token}
        with server(address, self.served, env=environment):
            done = heaptap("console", self.trace, "--symbols-server", address, "-x", "show top", "-x", f"run {self.program}", cwd=self.directory,
                           env=environment)
            self.assertEqual(done.status, 0, str(done))
            self.assertIn(b"innermost", done.stdout)
            log, = self.directory.glob("heaptap.console.*.log")
            wait_for("its report has names", lambda: "innermost" in log.read_text(), state=log)

    def test_a_file_of_options_may_name_it(self):
        config = self.directory / "config"
        config.write_text(f"symbols-server {self.address}\n")
        with server(self.address, self.served):
            self.assertIn(b"hidden_maker", self.show("top", "--config", config).stdout)

    def test_a_server_that_is_gone_is_said_once_and_addresses_remain(self):
        for view in ("leaks", "blocks"):
            done = self.show(view, "--symbols-server", self.address)
            self.assertEqual(done.stderr.count(b"\n"), 1, str(done))
            self.assertIn(b"no symbols from", done.stderr)
            without = json.loads(self.show(view).stdout)
            self.assertEqual(json.loads(done.stdout), without)

    def test_one_that_hangs_up_or_lies_is_said_once(self):
        for words in (b"", b"heaptap-channel nonsense\n" * 1000, bytes(4096), None):
            with socket.socket(socket.AF_UNIX) as listening:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.address)
                listening.bind(self.address)
                listening.listen()

                def answer():
                    with contextlib.suppress(OSError):
                        connection, _ = listening.accept()
                        with connection:
                            if words is None:  # it says nothing, and goes when it was greeted
                                connection.recv(1)
                            else:
                                connection.sendall(words)

                thread = threading.Thread(target=answer, daemon=True)
                thread.start()
                done = self.show("leaks", "--symbols-server", self.address)
                self.assertEqual(done.stderr.count(b"\n"), 1, str(done))
                listening.shutdown(socket.SHUT_RDWR)
                thread.join()

    def test_only_who_knows_the_token(self):
        token, other = far.make_token(self.directory, "token"), far.make_token(self.directory, "other")
        address = f"127.0.0.1:{far.free_port()}"
        with server(address, "--token-file", token, self.served):
            for words, is_let_in in ((("--token-file", token), True), (("--token-file", other), False), ((), False)):
                done = self.show("top", "--symbols-server", address, *words)
                self.assertEqual(b"hidden_maker" in done.stdout, is_let_in, str(done))
                self.assertEqual(done.stderr == b"", is_let_in, str(done))

    def test_over_tcp_a_token_or_keys_are_needed(self):
        done = heaptap("symbols", "serve", "--listen", f"127.0.0.1:{far.free_port()}", self.served, timeout_s=60)
        self.assertNotEqual(done.status, 0)
        self.assertIn(b"heaptap pair", done.stderr)
        done = self.show("top", "--symbols-server", "192.0.2.1:7000")
        self.assertIn(b"heaptap pair", done.stderr)

    def test_the_socket_is_its_users_alone(self):
        with server(self.address, self.served):
            self.assertEqual(os.stat(self.address).st_mode & 0o777, 0o600)
        self.assertFalse(os.path.exists(self.address))

    def test_a_signal_at_the_moment_when_it_listens(self):
        """No socket is left, and it is no death by the signal, however early it comes after the socket is there."""
        preloaded = self.directory / "at_listen.so"
        compile_c(AT_LISTEN, preloaded, "-shared", "-fPIC")
        done = subprocess.run([HEAPTAP, "symbols", "serve", "--listen", self.address, self.served], stdin=subprocess.DEVNULL,
                              capture_output=True, env={**os.environ, "LD_PRELOAD": str(preloaded)})
        self.assertEqual((done.returncode, os.path.exists(self.address)), (0, False), done.stderr)

    def test_nothing_outside_of_the_directories_is_given(self):
        outside = self.directory / "outside"
        outside.mkdir()
        shutil.move(self.served / "build/program", outside / "program")
        (self.served / "link").symlink_to(outside)
        (self.served / "program").symlink_to(outside / "program")
        with server(self.address, self.served):
            self.assertNotIn(b"hidden_maker", self.show("top", "--symbols-server", self.address).stdout)
        with server(self.address, outside):
            self.assertIn(b"hidden_maker", self.show("top", "--symbols-server", self.address).stdout)

    def test_what_comes_later_is_found(self):
        late = self.directory / "late"
        late.mkdir()
        with server(self.address, late, env=heaptap_test.sooner(look="20ms")) as process:
            self.assertNotIn(b"hidden_maker", self.show("top", "--symbols-server", self.address).stdout)
            shutil.copy(self.served / "build/program", late / "program")

            def is_found():
                return b"hidden_maker" in self.show("top", "--symbols-server", self.address).stdout

            wait_for("the server looks again", is_found, state=process)

    def test_several_at_once_and_a_silent_one(self):
        with server(self.address, self.served), contextlib.ExitStack() as silent:
            for _ in range(2):  # more of one user would be kept out for a while
                silent.enter_context(socket.socket(socket.AF_UNIX)).connect(self.address)
            asking = [subprocess.Popen([HEAPTAP, "show", "top", "--json", self.trace, "--symbols-server", self.address],
                                       stdout=subprocess.PIPE, cwd=self.directory) for _ in range(3)]
            answers = [finished(process)[0] for process in asking]
            for answer in answers:
                self.assertIn(b"hidden_maker", answer)

    def test_it_writes_nothing(self):
        def state():
            return sorted((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in self.served.rglob("*"))

        before = state()
        with server(self.address, self.served):
            self.show("leaks", "--symbols-server", self.address)
        self.assertEqual(state(), before)

    def test_what_is_wrong_is_said(self):
        for words in (("symbols",), ("symbols", "serve"), ("symbols", "give", "x")):
            self.assertEqual(heaptap(*words).status, 2, words)
        self.assertNotEqual(heaptap("symbols", "serve", self.directory / "nowhere").status, 0)
        self.assertEqual(heaptap("show", "top", self.trace, "--symbols-server", "no port").status, 2)


class Rows(TestCase):
    """The program's side has no tables; the unstripped file, with .debug_frame, is on the host."""

    def setUp(self):
        super().setUp()
        self.program = self.directory / "target/program"
        self.until = self.directory / "until"

    def build_program(self):
        compile_c(BARE_MAIN, self.served / "program", *NO_TABLES)
        strip(self.served / "program", self.program)

    def build_library(self):
        compile_c(BARE, self.served / "libbare.so", *NO_TABLES, "-shared", "-fPIC")
        strip(self.served / "libbare.so", self.program.parent / "libbare.so")
        compile_c(LIBRARY_MAIN, self.program, self.program.parent / "libbare.so", f"-Wl,-rpath,{self.program.parent}")

    def run_far(self, target, *words, program_words=()):
        done = heaptap("run", "-H", target, "-q", "--force", "-o", self.trace, *words, "--", self.program, *program_words,
                       cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))

    @contextlib.contextmanager
    def recording(self, target, *words):
        """The program, under way until there is a file `until`."""
        self.until.unlink(missing_ok=True)
        self.trace.unlink(missing_ok=True)
        recording = subprocess.Popen([HEAPTAP, "run", "-H", target, "-q", "-o", self.trace, *words, "--", self.program, self.until],
                                     cwd=self.directory, stderr=subprocess.PIPE)
        try:
            wait_for("it is recorded", lambda: self.trace.exists() and heaptap("show", "summary", self.trace).status == 0, state=recording)
            yield recording
        finally:
            heaptap_test.end(recording)
            recording.wait()
            recording.stderr.close()

    def stacks(self):
        """Of each kind of stack: how many allocations, and the functions."""
        report = read_report(self.show("top", "-n", "1000", "--symbols", self.served).stdout)
        return [(stack["allocations"], [frame["function"] for frame in stack["frames"]]) for stack in report["stacks"]]

    def counts(self):
        """Allocations below bare_innermost: with whole stacks, and in all."""
        bare = [(count, functions) for count, functions in self.stacks() if "bare_innermost" in functions]
        whole = [count for count, functions in bare if [f for f in functions if f in BARE_FUNCTIONS] == BARE_FUNCTIONS
                 and functions.index("main") < len(functions) - 1]
        return sum(whole), sum(count for count, _ in bare)

    def test_a_program_has_whole_stacks_from_its_first_event(self):
        self.build_program()
        for via in ("agent", "ptrace"):
            with self.subTest(via), far.serving(str(self.directory / f"{via}.sock"), "--quiet") as target:
                address = str(self.directory / f"{via}.sock")
                self.run_far(address, "--via", via)
                whole, every = self.counts()
                self.assertEqual((whole, every), (0, 300), "without rows no stack is whole")
                self.run_far(address, "--via", via, "--symbols", self.served)
                self.assertEqual(self.counts(), (300, 300))
                self.assertIsNone(target.poll())

    def test_a_program_that_waits_for_its_host_has_them_as_well(self):
        self.build_program()
        with server(self.address, self.served):
            for via, words in (("agent", ("--symbols", self.served)), ("ptrace", ("--symbols-server", self.address))):
                address = str(self.directory / f"{via}.sock")
                with self.subTest(via), far.waiting(address, "run", "--wait", "--via", via, "--listen", address, "-q", "--", self.program):
                    done = heaptap("connect", address, "-q", "--force", "-o", self.trace, *words, cwd=self.directory)
                    self.assertEqual(done.status, 0, str(done))
                    self.assertEqual(self.counts(), (300, 300))

    def test_rows_of_a_server_of_symbols(self):
        self.build_program()
        address = str(self.directory / "far.sock")
        with server(self.address, self.served), far.serving(address, "--quiet"):
            self.run_far(address, "--symbols-server", self.address)
            self.assertEqual(self.counts(), (300, 300))

    def test_tables_that_were_stripped_of_a_program(self):
        compile_c(BARE_MAIN, self.served / "program", "-fno-optimize-sibling-calls", "-fomit-frame-pointer")
        strip_tables(self.served / "program", self.program)
        for via in ("agent", "ptrace"):
            address = str(self.directory / f"{via}.sock")
            with self.subTest(via), far.serving(address, "--quiet"), server(self.address, self.served):
                self.run_far(address, "--via", via)
                self.assertEqual(self.counts(), (0, 300))
                self.run_far(address, "--via", via, "--symbols-server", self.address)
                self.assertEqual(self.counts(), (300, 300))

    def test_where_the_program_begins_there_may_be_no_row_at_all(self):
        def startup(name):
            return subprocess.run(["gcc", f"-print-file-name={name}"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

        beginning = self.directory / "beginning.o"
        subprocess.run(["objcopy", "-R", ".eh_frame", startup("Scrt1.o"), beginning], check=True)
        compile_c(BARE_MAIN, self.served / "program", "-fno-optimize-sibling-calls", "-fomit-frame-pointer", "-nostartfiles", "-pie",
                  "-fPIE", beginning, startup("crti.o"), startup("crtn.o"))
        strip_tables(self.served / "program", self.program)
        for via in ("agent", "ptrace"):
            address = str(self.directory / f"{via}.sock")
            with self.subTest(via), far.serving(address, "--quiet"):
                self.run_far(address, "--via", via, "--symbols", self.served)
                self.assertEqual(self.counts(), (300, 300))

    def test_tables_that_were_stripped_of_a_library(self):
        flags = ("-fno-optimize-sibling-calls", "-fomit-frame-pointer")
        # In one segment with the code: the loader takes none that is empty.
        compile_c(BARE, self.served / "libbare.so", *flags, "-shared", "-fPIC", "-Wl,-z,noseparate-code")
        strip_tables(self.served / "libbare.so", self.program.parent / "libbare.so")
        compile_c(LIBRARY_MAIN, self.program, *flags, self.program.parent / "libbare.so", f"-Wl,-rpath,{self.program.parent}")
        for via in ("agent", "ptrace"):
            address = str(self.directory / f"{via}.sock")
            with self.subTest(via), far.serving(address, "--quiet"), server(self.address, self.served):
                with self.recording(address, "--via", via, "--symbols-server", self.address) as recording:
                    wait_for("stacks become whole", lambda: self.counts()[0] > 0, state=[recording, self.counts])
                    self.until.write_text("")
                    self.assertEqual(ended(recording), 0)
                self.run_far(address, "--via", via)
                self.assertEqual(self.counts(), (300, 300))

    def test_they_are_kept_for_the_next_recordings(self):
        self.build_program()
        for via in ("agent", "ptrace"):
            address = str(self.directory / f"{via}.sock")
            with self.subTest(via), far.serving(address, "--quiet"):
                self.run_far(address, "--via", via)
                self.assertEqual(self.counts(), (0, 300), "that a host had none says nothing of the next one")
                self.run_far(address, "--via", via, "--symbols", self.served)
                for _ in range(2):
                    self.run_far(address, "--via", via)
                    self.assertEqual(self.counts(), (300, 300), "from a host that has none")

    def test_a_recording_that_is_killed_leaves_its_rows(self):
        self.build_program()
        address = str(self.directory / "far.sock")
        with far.serving(address, "--quiet") as target, self.recording(address, "--symbols", self.served) as recording:
            names = {process: pathlib.Path(f"/proc/{process}/comm").read_text() for process in heaptap_test.descendants(target.pid)}
            for process, name in names.items():
                if name == "heaptap-target\n":
                    os.kill(process, signal.SIGKILL)
            self.until.write_text("")
            ended(recording)
            program = next(process for process, name in names.items() if name == "program\n")
            wait_for("the program has ended", lambda: has_ended(program), state=program)
            self.run_far(address)
            self.assertEqual(self.counts(), (300, 300))

    def test_heaptap_target_that_connects_keeps_them_too(self):
        self.build_program()
        address = str(self.directory / "host.sock")
        target = None
        try:
            for words in (("--symbols", self.served), ()):
                host = subprocess.Popen([HEAPTAP, "run", "-H", f"listen:{address}", "-q", "--force", "-o", self.trace, *words, "--",
                                         self.program], cwd=self.directory)
                try:
                    wait_for("the host listens", lambda: far.listens(host.pid, address), state=host)
                    target = target or subprocess.Popen([far.HEAPTAP_TARGET, "connect", address, "--quiet"])
                    self.assertEqual(ended(host), 0)
                finally:
                    heaptap_test.end(host)
                    host.wait()
                self.assertEqual(self.counts(), (300, 300), words)
        finally:
            if target:
                heaptap_test.end(target)
                target.wait()

    def test_a_library_gets_its_rows_while_it_runs(self):
        self.build_library()
        for via in ("agent", "ptrace"):
            address = str(self.directory / f"{via}.sock")
            with self.subTest(via), far.serving(address, "--quiet"):
                with self.recording(address, "--via", via, "--symbols", self.served) as recording:
                    wait_for("stacks become whole", lambda: self.counts()[0] > 0, state=[recording, self.counts])
                    self.until.write_text("")
                    self.assertEqual(ended(recording), 0)
                self.run_far(address, "--via", via)
                self.assertEqual(self.counts(), (300, 300), "the next time they are there from the first event")

    def test_rows_that_lie_do_no_harm(self):
        self.build_program()
        section = self.directory / "frames"
        whole = self.served / "program"
        subprocess.run(["objcopy", "--dump-section", f".debug_frame={section}", whole, self.directory / "copy"], check=True)
        frames = section.read_bytes()
        for seed in range(4):
            chance = random.Random(seed)
            damaged = bytearray(frames)
            for _ in range(len(frames) // 20):  # in the programs of the entries, most of them
                at = chance.randrange(40, len(frames))
                damaged[at] = chance.choice((0, 0x0c, 0x0e, 0x0f, 0x16, 7, 6, 8, 0x7f, chance.randrange(256)))
            section.write_bytes(damaged)
            subprocess.run(["objcopy", "--update-section", f".debug_frame={section}", self.directory / "copy", whole], check=True)
            for via in ("agent", "ptrace"):
                with self.subTest(seed=seed, via=via), far.serving(str(self.directory / "far.sock"), "--quiet"):
                    self.run_far(str(self.directory / "far.sock"), "--via", via, "--symbols", self.served)
                    report = read_report(self.show("summary").stdout)
                    self.assertGreaterEqual(report["totals"]["allocations"], 300)
                    self.assertEqual(report["totals"]["bad_frees"], 0)

    def test_a_forked_child_has_them_too(self):
        compile_c(BARE + r"""
#include <sys/wait.h>
int main(void) {
  int status;
  if (fork() == 0) { run_bare(200, 0); _exit(0); }
  wait(&status);
  return status;
}""", self.served / "program", *NO_TABLES)
        strip(self.served / "program", self.program)
        address = str(self.directory / "far.sock")
        with far.serving(address, "--quiet"):
            for via in ("agent", "ptrace"):
                done = heaptap("run", "-H", address, "-q", "--force", "--follow-fork", "-o", self.directory / "forked.htap", "--via", via,
                               "--symbols", self.served, "--", self.program, cwd=self.directory)
                self.assertEqual(done.status, 0, str(done))
                found = []
                for trace in self.directory.glob("forked*.htap"):
                    self.trace = trace
                    with contextlib.suppress(KeyError):
                        found.append(self.counts())
                    trace.unlink()
                self.assertIn((200, 200), found, via)


if __name__ == "__main__":
    unittest.main()
