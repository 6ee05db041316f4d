"""Programs with some allocation functions of their own, in all combinations: the same ones are called under heaptap, for the same
blocks, and no release is taken for a bad one. HEAPTAP_LONG=1: all combinations, else those in which a few are the program's own, or
all but a few."""
import concurrent.futures
import itertools
import os
import pathlib
import subprocess
import sys
import unittest

SUPPORT = pathlib.Path(__file__).resolve().parent.parent / "support"
sys.path.insert(0, str(SUPPORT))
import heaptap_test
from heaptap_test import LONG, heaptap, summary

FUNCTIONS = ("MALLOC", "FREE", "CALLOC", "REALLOC", "MEMALIGN", "MALLOC_USABLE_SIZE", "NEW", "DELETE")
SOURCE = SUPPORT / "own_functions.cc"

LIBRARY = """
extern "C" void* make() { return new char[100]; }
extern "C" void drop(void* block) { delete[] static_cast<char*>(block); }
"""
PROGRAM = """
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static char area[1 << 20];
static size_t used;
#ifdef OWN_MALLOC
void* malloc(size_t size) {
  used = (used + 31) & ~(size_t)15;
  *(size_t*)(area + used - 16) = size;
  used += size;
  return area + used - size;
}
#endif
#ifdef OWN_FREE
extern void __libc_free(void*);
void free(void* block) {
  if (block && ((char*)block < area || (char*)block >= area + sizeof area)) __libc_free(block);
}
#endif
#ifdef OWN_MALLOC_USABLE_SIZE
size_t malloc_usable_size(void* block) { return *(size_t*)((char*)block - 16); }
#endif
int main(int count, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW);
  void* (*make)(void) = dlsym(library, "make");
  void (*drop)(void*) = dlsym(library, "drop");
  char* block = make();
  int is_own = block >= area && block < area + sizeof area;
  int status;
#ifdef OWN_MALLOC_USABLE_SIZE
  is_own += 10 * (int)malloc_usable_size(block);
#endif
  if (fork() == 0) {
    drop(block);
    drop(make());
    _exit(0);
  }
  wait(&status);
  drop(block);
  printf("%d %d\\n", is_own, status);
  return 0;
}
"""

# A strdup beside the program's own malloc, which calls the inner function that malloc does: what it gives out isn't seen.
STRDUP = """
#include <stdlib.h>
#include <string.h>
static char area[1 << 20];
static size_t used;
static struct free_block { struct free_block* next; }* first;
__attribute__((noinline)) static void* take(size_t size) {
  struct free_block* block = first;
  if (size <= 64 && block != NULL) {
    first = block->next;
    return block;
  }
  used += 64;
  return area + used - 64;
}
void* malloc(size_t size) { return take(size); }
void free(void* block) {
  if (block == NULL) return;
  ((struct free_block*)block)->next = first;
  first = block;
}
char* strdup(const char* text) {
  char* copy = take(64);
  return strcpy(copy, text);
}
int main(int count, char** arguments) {
  for (int i = 0; i < atoi(arguments[1]); i++) {
    void* volatile block = malloc(10);
    free(block);
    char* volatile text = strdup("text");
    free(text);
  }
  char* volatile two = strdup("a");
  char* volatile three = strdup("b");
  free(two);
  free(three);
  return 0;
}
"""


def combinations():
    """Each as the functions that are the program's own, and whether their blocks are."""
    for count in range(len(FUNCTIONS) + 1):
        for own in itertools.combinations(FUNCTIONS, count):
            keeps = (True, False) if "FREE" in own else (False,)
            if LONG or count <= 2 or count >= len(FUNCTIONS) - 1:
                yield from ((own, one) for one in keeps)


class OwnFunctions(heaptap_test.TestCase):
    def build(self, number, own, keeps):
        program = self.folder / f"own{number}"
        flags = [*(f"-DOWN_{function}" for function in own), *([] if keeps else ["-DKEEPS_NONE"])]
        subprocess.run(["g++", "-std=c++17", "-O1", "-fno-builtin", "-rdynamic", "-w", *flags, "-o", program, SOURCE], check=True)
        return program

    def check_one(self, number, own, keeps):
        """What is wrong, or None."""
        program = self.build(number, own, keeps)
        trace = self.folder / f"own{number}.htap"
        name = f"{' '.join(own) or 'none'}, {'an area' if keeps else 'blocks of the next function'}"
        bare = heaptap_test.run([program])
        traced = heaptap("run", "-q", "-o", trace, "--", program)
        if (traced.status, traced.stdout) != (bare.status, bare.stdout):
            return f"{name}:\n--- bare {bare.status}\n{bare.stdout.decode()}--- recorded {traced.status}\n{traced.stdout.decode()}{traced.stderr.decode()}"
        if bare.status != 3:
            return f"{name}: the test itself fails\n{bare.stdout.decode()}"
        report = summary(trace)
        if report["errors"] and report["capture"]["complete"]:
            return f"{name}: {[(error['kind'], error['function']) for error in report['errors']]}"
        program.unlink()
        return None

    def test_are_called_as_without_heaptap(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
            results = list(workers.map(lambda one: self.check_one(one[0], *one[1]), enumerate(combinations())))
        problems = [problem for problem in results if problem]
        self.assertFalse(problems, f"{len(problems)} of {len(results)}\n" + "\n".join(problems[:6]))

    def test_are_called_by_a_library_that_comes_later(self):
        library, program = self.folder / "liblater.so", self.folder / "later"
        (self.folder / "library.cc").write_text(LIBRARY)
        (self.folder / "program.c").write_text(PROGRAM)
        subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", library, self.folder / "library.cc"], check=True)
        for own in ((), ("MALLOC", "FREE"), ("MALLOC", "FREE", "MALLOC_USABLE_SIZE")):
            flags = [f"-DOWN_{function}" for function in own]
            subprocess.run(["gcc", "-O1", "-fno-builtin", "-rdynamic", "-w", *flags, "-o", program, self.folder / "program.c", "-ldl"], check=True)
            bare = heaptap_test.run([program, library])
            self.assertEqual(bare.status, 0, bare)
            traced = heaptap("run", "-q", "--force", "-o", self.trace, "--", program, library)
            self.assertEqual((traced.status, traced.stdout), (bare.status, bare.stdout), own)

    def own_strdup(self, times):
        source, program = self.folder / "strdup.c", self.folder / "strdup"
        source.write_text(STRDUP)
        subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-rdynamic", "-o", program, source], check=True)
        ran = heaptap("run", "--force", "--via", "ptrace", "--error-exitcode", "3", "-o", self.trace, "--", program, times)
        return ran, summary(self.trace)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_releases_by_the_hundred_of_what_nobody_saw_accuse_nobody(self):
        ran, report = self.own_strdup(1000)
        totals = report["totals"]
        self.assertEqual((totals["bad_frees"], totals["double_frees"], report["errors"]), (0, 0, []), totals)
        self.assertGreaterEqual(totals["unknown_frees"], 1000)
        self.assertIn("unwatched_functions", report["capture"]["gaps"])
        self.assertFalse(report["capture"]["known"]["leaks"])
        self.assertIn(b"no watched function gave out", ran.stderr)
        self.assertIn(str(self.folder / "strdup").encode(), ran.stderr)
        self.assertNotIn(b"invalid free", ran.stderr.replace(b"leaks, invalid and double frees", b""))
        self.assertEqual(heaptap("check", self.trace, "--max-leaked", "0").status, 3)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_one_such_release_is_a_bad_one(self):
        self.assertGreater(self.own_strdup(0)[1]["totals"]["bad_frees"], 0)


if __name__ == "__main__":
    unittest.main()
