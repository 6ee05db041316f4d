// Sites in a line: which frame names them, which callers, and how they fit.
#include "analysis/findings/frame_text.h"

#include <gtest/gtest.h>

#include "analysis/findings/function_name.h"
#include "analysis/findings/site_rows.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/report/skipped_names.h"
#include "golden.h"

namespace heaptap::findings {
namespace {

using test::frame;
using Frames = std::vector<model::Frame>;

const report::SkippedNames kNone;

std::string site_of(const Frames& frames, size_t width = 0, const report::SkippedNames& skipped = kNone,
                    FrameTextOptions options = {}) {
  return FrameText(frames, skipped, options).describe_site(report::FrameList(frames), width);
}

const Frames kStack = {frame("operator new(unsigned long)"),
                       frame("std::vector<int, std::allocator<int> >::push_back(int&&)", "/usr/include/vector", 7),
                       frame("make_buffer(int)", "/src/leak.cc", 11),
                       frame("void std::__invoke_impl<void>()", "/usr/include/invoke.h", 3),
                       frame("process(std::vector<int, std::allocator<int> >&)", "/src/leak.cc", 12),
                       frame("main", "/src/leak.cc", 19),
                       frame("__libc_start_call_main"),
                       frame("_start")};

TEST(Site, IsTheTellingFrameAndItsCallers) {
  EXPECT_EQ(site_of(kStack), "make_buffer leak.cc:11 < process leak.cc:12 < main leak.cc:19");
  EXPECT_EQ(site_of({frame("main", "/src/leak.cc", 19), frame("__libc_start_call_main")}), "main leak.cc:19");
  EXPECT_EQ(site_of({}), "an unknown caller");
}

TEST(Site, LeavesOutWhatTheUserSkips) {
  EXPECT_EQ(site_of(kStack, 0, report::SkippedNames({"make_buffer"})), "process leak.cc:12 < main leak.cc:19");
  EXPECT_EQ(site_of(kStack, 0, report::SkippedNames({"^proc"})), "make_buffer leak.cc:11 < main leak.cc:19");
}

TEST(Site, OfMachineryAloneStillHasAFrame) {
  const Frames own = {frame("malloc_node", "/src/a.cc", 1), frame("xmalloc", "/src/b.cc", 2)};
  EXPECT_EQ(site_of(own), "malloc_node a.cc:1");
  EXPECT_EQ(site_of(kStack, 0, report::SkippedNames({"."})), "make_buffer leak.cc:11")
      << "the first of no system library";
}

TEST(Site, ToldOnceOfAFunctionThatCallsItself) {
  EXPECT_EQ(site_of({frame("walk", "/a.c", 3), frame("walk", "/a.c", 9), frame("walk", "/a.c", 9),
                     frame("main", "/a.c", 20)}),
            "walk a.c:3 < main a.c:20");
}

model::Frame of_module(model::Frame frame, const char* module) {
  frame.module = module;
  return frame;
}

model::Frame of_interpreter(model::Frame frame) {
  frame.of_interpreter = true;
  return frame;
}
model::Frame interpreted(const char* function, unsigned line) {
  return of_module(frame(function, "/src/app.py", line), model::kInterpretedModule);
}

TEST(Site, OfAnInterpretedProgramIsItsOwnOrAnExtensions) {
  const Frames rest = {interpreted("load", 7), of_interpreter(frame("PyObject_Vectorcall")), interpreted("<module>", 9),
                       of_interpreter(frame("Py_BytesMain")), frame("__libc_start_call_main")};
  const auto site_below = [&rest](Frames frames) {
    frames.insert(frames.end(), rest.begin(), rest.end());
    return site_of(frames);
  };
  EXPECT_EQ(site_below({of_interpreter(frame("PyBytes_FromString"))}), "load app.py:7 < <module> app.py:9");
  EXPECT_EQ(site_below({frame("make_array", "/src/array.c", 3)}),
            "make_array array.c:3 < load app.py:7 < <module> app.py:9");
  EXPECT_EQ(site_below({frame(""), frame("")}), "load app.py:7 < <module> app.py:9") << "of code without names";
  EXPECT_EQ(site_of({frame("malloc_node"), of_interpreter(frame("PyDict_New", "/src/dict.c", 5)),
                     of_interpreter(frame("Py_BytesMain")), frame("__libc_start_call_main")}),
            "PyDict_New dict.c:5")
      << "it runs no program yet";
}

std::string crash_at(const Frames& frames, size_t width = 0, const report::SkippedNames& skipped = kNone) {
  return FrameText(frames, skipped, {}).describe_crash(report::FrameList(frames), width);
}

TEST(CrashPlace, IsTheProgramsInnermostFrameAndItsCallers) {
  const Frames frames = {of_module(frame("__strlen_avx2"), "/usr/lib/x86_64-linux-gnu/libc.so.6"),
                         frame("parse(char const*)", "/src/json.cc", 41), frame("load(int)", "/src/app.cc", 12),
                         frame("main", "/src/app.cc", 20), frame("__libc_start_call_main")};
  EXPECT_EQ(crash_at(frames), "parse json.cc:41 < load app.cc:12 < main app.cc:20");
  EXPECT_EQ(crash_at(frames, 40), "parse json.cc:41 < load app.cc:12");
  EXPECT_EQ(crash_at(frames, 0, report::SkippedNames({"parse"})), "load app.cc:12 < main app.cc:20");
}

// An allocator may crash as well.
TEST(CrashPlace, MayBeInWhatAllocatesForOthers) {
  EXPECT_EQ(crash_at({frame("xmalloc", "/src/mem.c", 3), frame("main", "/src/a.c", 9)}),
            "xmalloc mem.c:3 < main a.c:9");
}

TEST(CrashPlace, IsNotInALanguagesWayToEnd) {
  const Frames thrown = {frame("raise"),
                         frame("abort"),
                         frame("__gnu_cxx::__verbose_terminate_handler()"),
                         frame("__cxxabiv1::__terminate(void (*)())"),
                         frame("std::terminate()"),
                         frame("__cxa_throw"),
                         frame("refuse()", "/src/a.cc", 5),
                         frame("main", "/src/a.cc", 9)};
  EXPECT_EQ(crash_at(thrown), "refuse a.cc:5 < main a.cc:9");
  const Frames handled = {frame("raise"), frame("on_fault(int)", "/src/a.cc", 2), frame("<signal handler called>"),
                          frame("parse()", "/src/a.cc", 5)};
  EXPECT_EQ(crash_at(handled), "on_fault a.cc:2 < parse a.cc:5");
}

TEST(CrashPlace, OfLibrariesAloneIsTheInnermostFrame) {
  const char* const libc = "/lib/libc.so.6";
  EXPECT_EQ(crash_at({of_module(frame("raise"), libc), of_module(frame("abort"), libc)}), "raise libc.so.6+0x1000");
}

TEST(Site, SaysWhyAFrameIsAnAddress) {
  model::Frame made = of_module(frame(""), "");
  made.address = 0x557e9fa1ff08;
  EXPECT_EQ(site_of({made, frame("main", "/src/a.cc", 9)}), "0x557e9fa1ff08 (JIT-compiled?) < main a.cc:9");
}

TEST(Site, LeavesOutOffsetsOnlyWhereAFunctionHasNoLine) {
  const FrameTextOptions brief{.offsets = false};
  const Frames frames = {frame("insert"), frame(""), frame("main", "/src/leak.cc", 19)};
  EXPECT_EQ(site_of(frames), "insert shop+0x1000 < shop+0x1000 < main leak.cc:19");
  EXPECT_EQ(site_of(frames, 0, kNone, brief), "insert < shop+0x1000 < main leak.cc:19");
  EXPECT_EQ(site_of(frames, 24, kNone, brief), "insert < shop+0x1000");
}

TEST(Site, FitsByShorterNamesAndThenByFewerCallers) {
  const Frames frames = {frame(std::string(90, 'a') + "::make(int)", "/src/leak.cc", 11),
                         frame(std::string(90, 'b') + "::use()", "/src/leak.cc", 12),
                         frame("main", "/src/leak.cc", 19)};
  for (const size_t width : {30u, 50u, 80u, 120u, 200u}) {
    const std::string site = site_of(frames, width);
    EXPECT_LE(shown_width(site), width) << site;
    EXPECT_NE(site.find("leak.cc:11"), std::string::npos) << "figures stay: " << site;
  }
  EXPECT_NE(site_of(frames, 120).find("< main leak.cc:19"), std::string::npos);
  EXPECT_GT(site_of(frames, 60, kNone, {.full_names = true}).size(), 180u);
}

TEST(Site, KeepsItsInnermostNameAndPlaceBeforeItsCallers) {
  const Frames frames = {frame("shop::Session::Session(int)", "/src/session.cc", 45),
                         frame("shop::serve(int)", "/src/session.cc", 61), frame("main", "/src/main.cc", 90)};
  for (const size_t width : {36u, 48u, 60u, 70u}) {
    const std::string site = site_of(frames, width);
    EXPECT_EQ(site.substr(0, 36), "shop::Session::Session session.cc:45") << width;
    EXPECT_LE(site.size(), width);
  }
  Frames unknown = {frame("ggc_internal_alloc(unsigned long, void (*)(void*))")};
  unknown[0].module = "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus";
  EXPECT_EQ(site_of(unknown, 26), "ggc_...lloc cc1plus+0x1000");
  unknown[0].function.clear();
  EXPECT_EQ(site_of(unknown, 26), "cc1plus+0x1000");
}

TEST(Frames, HaveNamesAndPathsInFullWhereAskedFor) {
  const Frames frames = {frame("void f<std::vector<int, std::allocator<int> > >(int)", "/src/a.cc", 1)};
  EXPECT_EQ(FrameText(frames, kNone, {}).both(frames[0], 80), "f<std::vector<int>>(int) a.cc:1");
  const FrameText full(frames, kNone, {.full_names = true, .full_paths = true});
  EXPECT_EQ(full.both(frames[0], 10), "void f<std::vector<int, std::allocator<int> > >(int) /src/a.cc:1");
}

TEST(Frames, BelowMainAreListedWhereAskedFor) {
  EXPECT_EQ(FrameText(kStack, kNone, {}).listed(report::FrameList(kStack)), 6u);
  EXPECT_EQ(FrameText(kStack, kNone, {.full_stacks = true}).listed(report::FrameList(kStack)), 8u);
  const Frames start = {frame("_start")};
  EXPECT_EQ(FrameText(start, kNone, {}).listed(report::FrameList(start)), 1u) << "there are no others";
  const Frames thread = {frame("work", "/a.cc", 1), frame("std::thread::_State_impl<int>::_M_run()"),
                         frame("execute_native_thread_routine"), frame("start_thread"), frame("clone3")};
  EXPECT_EQ(FrameText(thread, kNone, {}).listed(report::FrameList(thread)), 1u);
}

// "2", "make", "3": runs as their numbers of frames.
std::vector<std::string> listed_of(const Frames& frames, FrameTextOptions options = {}) {
  std::vector<std::string> texts;
  for (const ListedFrame& each : FrameText(frames, kNone, options).listed_frames(report::FrameList(frames))) {
    texts.push_back(each.frame != nullptr ? each.frame->function : std::to_string(each.run));
  }
  return texts;
}

TEST(Frames, OfLibrariesAreRuns) {
  using Texts = std::vector<std::string>;
  const Frames frames = {frame("operator new"), frame("std::vector<int>::push_back(int)"),
                         frame("insert"),       frame("std::sort<int>()"),
                         frame("fill"),         frame("std::f()"),
                         frame("std::g()"),     frame("main"),
                         frame("_start")};
  EXPECT_EQ(listed_of(frames), (Texts{"2", "insert", "std::sort<int>()", "fill", "2", "main"}));
  EXPECT_EQ(listed_of(frames, {.full_stacks = true}).size(), frames.size());
  const Frames pool = {frame("malloc"), frame("__gnu_cxx::pool()"), frame("_dl_init")};
  EXPECT_EQ(listed_of(pool).size(), 3u) << "nothing else is told";
}

TEST(Frames, OfARustProgramEndAtItsOwnMain) {
  const Frames frames = {frame("alloc::alloc::alloc"),
                         frame("alloc::vec::Vec<T>::push"),
                         frame("shop::main"),
                         frame("core::ops::function::FnOnce::call_once"),
                         frame("std::rt::lang_start::{{closure}}"),
                         frame("std::panicking::catch_unwind"),
                         frame("std::rt::lang_start"),
                         frame("main"),
                         frame("__libc_start_call_main"),
                         frame("_start")};
  EXPECT_EQ(listed_of(frames), (std::vector<std::string>{"2", "shop::main"}));
  const Frames own = {frame("work"), frame("main"), frame("_start")};
  EXPECT_EQ(listed_of(own), (std::vector<std::string>{"work", "main"}));
}

TEST(Site, IsOneFrameInAHeadline) {
  const Frames frames = {frame("operator new"), frame("shop::make(int)", "/src/leak.cc", 11), frame("main")};
  const FrameText text(frames, kNone, {});
  EXPECT_EQ(text.innermost_site(report::FrameList(frames), 48), "shop::make(int) leak.cc:11");
  EXPECT_EQ(text.innermost_site({}, 48), "");
}

TEST(Files, KeepTheDirectoriesThatTellThemApart) {
  const Frames frames = {frame("a", "/src/web/cart.cc", 1), frame("b", "/src/shop/cart.cc", 1),
                         frame("c", "/lib/shop/cart.cc", 1), frame("d", "/src/main.cc", 1), frame("e", "cart.cc", 1)};
  const FileNames names(frames);
  EXPECT_EQ(names.of("/src/web/cart.cc"), "web/cart.cc");
  EXPECT_EQ(names.of("/src/shop/cart.cc"), "/src/shop/cart.cc");
  EXPECT_EQ(names.of("/lib/shop/cart.cc"), "/lib/shop/cart.cc");
  EXPECT_EQ(names.of("/src/main.cc"), "main.cc");
  EXPECT_EQ(names.of("cart.cc"), "cart.cc");
  EXPECT_EQ(names.of("/other/file.cc"), "file.cc");
}

report::StackEntry stack(report::FrameTable& table, uint64_t id, const std::vector<report::FrameIndex>& frames,
                         uint64_t bytes) {
  report::StackEntry made;
  made.id = id;
  made.function = "malloc";
  made.live_bytes = bytes;
  made.live_blocks = 1;
  made.frames = table.add(frames);
  return made;
}

TEST(SiteRows, AreOneForEqualLines) {
  const FrameText text(kStack, kNone, {});
  report::FrameTable table(kStack);
  // The second differs in machinery alone, the third in its telling frame.
  const std::vector<report::StackEntry> stacks = {stack(table, 5, {0, 1, 2, 4, 5}, 10),
                                                  stack(table, 7, {0, 2, 3, 4, 5}, 4), stack(table, 8, {0, 4, 5}, 2)};
  const std::vector<SiteRow> rows = merge_sites(text, table, stacks);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].sum.live_bytes, 14u);
  EXPECT_EQ(rows[0].sum.live_blocks, 2u);
  EXPECT_EQ(ids_text(rows[0]), "#5 (2 stacks: #5 #7)");
  EXPECT_EQ(ids_text(rows[1]), "#8");
  EXPECT_EQ(rows[1].sum.live_bytes, 2u);
  EXPECT_EQ(site_line(text, table, rows[0], 0),
            "#5  make_buffer leak.cc:11 < process leak.cc:12 < main leak.cc:19  (2 stacks: #5 #7)");
  EXPECT_LE(site_line(text, table, rows[0], 74).size(), 74u);
}

TEST(SiteRows, AreSortedByTheirSums) {
  report::FrameTable table(kStack);
  const std::vector<report::StackEntry> stacks = {stack(table, 1, {0, 5}, 10), stack(table, 2, {0, 2}, 8),
                                                  stack(table, 3, {0, 1, 2}, 7)};
  const FrameText text(kStack, kNone, {});
  EXPECT_EQ(merge_sites(text, table, stacks, "usage")[0].ids, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(merge_sites(text, table, stacks, "stacks")[0].ids, std::vector<uint64_t>{1});
}

TEST(SiteRows, KnowWhatAllOfThemKnow) {
  report::FrameTable table(kStack);
  std::vector<report::StackEntry> stacks = {stack(table, 1, {2}, 1), stack(table, 2, {2}, 1)};
  stacks[1].set_live_unknown();
  EXPECT_FALSE(merge_sites(FrameText(kStack, kNone, {}), table, stacks)[0].sum.live_bytes.is_known());
}

}  // namespace
}  // namespace heaptap::findings
