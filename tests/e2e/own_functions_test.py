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

# A function beside the program's own malloc, which calls the inner function that malloc does: what it gives out isn't seen.
COPY = """
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
char* copy_text(const char* text) {
  char* copy = take(64);
  return strcpy(copy, text);
}
static void take_back(void* block) {
  ((struct free_block*)block)->next = first;
  first = block;
}
int main(int count, char** arguments) {
  for (int i = 0; i < atoi(arguments[1]); i++) {
    void* volatile block = malloc(10);
    free(block);
    char* volatile text = copy_text("text");
    free(text);
  }
  char* volatile two = copy_text("a");
  char* volatile three = copy_text("b");
  free(two);
  free(three);
  if (count > 2) {
    void* (*volatile give)(size_t) = malloc;
    take_back(give(10));
    give(10);
  }
  return 0;
}
"""

# Well-known names beside a malloc, all of which call an inner function. A third of what each gives is kept.
NAMES = """
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
enum { kBlock = 4096, kBlocks = 4096 };
static char area[kBlock * kBlocks];
static int used;
static struct free_block { struct free_block* next; }* first;
__attribute__((noinline)) static void* take(size_t size) {
  struct free_block* block = first;
  if (size > kBlock) abort();
  if (block == NULL) return area + kBlock * used++;
  first = block->next;
  return block;
}
__attribute__((noinline)) static void give(void* block) {
  if (block == NULL) return;
  ((struct free_block*)block)->next = first;
  first = block;
}
static void* moved(void* block, size_t size) {
  void* other = take(size);
  if (block != NULL) memcpy(other, block, size);
  give(block);
  return other;
}
void* malloc(size_t size) { return take(size); }
void free(void* block) { give(block); }
void* calloc(size_t count, size_t size) { return memset(take(count * size), 0, count * size); }
void* realloc(void* block, size_t size) { return moved(block, size); }

char* strdup(const char* text) { return strcpy(take(strlen(text) + 1), text); }
char* strndup(const char* text, size_t most) {
  size_t size = strnlen(text, most);
  char* copy = memcpy(take(size + 1), text, size);
  copy[size] = 0;
  return copy;
}
wchar_t* wcsdup(const wchar_t* text) { return wcscpy(take((wcslen(text) + 1) * sizeof *text), text); }
int vasprintf(char** text, const char* format, va_list list) { return vsprintf(*text = take(kBlock), format, list); }
int asprintf(char** text, const char* format, ...) {
  va_list list;
  va_start(list, format);
  int length = vsprintf(*text = take(kBlock), format, list);
  va_end(list);
  return length;
}
void* moz_arena_malloc(size_t arena, size_t size) { return take(size); }
void* moz_arena_calloc(size_t arena, size_t count, size_t size) { return take(count * size); }
void* moz_arena_realloc(size_t arena, void* block, size_t size) { return moved(block, size); }
void* moz_arena_memalign(size_t arena, size_t alignment, size_t size) { return take(size); }
void moz_arena_free(size_t arena, void* block) { give(block); }
void* mallocx(size_t size, int flags) { return take(size); }
void* rallocx(void* block, size_t size, int flags) { return moved(block, size); }
void sdallocx(void* block, size_t size, int flags) { give(block); }
void* mi_mallocn(size_t count, size_t size) { return take(count * size); }
void* mi_heap_calloc(void* heap, size_t count, size_t size) { return take(count * size); }
void* mi_realloc_aligned(void* block, size_t size, size_t alignment) { return moved(block, size); }
void mi_free(void* block) { give(block); }
int tc_posix_memalign(void** result, size_t alignment, size_t size) { *result = take(size); return 0; }
void tc_free(void* block) { give(block); }

static void* kept[512];
static int count;
static void done(int round, void* block, void (*release)(void*)) {
  if (round % 3 == 0) kept[count++] = block;
  else release(block);
}
static void free_sized(void* block) { sdallocx(block, 1, 0); }
static void free_in_arena(void* block) { moz_arena_free(1, block); }
static void format(int round) {
  char* text;
  if (asprintf(&text, "%d %s", 100, "text") < 0) abort();
  done(round, text, free);
}
static void vformat(int round, ...) {
  char* text;
  va_list list;
  va_start(list, round);
  if (vasprintf(&text, "%d%d", list) < 0) abort();
  va_end(list);
  done(round, text, free);
}
int main(void) {
  for (int round = 0; round < 30; round++) {
    void* aligned;
    done(round, strdup("1234567"), free);
    done(round, strndup("1234567", 3), free);
    done(round, wcsdup(L"123"), free);
    format(round);
    vformat(round, 20, 30);
    done(round, moz_arena_malloc(1, 30), free_in_arena);
    done(round, moz_arena_calloc(1, 2, 20), free);
    done(round, moz_arena_realloc(1, malloc(10), 50), free);
    done(round, moz_arena_memalign(1, 64, 60), free_in_arena);
    done(round, mallocx(70, 0), free_sized);
    done(round, rallocx(mallocx(10, 0), 80, 0), free);
    done(round, mi_mallocn(9, 10), mi_free);
    done(round, mi_heap_calloc(kept, 10, 10), free);
    done(round, mi_realloc_aligned(malloc(10), 110, 64), mi_free);
    if (tc_posix_memalign(&aligned, 64, 120) != 0) abort();
    done(round, aligned, tc_free);
  }
  return 0;
}
"""
# What calls those in a library. One is asked for by its address, as by programs that go without where there is none.
NAMES_LIBRARY, NAMES_PROGRAM = NAMES.split("static void* kept[512];")
NAMES_PROGRAM = """
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
void *moz_arena_malloc(size_t, size_t), *moz_arena_calloc(size_t, size_t, size_t), *moz_arena_realloc(size_t, void*, size_t),
    *moz_arena_memalign(size_t, size_t, size_t), *mallocx(size_t, int), *rallocx(void*, size_t, int), *mi_mallocn(size_t, size_t),
    *mi_heap_calloc(void*, size_t, size_t), *mi_realloc_aligned(void*, size_t, size_t);
void moz_arena_free(size_t, void*), sdallocx(void*, size_t, int), mi_free(void*), tc_free(void*);
int tc_posix_memalign(void**, size_t, size_t);
static void* kept[512];""" + NAMES_PROGRAM
# Few of them: less than what accuses nobody by itself.
FEW_COPIES = """
#include <stdlib.h>
#include <string.h>
int main(void) {
  for (int i = 0; i < 5; i++) free(strdup("text"));
  char* volatile kept = strdup("kept");
  char* volatile released = malloc(10);
  free(released);
  return kept == NULL;
}
"""
# A block of malloc that another name takes back.
TAKEN_BACK = """
#include <stdlib.h>
__attribute__((weak)) void sdallocx(void*, size_t, int);
int main(void) {
  for (int i = 0; i < 5; i++) {
    void* volatile block = malloc(5000 - 4000);
    if (sdallocx != NULL) sdallocx(block, 1000, 0);
    else free(block);
  }
  return 0;
}
"""
ONLY_MALLOC = """
#include <stdlib.h>
static void* volatile lost;
int main(void) {
  lost = malloc(100);
  lost = NULL;
  void* volatile block = malloc(10);
  free(block);
  return 0;
}
"""
KEPT_BYTES = {"strdup": 8, "strndup": 4, "wcsdup": 16, "asprintf": 9, "vasprintf": 5, "moz_arena_malloc": 30, "moz_arena_calloc": 40,
              "moz_arena_realloc": 50, "moz_arena_memalign": 60, "mallocx": 70, "rallocx": 80, "mi_mallocn": 90, "mi_heap_calloc": 100,
              "mi_realloc_aligned": 110, "tc_posix_memalign": 120}

# A malloc of its own, which hides from the agent that a library came; and the library, which maps memory.
HIDES = """
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
static char area[1 << 22];
static size_t used;
void* malloc(size_t size) {
  size_t* block = (size_t*)(area + (used = (used + 31) & ~(size_t)15) - 16);
  block[0] = size;
  used += size;
  return block + 2;
}
void free(void* block) {}
void* calloc(size_t count, size_t size) { return malloc(count * size); }
void* realloc(void* block, size_t size) {
  void* other = malloc(size);
  if (block != NULL) memcpy(other, block, ((size_t*)block)[-2] < size ? ((size_t*)block)[-2] : size);
  return other;
}
int main(int count, char** arguments) {
  void* library = dlopen(arguments[1], RTLD_NOW);
  void (*map)(int) = dlsym(library, "map_some");
  map(3);
  return 0;
}
"""
MAPS = """
#include <sys/mman.h>
static void* volatile held[8];
static __attribute__((noinline)) void map_one(int i) {
  held[i] = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void map_some(int count) {
  for (int i = 0; i < count; i++) map_one(i);
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
        program = self.directory / f"own{number}"
        flags = [*(f"-DOWN_{function}" for function in own), *([] if keeps else ["-DKEEPS_NONE"])]
        subprocess.run(["g++", "-std=c++17", "-O1", "-fno-builtin", "-rdynamic", "-w", *flags, "-o", program, SOURCE], check=True)
        return program

    def check_one(self, number, own, keeps):
        """What is wrong, or None."""
        program = self.build(number, own, keeps)
        trace = self.directory / f"own{number}.htap"
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
        library, program = self.directory / "liblater.so", self.directory / "later"
        (self.directory / "library.cc").write_text(LIBRARY)
        (self.directory / "program.c").write_text(PROGRAM)
        subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", library, self.directory / "library.cc"], check=True)
        for own in ((), ("MALLOC", "FREE"), ("MALLOC", "FREE", "MALLOC_USABLE_SIZE")):
            flags = [f"-DOWN_{function}" for function in own]
            subprocess.run(["gcc", "-O1", "-fno-builtin", "-rdynamic", "-w", *flags, "-o", program, self.directory / "program.c", "-ldl"], check=True)
            bare = heaptap_test.run([program, library])
            self.assertEqual(bare.status, 0, bare)
            traced = heaptap("run", "-q", "--force", "-o", self.trace, "--", program, library)
            self.assertEqual((traced.status, traced.stdout), (bare.status, bare.stdout), own)

    def own_copy(self, times, *more):
        source, program = self.directory / "copy.c", self.directory / "copy"
        source.write_text(COPY)
        subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-rdynamic", "-o", program, source], check=True)
        ran = heaptap("run", "--force", "--via", "ptrace", "--error-exitcode", "3", "-o", self.trace, "--", program, times, *more)
        return ran, summary(self.trace)

    def test_stacks_go_through_libraries_that_the_agent_did_not_see_come(self):
        (self.directory / "hides.c").write_text(HIDES)
        (self.directory / "maps.c").write_text(MAPS)
        library = self.directory / "libmaps.so"
        subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "-o", library, self.directory / "maps.c"], check=True)
        subprocess.run(["gcc", "-O1", "-g", "-w", "-fno-builtin", "-rdynamic", "-o", self.directory / "hides", self.directory / "hides.c", "-ldl"], check=True)
        ran = heaptap("run", "--force", "-q", "-o", self.trace, "--", self.directory / "hides", library)
        self.assertEqual(ran.status, 0, ran)
        found = [[frame["function"] for frame in stack["frames"]] for stack in summary(self.trace)["stacks"] if stack["live_bytes"] == 3 * 8192]
        self.assertEqual([stack[:3] for stack in found], [["map_one", "map_some", "main"]])

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_well_known_functions_beside_a_malloc_are_watched(self):
        source, program = self.directory / "names.c", self.directory / "names"
        source.write_text(NAMES)
        for options in (["-rdynamic"], ["-static"]):
            with self.subTest(options=options):
                subprocess.run(["gcc", "-O1", "-g", "-w", "-fno-builtin", "-fno-inline", *options, "-o", program, source], check=True)
                ran = heaptap("run", "--force", "--via", "ptrace", "-q", "-o", self.trace, "--", program)
                self.assertEqual(ran.status, 0, ran)
                report = summary(self.trace)
                totals = report["totals"]
                self.assertEqual((totals["bad_frees"], totals["double_frees"], totals["unknown_frees"], report["errors"]), (0, 0, 0, []), totals)
                live = {stack["frames"][0]["function"]: (stack["live_blocks"], stack["live_bytes"]) for stack in report["stacks"]
                        if stack["live_blocks"] and stack["frames"][0]["function"] in KEPT_BYTES}
                self.assertEqual(live, {name: (10, 10 * size) for name, size in KEPT_BYTES.items()})

    def linked_with_names(self, source):
        library, program = self.directory / "libnames.so", self.directory / "program"
        (self.directory / "names.c").write_text(NAMES_LIBRARY)
        (self.directory / "program.c").write_text(source)
        subprocess.run(["gcc", "-O1", "-g", "-w", "-fno-builtin", "-fPIC", "-shared", "-o", library, self.directory / "names.c"], check=True)
        subprocess.run(["gcc", "-O1", "-g", "-w", "-fno-builtin", "-fno-inline", "-o", program, self.directory / "program.c", library,
                        f"-Wl,-rpath,{self.directory}"], check=True)
        return program

    def test_well_known_functions_of_a_library_make_the_agents_verdict_unknown(self):
        """No hook is in front of these."""
        for name, source, function in (("all", NAMES_PROGRAM, r"strdup, strndup, wcsdup and 1\d more"), ("few", FEW_COPIES, "strdup"), ("weak", TAKEN_BACK, "sdallocx")):
            with self.subTest(name):
                program = self.linked_with_names(source)
                ran = heaptap("run", "--force", "-o", self.trace, "--", program)
                self.assertEqual(ran.status, 0, ran)
                report = summary(self.trace)
                totals, leaks = report["totals"], report["leaks"]
                self.assertEqual((totals["bad_frees"], totals["double_frees"], report["errors"]), (0, 0, []), totals)
                self.assertEqual(report["capture"]["known"], {"leaks": False, "releases": False})
                self.assertEqual((leaks["definite"], leaks["possible"]), ({"blocks": 0, "bytes": 0},) * 2, leaks)
                text = ran.stderr.decode()
                self.assertRegex(text, rf"libnames\.so allocates or frees blocks by functions .*\({function}\)")
                self.assertIn("--via ptrace", text)
                self.assertEqual(heaptap("check", self.trace, "--max-leaked", "0").status, 3)

    def test_functions_that_nobody_calls_change_nothing(self):
        ran = heaptap("run", "--force", "-o", self.trace, "--", self.linked_with_names(ONLY_MALLOC))
        self.assertEqual(ran.status, 0, ran)
        report = summary(self.trace)
        self.assertEqual(report["capture"]["known"], {"leaks": True, "releases": True})
        self.assertEqual(report["leaks"]["definite"]["blocks"], 1)
        self.assertNotIn(b"libnames.so", ran.stderr)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_releases_by_the_hundred_of_what_nobody_saw_accuse_nobody(self):
        ran, report = self.own_copy(1000)
        totals = report["totals"]
        self.assertEqual((totals["bad_frees"], totals["double_frees"], report["errors"]), (0, 0, []), totals)
        self.assertGreaterEqual(totals["unknown_frees"], 1000)
        self.assertIn("unwatched_functions", report["capture"]["gaps"])
        self.assertFalse(report["capture"]["known"]["leaks"])
        self.assertIn(b"no intercepted function allocated", ran.stderr)
        self.assertIn(str(self.directory / "copy").encode(), ran.stderr)
        self.assertNotIn(b"invalid free", ran.stderr.replace(b"leaks, invalid and double frees", b""))
        self.assertEqual(heaptap("check", self.trace, "--max-leaked", "0").status, 3)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_one_such_release_is_a_bad_one(self):
        self.assertGreater(self.own_copy(0)[1]["totals"]["bad_frees"], 0)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_one_such_release_is_none_where_blocks_are_taken_back_unseen(self):
        ran, report = self.own_copy(0, "take_back")
        totals = report["totals"]
        self.assertGreater(totals["unseen_frees"], 0)
        self.assertEqual((totals["bad_frees"], totals["double_frees"], report["errors"]), (0, 0, []), totals)
        self.assertGreater(totals["unknown_frees"], 0)
        self.assertFalse(report["capture"]["known"]["releases"])
        self.assertNotIn(b"invalid free", ran.stderr.replace(b"leaks, invalid and double frees", b""))


if __name__ == "__main__":
    unittest.main()
