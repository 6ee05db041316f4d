// Suppressions in both syntaxes: what files say, what they match, what is written.
#include "analysis/query/suppressions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analysis/query/suppression_writer.h"

namespace heaptap::query {
namespace {

using leaks::BlockState;
using model::Frame;
using wire::Function;

Frame frame(std::string function, std::string symbol = {}, std::string module = "/home/me/app", std::string file = {},
            uint32_t line = 0) {
  Frame frame;
  frame.function = std::move(function);
  frame.symbol = std::move(symbol);
  frame.module = std::move(module);
  frame.file = std::move(file);
  frame.line = line;
  return frame;
}

const std::vector<Frame> kPythonStack = {frame("PyObject_Malloc", {}, "/usr/bin/python3.11"),
                                         frame("PyUnicode_New", {}, "/usr/bin/python3.11"),
                                         frame("_PyUnicode_FromASCII", {}, "/usr/bin/python3.11"),
                                         frame("PyUnicode_InternFromString", {}, "/usr/bin/python3.11"),
                                         frame("Py_BytesMain", {}, "/usr/bin/python3.11"),
                                         frame("__libc_start_call_main", {}, "/lib/x86_64-linux-gnu/libc.so.6")};

const std::vector<Frame> kGlibStack = {
    frame("g_malloc", {}, "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0.7400.6"),
    frame("g_slice_alloc", {}, "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0.7400.6"),
    frame("", {}, "/usr/lib/x86_64-linux-gnu/libgobject-2.0.so.0.7400.6"),
    frame("g_type_register_static", {}, "/usr/lib/x86_64-linux-gnu/libgobject-2.0.so.0.7400.6"),
    frame("main", {}, "/home/me/app", "/home/me/src/main.c", 12)};

const std::vector<Frame> kCppStack = {frame("std::__new_allocator<Node>::allocate(unsigned long, void const*)",
                                            "_ZNSt15__new_allocatorI4NodeE8allocateEmPKv", "/home/me/app",
                                            "/usr/include/c++/12/bits/new_allocator.h", 137),
                                      frame("shop::Cart::add(shop::Item const*)", "_ZN4shop4Cart3addEPKNS_4ItemE",
                                            "/home/me/app", "/home/me/src/cart.cc", 41),
                                      frame("main", {}, "/home/me/app", "/home/me/src/main.cc", 7)};

// In the shape of CPython's Misc/valgrind-python.supp.
constexpr char kPythonFile[] = R"(#
# This is a valgrind suppression file that should be used when using valgrind.
#
{
   ADDRESS_IN_RANGE/Invalid read of size 4
   Memcheck:Addr4
   fun:address_in_range
}

{
   Suppress leaking the interned strings
   Memcheck:Leak
   match-leak-kinds: definite,possible
   fun:malloc
   fun:PyObject_Malloc
   fun:PyUnicode_New
   ...
   fun:PyUnicode_InternFromString
}
{
   bpo-38118: Valgrind emits a false alarm on dtoa strtod()
   Memcheck:Cond
   fun:PyUnicode_Decode
}
{
   Uninitialised byte(s) false alarm, see bpo-35561
   Memcheck:Param
   epoll_ctl(event)
   fun:epoll_ctl
   fun:pyepoll_internal_ctl
}
)";

// In the shape of GLib's glib.supp.
constexpr char kGlibFile[] =
    "{\n\tglib_type_init_fundamental\n\tMemcheck:Leak\n\tmatch-leak-kinds:reachable\n\tfun:calloc\n\t...\n"
    "\tfun:g_type_register_static*\n}\n\n# comment inside\n"
    "{\n\tglib-type-register\n\t# with a comment\n\tMemcheck,Addrcheck:Leak\n\tmatch-leak-kinds: all\n\tfun:malloc\n"
    "\tfun:g_malloc\n\t...\n\tobj:*/libgobject-2.0.so*\n\tfun:g_type_register_static\n\t...\n\tfun:main\n}\n";

constexpr char kLsanFile[] = R"(# LSan suppressions of a project
leak:libfontconfig.so
  leak:^shop::Cart::
leak:*_InternFrom*$   
leak:main.c
)";

Suppressions from(std::string_view text) {
  Suppressions suppressions;
  const auto added = suppressions.add(text, "some.supp");
  EXPECT_TRUE(added) << added.error().message;
  return suppressions;
}

std::optional<std::string> hidden_by(const Suppressions& suppressions, const std::vector<Frame>& frames,
                                     Function function = Function::kMalloc, BlockState state = BlockState::kDefinite) {
  const auto index = suppressions.find({function, frames}, state);
  if (!index) return std::nullopt;
  return suppressions.list()[*index].name;
}

std::string error_of(std::string_view text) {
  Suppressions suppressions;
  const auto added = suppressions.add(text, "some.supp");
  EXPECT_TRUE(suppressions.empty());
  return added ? "" : added.error().message;
}

TEST(Suppressions, OfPythonHideInternedStringsOnly) {
  const Suppressions python = from(kPythonFile);
  ASSERT_EQ(python.list().size(), 1U) << "entries for other errors are passed over";
  EXPECT_EQ(python.list()[0].line, 10U);
  EXPECT_EQ(hidden_by(python, kPythonStack), "Suppress leaking the interned strings");
  EXPECT_EQ(hidden_by(python, kPythonStack, Function::kMalloc, BlockState::kReachable), std::nullopt);
  EXPECT_EQ(hidden_by(python, kPythonStack, Function::kCalloc), std::nullopt);
  EXPECT_EQ(hidden_by(python, kGlibStack), std::nullopt);
}

TEST(Suppressions, OfGlibMatchObjectsAndGaps) {
  const Suppressions glib = from(kGlibFile);
  ASSERT_EQ(glib.list().size(), 2U);
  EXPECT_EQ(hidden_by(glib, kGlibStack), "glib-type-register");
  EXPECT_EQ(hidden_by(glib, kGlibStack, Function::kCalloc, BlockState::kReachable), "glib_type_init_fundamental");
  EXPECT_EQ(hidden_by(glib, kGlibStack, Function::kCalloc), std::nullopt);
}

TEST(Suppressions, OfLsanMatchFunctionsModulesAndFiles) {
  const Suppressions lsan = from(kLsanFile);
  ASSERT_EQ(lsan.list().size(), 4U);
  EXPECT_EQ(hidden_by(lsan, kCppStack, Function::kNew), "leak:^shop::Cart::");
  EXPECT_EQ(hidden_by(lsan, {frame("f", {}, "/usr/lib/libfontconfig.so.1")}), "leak:libfontconfig.so");
  EXPECT_EQ(hidden_by(lsan, {frame("PyUnicode_InternFromString")}), "leak:*_InternFrom*$");
  EXPECT_EQ(hidden_by(lsan, kGlibStack), "leak:main.c");
  EXPECT_EQ(hidden_by(lsan, {frame("other")}), std::nullopt);
}

TEST(Suppressions, BothSyntaxesMayStandInOneFile) {
  const Suppressions both = from(std::string(kPythonFile) + kLsanFile + kGlibFile);
  EXPECT_EQ(both.list().size(), 1U + 4 + 2);
  EXPECT_EQ(hidden_by(both, kPythonStack), "Suppress leaking the interned strings") << "the first one wins";
}

TEST(Suppressions, LinesMayEndAsOnWindows) {
  EXPECT_EQ(hidden_by(from("{\r\n  name\r\n  Memcheck:Leak\r\n  fun:malloc\r\n  fun:g_*\r\n}\r\n"), kGlibStack),
            "name");
  EXPECT_EQ(hidden_by(from("\xef\xbb\xbfleak:g_malloc\r\n"), kGlibStack), "leak:g_malloc");
}

TEST(Suppressions, KnowMangledAndDemangledNames) {
  const auto entry = [](const char* frames) { return from(std::string("{\nx\nMemcheck:Leak\n") + frames + "\n}"); };
  EXPECT_TRUE(hidden_by(entry("fun:_Znwm\n...\nfun:_ZN4shop4Cart3addE*"), kCppStack, Function::kNew));
  EXPECT_TRUE(
      hidden_by(entry("fun:operator new(unsigned long)\n...\nfun:shop::Cart::add(*"), kCppStack, Function::kNew));
  EXPECT_TRUE(hidden_by(entry("fun:_Zna?\n..."), kCppStack, Function::kNewArray));
  EXPECT_FALSE(hidden_by(entry("fun:_Znwm\n..."), kCppStack, Function::kNewArray));
  EXPECT_TRUE(hidden_by(from("leak:operator new(unsigned long)"), kCppStack, Function::kNew));
  EXPECT_TRUE(hidden_by(entry("fun:malloc\nfun:PyObject_Malloc\n...\nfun:(below main)"), kPythonStack));
}

TEST(Suppressions, KnowSourceLines) {
  const auto entry = [](const char* frames) { return from(std::string("{\nx\nMemcheck:Leak\n") + frames + "\n}"); };
  for (const char* source :
       {"src:cart.cc:41", "src:cart.cc", "src:/home/me/src/cart.cc:41", "src:*/cart.cc", "src:c?rt.cc:4*"}) {
    EXPECT_TRUE(hidden_by(entry((std::string("fun:_Znwm\nobj:*\n") + source).c_str()), kCppStack, Function::kNew))
        << source;
  }
  EXPECT_FALSE(hidden_by(entry("fun:_Znwm\nobj:*\nsrc:cart.cc:42"), kCppStack, Function::kNew));
}

TEST(Suppressions, InlinedFramesMayBeThereOrNot) {
  auto frames = kCppStack;
  frames[0].inlined = true;
  const auto entry = [](const char* lines) { return from(std::string("{\nx\nMemcheck:Leak\n") + lines + "\n}"); };
  EXPECT_TRUE(hidden_by(entry("fun:_Znwm\nfun:_ZN4shop4Cart3add*"), frames, Function::kNew));
  EXPECT_TRUE(hidden_by(entry("fun:_Znwm\nfun:*allocate*\nfun:_ZN4shop4Cart3add*"), frames, Function::kNew));
  EXPECT_FALSE(hidden_by(entry("fun:_Znwm\nfun:_ZN4shop4Cart3add*"), kCppStack, Function::kNew));
}

TEST(Suppressions, AGapTakesAnyNumberOfFrames) {
  std::vector<Frame> frames;
  for (const char* name : {"a", "b", "a", "b", "c", "d"}) frames.push_back(frame(name));
  const auto entry = [](const char* lines) { return from(std::string("{\nx\nMemcheck:Leak\n") + lines + "\n}"); };
  EXPECT_TRUE(hidden_by(entry("fun:malloc\n...\nfun:a\nfun:b\nfun:c"), frames));
  EXPECT_TRUE(hidden_by(entry("...\nfun:malloc\n...\n...\nfun:d\n..."), frames));
  EXPECT_TRUE(hidden_by(entry("fun:malloc\n...\nfun:b\n...\nfun:b\n...\nfun:d"), frames));
  EXPECT_FALSE(hidden_by(entry("fun:malloc\n...\nfun:c\n...\nfun:b"), frames));
  EXPECT_FALSE(hidden_by(entry("fun:malloc\n...\nfun:d\nfun:*"), frames));
  EXPECT_FALSE(hidden_by(entry("fun:malloc\nfun:b"), frames));
}

TEST(Suppressions, ErrorsNameLineCauseAndCure) {
  const auto expect_error = [](std::string_view text, std::string_view place, std::string_view words) {
    const std::string message = error_of(text);
    EXPECT_TRUE(message.starts_with(place)) << message;
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  expect_error("leak:a\n\nrace:b\n", "some.supp:3: ", "neither an LSan suppression");
  expect_error("leak:\n", "some.supp:1: ", "name a function");
  expect_error("{\nname\nMemcheck:Leak\nfun:a\n", "some.supp:1: ", "closing '}'");
  expect_error("{\nname\nMemcheck:Leak\nfun:a\n{\n", "some.supp:1: ", "closing '}'");
  expect_error("# x\n{\n}\n", "some.supp:2: ", "incomplete");
  expect_error("{\nname\nfun\n}\n", "some.supp:3: ", "write Memcheck:Leak");
  expect_error("{\nname\nMemcheck:Leak\nfoo:a\n}\n", "some.supp:4: ", "not a line of a leak suppression");
  expect_error("{\nname\nMemcheck:Leak\nmatch-leak-kinds: definite,lost\nfun:a\n}\n",
               "some.supp:4: ", "unknown kind of leak 'lost'");
  expect_error("{\nname\nMemcheck:Leak\n...\n}\n", "some.supp:1: ", "would hide every leak");
  expect_error("{\nname\nMemcheck:Leak\nfun:\n}\n", "some.supp:4: ", "without a name");
  expect_error("leak:ok\n\x01x", "some.supp:2: ", "'?x'");
}

TEST(Suppressions, AFileThatCannotBeReadIsAnError) {
  Suppressions suppressions;
  const auto absent = suppressions.read("/no/such/file.supp");
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().message.find("/no/such/file.supp"), std::string::npos);
  EXPECT_FALSE(suppressions.read("/"));
}

TEST(Suppressions, AreReadFromFiles) {
  const auto path = std::filesystem::temp_directory_path() / ("heaptap-suppressions." + std::to_string(getpid()));
  std::ofstream(path) << kLsanFile;
  Suppressions suppressions;
  EXPECT_TRUE(suppressions.read(path));
  EXPECT_EQ(suppressions.list().size(), 4U);
  EXPECT_EQ(suppressions.list()[1].file, path);
  std::filesystem::remove(path);
}

TEST(SuppressionPatterns, OfValgrindMatchTheWholeText) {
  EXPECT_TRUE(matches_wildcards("g_malloc*", "g_malloc0"));
  EXPECT_TRUE(matches_wildcards("*", ""));
  EXPECT_TRUE(matches_wildcards("a*b*c", "aXbXbXc"));
  EXPECT_TRUE(matches_wildcards("?b?", "abc"));
  EXPECT_FALSE(matches_wildcards("?", ""));
  EXPECT_FALSE(matches_wildcards("g_mall", "g_malloc"));
  EXPECT_FALSE(matches_wildcards("a*b", "abc"));
  const std::string many(5000, 'a');
  EXPECT_FALSE(matches_wildcards("*a*a*a*a*a*a*a*b", many));
}

TEST(SuppressionPatterns, OfLsanMatchAnywhereUnlessPinned) {
  EXPECT_TRUE(matches_lsan("alloc", "g_malloc0"));
  EXPECT_TRUE(matches_lsan("^g_*0$", "g_malloc0"));
  EXPECT_TRUE(matches_lsan("lib*.so", "/usr/lib/libx.so.1"));
  EXPECT_TRUE(matches_lsan("foo$", "foofoo"));
  EXPECT_TRUE(matches_lsan("^*b", "ab"));
  EXPECT_TRUE(matches_lsan("*", "x"));
  EXPECT_FALSE(matches_lsan("*", ""));
  EXPECT_FALSE(matches_lsan("^malloc", "g_malloc"));
  EXPECT_FALSE(matches_lsan("malloc$", "malloc0"));
  EXPECT_FALSE(matches_lsan("^ab$", "aab"));
  EXPECT_FALSE(matches_lsan("a*b*a", "ab"));
}

TEST(SuppressionWriter, WhatItWritesHidesThoseLeaks) {
  const std::vector<LeakToSuppress> leaks = {{{Function::kMalloc, kPythonStack}, BlockState::kDefinite, 1, 50},
                                             {{Function::kMalloc, kGlibStack}, BlockState::kPossible, 2, 64},
                                             {{Function::kNew, kCppStack}, BlockState::kIndirect, 3, 72},
                                             {{Function::kNew, kCppStack}, BlockState::kIndirect, 1, 24}};
  for (const SuppressionSyntax syntax : {SuppressionSyntax::kLsan, SuppressionSyntax::kValgrind}) {
    const std::string text = write_suppressions(syntax, leaks);
    const Suppressions suppressions = from(text);
    EXPECT_EQ(suppressions.list().size(), 3U) << text;
    for (const LeakToSuppress& leak : leaks) EXPECT_TRUE(suppressions.find(leak.stack, leak.state)) << text;
    EXPECT_FALSE(suppressions.find({Function::kMalloc, {}}, BlockState::kDefinite)) << text;
  }
}

TEST(SuppressionWriter, WritesWhatTheOtherToolsRead) {
  const std::vector<LeakToSuppress> leaks = {{{Function::kNew, kCppStack}, BlockState::kDefinite, 3, 72}};
  EXPECT_EQ(write_suppressions(SuppressionSyntax::kValgrind, leaks),
            "{\n"
            "   definite leak of 72 bytes in 3 blocks, shop::Cart::add(shop::Item const*)\n"
            "   Memcheck:Leak\n"
            "   match-leak-kinds: definite\n"
            "   fun:_Znwm\n"
            "   fun:_ZNSt15__new_allocatorI4NodeE8allocateEmPKv\n"
            "   fun:_ZN4shop4Cart3addEPKNS_4ItemE\n"
            "   fun:main\n"
            "}\n");
  const std::vector<LeakToSuppress> glib = {{{Function::kMalloc, kGlibStack}, BlockState::kDefinite, 1, 8}};
  EXPECT_EQ(write_suppressions(SuppressionSyntax::kLsan, glib),
            "# definite leak of 8 bytes in 1 blocks, g_type_register_static\nleak:^g_type_register_static$\n");
}

TEST(SuppressionWriter, WritesNoRuleForWhatIsInEveryStack) {
  const Frame lose = frame("lose", {}, "/home/me/app");
  const Frame main = frame("main", {}, "/home/me/app");
  const Frame thread = frame("start_thread", {}, "/lib/x86_64-linux-gnu/libc.so.6");
  const Frame call_main = frame("__libc_start_call_main", {}, "/lib/x86_64-linux-gnu/libc.so.6");
  const Frame start = frame("_start", {}, "/home/me/app");
  const Frame clone = frame("clone3", {}, "/lib/x86_64-linux-gnu/libc.so.6");
  const Frame nameless = frame("", {}, "/home/me/app");
  const std::vector<std::vector<Frame>> stacks = {{main, call_main, start}, {start}, {nameless, thread, clone},
                                                  {thread, clone},          {clone}, {nameless, main, start},
                                                  {call_main, start},       {}};
  for (const std::vector<Frame>& stack : stacks) {
    const std::vector<LeakToSuppress> leaks = {{{Function::kMalloc, stack}, BlockState::kDefinite, 1, 8}};
    const std::vector<Frame> other = {lose, main, call_main, start};
    const std::vector<Frame> other_thread = {lose, thread, clone};
    for (const SuppressionSyntax syntax : {SuppressionSyntax::kLsan, SuppressionSyntax::kValgrind}) {
      const std::string text = write_suppressions(syntax, leaks);
      EXPECT_NE(text, "") << "it says why there is none";
      const Suppressions suppressions = from(text);
      const bool has_own_frame =
          !stack.empty() && stack.front().function.empty() && syntax == SuppressionSyntax::kValgrind;
      if (!has_own_frame) {
        EXPECT_FALSE(suppressions.find({Function::kMalloc, other}, BlockState::kDefinite)) << text;
        EXPECT_FALSE(suppressions.find({Function::kMalloc, other_thread}, BlockState::kDefinite)) << text;
      }
      for (const Suppression& each : suppressions.list()) EXPECT_FALSE(hides_everything(each)) << text;
    }
  }
}

TEST(SuppressionWriter, SaysWhereARuleHidesAll) {
  const std::vector<Frame> one = {frame("a"), frame("handle_all"), frame("main")};
  const std::vector<Frame> other = {frame("handle_all"), frame("main")};
  const std::vector<LeakToSuppress> leaks = {{{Function::kMalloc, one}, BlockState::kDefinite, 1, 8},
                                             {{Function::kMalloc, other}, BlockState::kDefinite, 1, 8}};
  const std::string text = write_suppressions(SuppressionSyntax::kLsan, leaks);
  EXPECT_EQ(text,
            "# definite leak of 8 bytes in 1 blocks, a\nleak:^a$\n"
            "# careful: this hides all of the 2 leaks here\n"
            "# definite leak of 8 bytes in 1 blocks, handle_all\nleak:^handle_all$\n");
  EXPECT_EQ(from(text).list().size(), 2U);
}

TEST(SuppressionWriter, EachRuleIsComparedWithAllLeaks) {
  const std::vector<std::vector<Frame>> stacks = {{frame("a"), frame("all")},
                                                  {frame("b"), frame("a"), frame("all")},
                                                  {frame("c"), frame("b"), frame("all")},
                                                  {frame("all"), frame("c")},
                                                  {frame("d"), frame("all")}};
  std::vector<LeakToSuppress> leaks;
  for (const auto& stack : stacks) leaks.push_back({{Function::kMalloc, stack}, BlockState::kDefinite, 1, 8});
  const std::string text = write_suppressions(SuppressionSyntax::kLsan, leaks);
  EXPECT_EQ(text,
            "# definite leak of 8 bytes in 1 blocks, a\nleak:^a$\n"
            "# definite leak of 8 bytes in 1 blocks, b\nleak:^b$\n"
            "# definite leak of 8 bytes in 1 blocks, c\nleak:^c$\n"
            "# careful: this hides all of the 5 leaks here\n"
            "# definite leak of 8 bytes in 1 blocks, all\nleak:^all$\n"
            "# definite leak of 8 bytes in 1 blocks, d\nleak:^d$\n");
}

TEST(Suppressions, KnowWhatHidesEverything) {
  const auto hides = [](const std::string& text) { return hides_everything(from(text).list().at(0)); };
  for (const char* text :
       {"leak:_start", "leak:^main$", "leak:*", "leak:start_thread", "leak:clone", "leak:__libc_start"}) {
    EXPECT_TRUE(hides(text)) << text;
  }
  for (const char* text : {"leak:main.c", "leak:^cloned$", "leak:libfoo", "leak:domain"})
    EXPECT_FALSE(hides(text)) << text;
  const auto entry_of = [](const std::string& frames) { return "{\nname\nMemcheck:Leak\n" + frames + "\n}\n"; };
  for (const char* frames : {"fun:malloc\n...\nfun:main", "fun:*\n...", "fun:malloc\n...\nfun:(below main)"}) {
    EXPECT_TRUE(hides(entry_of(frames))) << frames;
  }
  for (const char* frames : {"fun:malloc\nfun:main", "fun:malloc\n...\nfun:foo\n...\nfun:main", "obj:*/libfoo.so"}) {
    EXPECT_FALSE(hides(entry_of(frames))) << frames;
  }
}

TEST(SuppressionWriter, NamesFromHostileFilesDoNotBreakLines) {
  const std::vector<Frame> frames = {frame("evil\n}\nleak:*"), frame("$^")};
  const std::vector<LeakToSuppress> leaks = {{{Function::kMalloc, frames}, BlockState::kDefinite, 1, 1}};
  for (const SuppressionSyntax syntax : {SuppressionSyntax::kLsan, SuppressionSyntax::kValgrind}) {
    const Suppressions suppressions = from(write_suppressions(syntax, leaks));
    EXPECT_EQ(suppressions.list().size(), 1U);
    EXPECT_TRUE(suppressions.find(leaks[0].stack, BlockState::kDefinite));
  }
}

}  // namespace
}  // namespace heaptap::query
