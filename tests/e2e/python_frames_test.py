"""Frames of Python in stacks (--python): they are what Python itself says, line by line, in the places where its code ran; where they can't
be had, that is said."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import heaptap

SUPPORT = pathlib.Path(__file__).resolve().parent.parent / "support"
COMPARED = 25  # a listed stack has at most 255 frames, those of the interpreter and inlined ones included
EVALUATION = "_PyEval_EvalFrameDefault"
# tools/try_pythons.sh has interpreters of other versions.
INTERPRETER = os.environ.get("PYTHON_FRAMES_INTERPRETER", "/usr/bin/python3")
LIBRARY = r"""
#include <stdlib.h>
#include <ucontext.h>
void *take_block(size_t bytes) { return malloc(bytes); }
static ucontext_t here, there;
static void (*called)(void);
static void start(void) {
  called();
  setcontext(&here);
}
#include <signal.h>
static void at_signal(int number) { free(malloc(100 + number)); }
void allocate_at_signal(int number) { signal(number, at_signal); }
/* Calls back on a stack of its own, as greenlets do: the native stack ends there, and Python's goes on. */
void call_on_other_stack(void (*function)(void)) {
  called = function;
  getcontext(&there);
  there.uc_stack.ss_size = 1 << 20;
  there.uc_stack.ss_sp = malloc(1 << 20);
  makecontext(&there, start, 0);
  swapcontext(&here, &there);
}
"""
EMBEDDING = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **words) {
  void *python = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
  if (python == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  ((void (*)(int))dlsym(python, "Py_InitializeEx"))(0);
  return ((int (*)(const char *, void *))dlsym(python, "PyRun_SimpleStringFlags"))(words[2], NULL);
}
"""
RELOADING = r"""
#include <dlfcn.h>
int main(int count, char **words) {
  for (int i = 0; i < 3; i++) {
    void *python = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    ((void (*)(int))dlsym(python, "Py_InitializeEx"))(0);
    ((int (*)(const char *, void *))dlsym(python, "PyRun_SimpleStringFlags"))(words[2], (void *)0);
    ((int (*)(void))dlsym(python, "Py_FinalizeEx"))();
    dlclose(python);
  }
  return 0;
}
"""


def is_python(frame):
    return frame["module"] == "[python]"


def functions(stack):
    return [frame["function"] for frame in stack["frames"]]


class PythonFrames(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = cls.make_class_directory()
        cls.library = cls.built / "take.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-g", "-O0", "-fno-builtin", "-x", "c", "-", "-o", cls.library],
                       input=LIBRARY.encode(), check=True)

    def record(self, *words, options=("--python",), status=0):
        trace = self.directory / "python.htap"
        outcome = heaptap("run", "--force", "--no-leak-scan", *options, "-o", trace, "--", *words)
        self.assertEqual(outcome.status, status, outcome)
        return trace

    def record_script(self, script, **options):
        path = self.directory / "script.py"
        path.write_text(f"import ctypes, sys\nlibrary = ctypes.PyDLL({str(self.library)!r})\n{script}")
        return self.record(INTERPRETER, path, **options)

    def record_embedded(self, source, script):
        """Of a C program that loads the newest libpython, the first of its words, for the script, the second one."""
        versions = sorted(pathlib.Path("/usr/lib/x86_64-linux-gnu").glob("libpython3.*.so.1.0"))
        self.assertTrue(versions, "libpython is missing: install libpython3.11")
        program = self.directory / "embeds"
        subprocess.run(["gcc", "-g", "-x", "c", "-", "-o", program], input=source.encode(), check=True)
        return self.record(program, versions[-1], script)

    def report(self, trace, *options):
        outcome = heaptap("show", "top", "--sort", "total", "-n", "100000", "-d", "0", "--json", *options, trace)
        self.assertEqual(outcome.status, 0, outcome)
        return heaptap_test.read_report(outcome.stdout)

    def taken(self, trace, *options):
        """Stacks through take_block()."""
        return [stack for stack in self.report(trace, *options)["stacks"] if "take_block" in functions(stack)[:2]]

    def notes(self, trace):
        return [text for text in heaptap_test.notes_of(self.report(trace)) if "--python" in text]

    def test_frames_are_those_that_python_names(self):
        out = self.directory / "expected.json"
        trace = self.record(INTERPRETER, SUPPORT / "python_frames.py", self.library, out)
        expected = collections.Counter()
        for size, frames in json.loads(out.read_text()):
            expected[tuple(map(tuple, frames[:COMPARED]))] += size
        found = collections.Counter()
        for stack in self.taken(trace):
            self.assertNotIn(EVALUATION, functions(stack))
            frames = [(frame["function"], frame["file"], frame["line"]) for frame in stack["frames"] if is_python(frame)]
            found[tuple(frames[:COMPARED])] += stack["allocated_bytes"]
        self.maxDiff = None
        self.assertGreater(len(expected), 150)

        # Of a difference the first ones, without what is common to all.
        def first_of(stacks):
            return [(size, stack[:6], len(stack)) for stack, size in stacks.items()][:5]

        missing = expected - found
        self.assertEqual((len(missing), first_of(missing), first_of(found - expected)), (0, [], []))

    def test_they_are_between_the_native_frames_of_who_called_them(self):
        trace = self.record_script("""
def outer():
    return sorted([2, 1], key=inner)


def inner(value):
    library.take_block(100000 + value)
    return value


outer()
""")
        stack = self.taken(trace)[0]
        names = functions(stack)
        places = [names.index(name) for name in ("take_block", "inner", "outer", "<module>", "Py_BytesMain")]
        self.assertEqual(places, sorted(places), names)
        self.assertEqual(names.index("inner") + 1, names.index("outer"))
        whole = self.taken(trace, "--full-stacks")[0]
        names = functions(whole)
        self.assertGreater(names.index("outer"), names.index("inner") + 1, names)
        folded = heaptap("export", "--to", "folded", "-o", "-", trace)
        self.assertRegex(folded.stdout.decode(), r"<module>;outer;inner;[^\n]*take_block")

    def test_what_the_interpreter_allocates_is_its_programs(self):
        trace = self.record_script("def keep():\n    return bytearray(5000000)\nkept = keep()\n")
        first = heaptap("show", "top", "--sort", "total", "-n", "1", trace).stdout.decode()
        self.assertIn("keep script.py:4 < <module> script.py:5", first)

    def test_a_peak_that_is_freed_is_told_by_its_line(self):
        """Beside arenas of the interpreter, which are mapped to the end."""
        script = self.directory / "script.py"
        script.write_text("def fill():\n    return bytearray(3000000)\nfill()\n")
        outcome = heaptap("run", "--python", "--force", "-o", self.trace, "--", INTERPRETER, script)
        self.assertRegex(outcome.stderr.decode(), r"\nheaptap:   2\.9 MiB of the peak: #\d+  fill script\.py:2 < <module> script\.py:3\n")

    def test_nothing_changes_without_the_option(self):
        trace = self.record_script("library.take_block(77)", options=())
        [stack] = self.taken(trace)
        self.assertFalse(any(map(is_python, stack["frames"])))
        self.assertIn(EVALUATION, functions(stack))

    def test_children_have_theirs(self):
        trace = self.record_script("""
import os
def in_child():
    library.take_block(4444)
child = os.fork()
if child == 0:
    in_child()
    os._exit(0)
os.waitpid(child, 0)
""", options=("--python", "-f"))
        children = [path for path in self.directory.glob("python.*.htap") if path != trace]
        [stack] = [stack for child in children for stack in self.taken(child)]
        self.assertIn("in_child", functions(stack))

    def test_totals_have_them(self):
        trace = self.record_script("def total():\n    for _ in range(10): library.take_block(5555)\ntotal()\n",
                                   options=("--python", "--aggregate"))
        [stack] = self.taken(trace)
        self.assertIn("total", functions(stack))
        self.assertEqual(stack["allocations"], 10)

    def test_an_interpreter_that_is_loaded_later_counts(self):
        script = f"import ctypes\nlibrary = ctypes.PyDLL({str(self.library)!r})\ndef embedded():\n  library.take_block(1234)\nembedded()\n"
        [stack] = self.taken(self.record_embedded(EMBEDDING, script))
        names = functions(stack)
        self.assertLess(names.index("embedded"), names.index("main"))

    def test_a_stack_that_ends_early_has_those_of_its_part(self):
        trace = self.record_script("""
def take():
    library.take_block(6666)
library.call_on_other_stack(ctypes.CFUNCTYPE(None)(take))
""")
        [stack] = self.taken(trace)
        self.assertEqual([frame["function"] for frame in stack["frames"] if is_python(frame)], ["take"])
        self.assertIsNotNone(stack["ends_early"])

    def test_what_has_no_known_place_is_counted(self):
        # The state of the thread is that of the first interpreter, which didn't call what runs.
        trace = self.record_script("""
try:
    import _interpreters as interpreters
except ImportError:  # before 3.13
    import _xxsubinterpreters as interpreters
interpreters.run_string(interpreters.create(), "kept = bytearray(7000000)")
""")
        [stack] = [stack for stack in self.report(trace, "--full-stacks")["stacks"] if stack["allocated_bytes"] > 6000000]
        self.assertIn(EVALUATION, functions(stack))
        self.assertFalse(any(map(is_python, stack["frames"])))
        [note] = self.notes(trace)
        self.assertRegex(note, r"--python: [\d,]+ allocations have native frames only: .*(in a subinterpreter|don't match the native stack)")

    def test_a_thread_without_the_lock_has_native_frames(self):
        """Its own frames may be released by another one, at the interpreter's end."""
        trace = self.record_script(f"ctypes.CDLL({str(self.library)!r}).take_block(4321)")
        [stack] = self.taken(trace)
        self.assertFalse(any(map(is_python, stack["frames"])))
        [note] = self.notes(trace)
        self.assertIn("made without the interpreter's lock or in a subinterpreter", note)

    def test_the_end_of_the_interpreter_harms_no_thread(self):
        """A thread that waits in C code allocates there when its state was released, and the memory is used again."""
        self.record(INTERPRETER, SUPPORT / "python_daemon_thread.py")

    def test_code_that_replaces_other_code_has_its_own_names(self):
        trace = self.record_script("""
import gc
for number in range(50):
    code = compile("library.take_block(5000)", f"page-{number:04}", "exec")
    exec(code)
    del code
    gc.collect()
""")
        files = {frame["file"] for stack in self.taken(trace) for frame in stack["frames"] if is_python(frame)}
        self.assertEqual(len([file for file in files if file.startswith("page-")]), 50)

    def test_a_file_without_a_name_is_one(self):
        trace = self.record_script('exec(compile("def inner():\\n  library.take_block(2222)\\ninner()", "", "exec"))')
        [stack] = self.taken(trace)
        names = [(frame["function"], frame["file"]) for frame in stack["frames"] if is_python(frame)]
        self.assertEqual(names[:2], [("inner", "?"), ("<module>", "?")])

    def test_a_signal_handler_has_native_frames(self):
        trace = self.record_script("""
import signal
library.allocate_at_signal(signal.SIGUSR1)
for _ in range(1000):
    signal.raise_signal(signal.SIGUSR1)
""")
        stacks = [stack for stack in self.report(trace)["stacks"] if "at_signal" in functions(stack)]
        self.assertTrue(stacks)
        for stack in stacks:
            self.assertFalse(any(map(is_python, stack["frames"])), functions(stack))

    def test_recursion_that_is_too_deep_has_native_frames(self):
        trace = self.record_script("""
import sys
sys.setrecursionlimit(10_000)
def descend(depth):
    return library.take_block(5432) if depth == 0 else descend(depth - 1)
descend(4200)
""")
        [stack] = self.taken(trace)
        self.assertFalse(any(map(is_python, stack["frames"])))
        [note] = self.notes(trace)
        self.assertRegex(note, r"\b1 (made )?too deep in recursion")

    def test_another_interpreter_at_the_same_place_is_another_one(self):
        script = f"import ctypes\nctypes.PyDLL({str(self.library)!r}).take_block(1234)\n"
        self.taken(self.record_embedded(RELOADING, script))

    def test_why_there_are_none_is_said(self):
        [note] = self.notes(self.record("/bin/true"))
        self.assertIn("the program loaded no Python interpreter", note)
        for options, why in ((("--via", "ptrace", "-o", self.directory / "x.htap"), "leave out --via ptrace or --python"),
                             (("-H", "localhost:1"), "--python: heaptap-target's agent doesn't read Python's frames")):
            outcome = heaptap("run", "--python", *options, "--", "/bin/true")
            self.assertEqual(outcome.status, 2, outcome)
            self.assertIn(why, outcome.stderr.decode())


if __name__ == "__main__":
    unittest.main()
