// What libraries keep for themselves: by the names of functions, and in a report, where the C library that the test runs with is a
// module of the trace.
#include "analysis/query/kept_by_libraries.h"
#include "analysis/report/view.h"
#include "views/json/render_json.h"
#include "views/text/render_text.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "scan_script.h"

// A function of the test that is in a stack.
extern "C" {
[[gnu::noinline, gnu::used]] void set_variable() { asm volatile("nop; nop; nop"); }
}

namespace {

using namespace heaptap;
using report::Purpose;

constexpr const char* kLibc = "/usr/lib/x86_64-linux-gnu/libc.so.6";
constexpr const char* kGlib = "/usr/lib/libglib-2.0.so.0.7400.6";
constexpr const char* kGobject = "/usr/lib/libgobject-2.0.so.0.7400.6";
constexpr const char* kLibstdcxx = "/usr/lib/libstdc++.so.6";
constexpr const char* kApp = "/usr/bin/app";

struct NamedFrame {
  const char* function;
  const char* module;
};

Purpose kept(const std::vector<NamedFrame>& named) {
  std::vector<model::Frame> frames;
  for (const NamedFrame& each : named) {
    model::Frame& frame = frames.emplace_back();
    frame.function = each.function;
    frame.module = each.module;
  }
  return query::kept_by_libraries(frames);
}

TEST(KeptByLibraries, IsWhatTheirFunctionsAllocateForThemselves) {
  EXPECT_EQ(kept({{"_IO_file_doallocate", kLibc}, {"_IO_doallocbuf", kLibc}, {"puts", kLibc}, {"main", kApp}}),
            Purpose::kFileBuffers);
  EXPECT_EQ(kept({{"__GI__IO_file_doallocate", kLibc}, {"_IO_doallocbuf", kLibc}, {"main", kApp}}),
            Purpose::kFileBuffers);
  EXPECT_EQ(kept({{"__GI___add_to_environ", kLibc}, {"main", kApp}}), Purpose::kEnvironment);
  EXPECT_EQ(kept({{"__add_to_environ", kLibc}, {"main", kApp}}), Purpose::kEnvironment);
  EXPECT_EQ(kept({{"tsearch", kLibc}, {"setenv", kLibc}, {"main", kApp}}), Purpose::kEnvironment);
  EXPECT_EQ(kept({{"strdup", kLibc}, {"setlocale", kLibc}, {"main", kApp}}), Purpose::kLocale);
  EXPECT_EQ(kept({{"__new_exitfn", kLibc}, {"__internal_atexit.isra.0", kLibc}, {"main", kApp}}),
            Purpose::kExitFunctions);
  EXPECT_EQ(kept({{"g_malloc0", kGlib}, {"", kGobject}, {"g_type_register_fundamental", kGobject}}),
            Purpose::kGlibTypes);
  EXPECT_EQ(kept({{"g_malloc0", kGlib}, {"type_node_any_new_W", kGobject}, {"gobject_init", kGobject}}),
            Purpose::kGlibTypes);
  EXPECT_EQ(kept({{"g_malloc", kGlib}, {"g_quark_from_static_string", kGlib}, {"main", kApp}}), Purpose::kGlibQuarks);
}

TEST(KeptByLibraries, IsNothingThatTheyGiveToTheirCallers) {
  EXPECT_EQ(kept({{"strdup", kLibc}, {"main", kApp}}), Purpose::kProgram);
  EXPECT_EQ(kept({{"__fopen_internal", kLibc}, {"fopen", kLibc}, {"main", kApp}}), Purpose::kProgram);
  EXPECT_EQ(kept({{"newlocale", kLibc}, {"main", kApp}}), Purpose::kProgram);
  EXPECT_EQ(kept({{"g_malloc0", kGlib}, {"g_type_create_instance", kGobject}, {"g_object_new", kGobject}}),
            Purpose::kProgram);
  EXPECT_EQ(kept({{"std::string::reserve", kLibstdcxx}, {"main", kApp}}), Purpose::kProgram);
  EXPECT_EQ(kept({}), Purpose::kProgram);
}

TEST(KeptByLibraries, IsNothingThatTheProgramAllocatesWhenTheyCallIt) {
  EXPECT_EQ(kept({{"g_malloc0", kGlib}, {"app_class_init", kApp}, {"g_type_class_ref", kGobject}}), Purpose::kProgram);
  EXPECT_EQ(kept({{"my_constructor", kApp}, {"setlocale", kLibc}}), Purpose::kProgram);
}

TEST(KeptByLibraries, IsAskedOfTheLibrariesThemselves) {
  EXPECT_EQ(kept({{"setenv", kApp}, {"main", kApp}}), Purpose::kProgram) << "a function of its own";
  EXPECT_EQ(kept({{"setenv", kGlib}, {"main", kApp}}), Purpose::kProgram);
  EXPECT_EQ(kept({{"g_quark_init", kLibc}}), Purpose::kProgram);
  EXPECT_EQ(kept({{"setenv_of_mine", kLibc}}), Purpose::kProgram);
}

class KeptInReports : public test::ScanScript {
 protected:
  void SetUp() override {
    add_own_module();
    Dl_info library{};
    ASSERT_NE(dladdr(reinterpret_cast<void*>(setenv), &library), 0);
    const auto begin = reinterpret_cast<uint64_t>(library.dli_fbase);
    script_.tables.modules.push_back({.path = std::filesystem::canonical(library.dli_fname),
                                      .build_id = {},
                                      .bias = begin,
                                      .start = begin,
                                      .end = reinterpret_cast<uint64_t>(setenv) + 4096});
  }
  uint32_t environment(uint64_t size) { return block(size, {inside(setenv), inside(set_variable)}); }
};

TEST_F(KeptInReports, IsSaidOfWhatIsReachableOrPossiblyLostAndOfNoLeak) {
  environment(10);
  environment(20);
  environment(40);
  block(80, {inside(set_variable)});
  scan({}, {{0}, {1, wire::PointerKind::kInterior}, {3}});
  const report::Report made = report({});
  const report::Leaks& leaks = made.leaks;
  EXPECT_EQ(leaks.definite.bytes, 40u);
  ASSERT_EQ(leaks.kept_by_libraries.size(), 1u);
  EXPECT_EQ(leaks.kept_by_libraries[0].purpose, Purpose::kEnvironment);
  EXPECT_EQ(leaks.kept_by_libraries[0].reachable.bytes, 10u);
  EXPECT_EQ(leaks.kept_by_libraries[0].possible.bytes, 20u);
  EXPECT_EQ(made.stacks[0].purpose, Purpose::kProgram);
  EXPECT_EQ(made.stacks[1].purpose, Purpose::kEnvironment);
  const std::string text = text::render_text(made, report::View::kLeaks, {});
  EXPECT_THAT(text, testing::ContainsRegex("possibly lost +20 B +in 1 block\n +of libraries +20 B +in 1 block: glibc's "
                                           "copies of the environment\n"));
  EXPECT_THAT(text, testing::ContainsRegex("still reachable +90 B +in 2 blocks\n +of libraries +10 B +in 1 block: "));
  EXPECT_THAT(json::render_json(made, report::View::kLeaks),
              testing::HasSubstr(R"("kept_by_libraries":[{"purpose":"glibc's copies of the environment",)"));
}

}  // namespace
