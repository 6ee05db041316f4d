// Names of data: global, static and thread-local variables, vtables.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "analysis/symbols/resolver.h"

namespace heaptap::symbols {
namespace {

std::map<std::string, uint64_t>* shown = nullptr;
void show(const char* name, const void* address) { (*shown)[name] = reinterpret_cast<uint64_t>(address); }

// The thread-local segment of the object that is mapped at `bias`, in this thread.
uint64_t thread_local_segment(uint64_t bias) {
  std::pair<uint64_t, uint64_t> wanted{bias, 0};
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* data) {
        auto& [bias_wanted, segment] = *static_cast<std::pair<uint64_t, uint64_t>*>(data);
        if (object->dlpi_addr == bias_wanted) segment = reinterpret_cast<uint64_t>(object->dlpi_tls_data);
        return 0;
      },
      &wanted);
  return wanted.second;
}

uint32_t line_of(const std::string& mark) {
  std::ifstream source(VARIABLES_FIXTURE_SOURCE);
  std::string text;
  for (uint32_t line = 1; std::getline(source, text); ++line) {
    if (text.ends_with("// at: " + mark)) return line;
  }
  ADD_FAILURE() << "no line is marked " << mark;
  return 0;
}

class Variables : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string path = std::string(VARIABLES_FIXTURE_DIR) + "/" + GetParam();
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "not built: its compiler is missing";
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    shown = &addresses_;
    reinterpret_cast<void (*)(void (*)(const char*, const void*))>(dlsym(handle, "variables_fixture_show"))(show);
    struct link_map* map = nullptr;
    dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map));
    module_.path = path;
    module_.bias = map->l_addr;
    module_.start = map->l_addr;
    module_.end = module_.start + 0x100000;
  }

  const Variable* at(const std::string& place, uint64_t distance = 0) {
    return resolver_.variable_at(module_, addresses_.at(place) - module_.bias + distance);
  }
  const Variable* thread_local_at(const std::string& place, uint64_t distance = 0) {
    return resolver_.thread_local_at(module_, addresses_.at(place) - thread_local_segment(module_.bias) + distance);
  }
  [[nodiscard]] bool has_dwarf() const { return std::string(GetParam()) != "named.so" && !is_stripped(); }
  [[nodiscard]] bool is_stripped() const { return std::string(GetParam()) == "stripped.so"; }

  void expect(const Variable* variable, const std::string& name, const std::string& mark, uint64_t size) {
    ASSERT_NE(variable, nullptr) << mark;
    EXPECT_EQ(variable->name, name);
    EXPECT_EQ(variable->size_bytes, size) << mark;
    EXPECT_EQ(variable->file, has_dwarf() ? VARIABLES_FIXTURE_SOURCE : "") << mark;
    EXPECT_EQ(variable->line, has_dwarf() ? line_of(mark) : 0) << mark;
  }

  std::map<std::string, uint64_t> addresses_;
  model::Module module_;
  Resolver resolver_{ResolverOptions{}};
};

TEST_P(Variables, ThatAreExportedHaveNames) {
  expect(at("exported_number"), "exported_number", "exported_number", 8);
  // clang only writes down where it is declared.
  const bool is_clang = std::string(GetParam()) == "clang.so";
  expect(at("count"), "shop::Item::count", is_clang ? "count declared" : "count", 8);
  expect(at("cache_"), "shop::cache_", "cache_", 32);
}

TEST_P(Variables, AreFoundByAnyOfTheirBytes) {
  const Variable* variable = at("cache_", 16);
  ASSERT_NE(variable, nullptr);
  EXPECT_EQ(variable->name, "shop::cache_");
  EXPECT_EQ(variable->begin, addresses_.at("cache_") - module_.bias);
  EXPECT_EQ(variable, at("cache_", 31));
  const Variable* behind = at("cache_", 32);
  EXPECT_TRUE(behind == nullptr || behind->name != "shop::cache_");
}

TEST_P(Variables, ThatAreLocalToAFileOrFunctionHaveNames) {
  if (is_stripped()) {
    EXPECT_EQ(at("file_table"), nullptr);
    EXPECT_EQ(at("hidden"), nullptr);
    return;
  }
  expect(at("file_table", 8), "file_table", "file_table", 64);
  expect(at("hidden", 8), "shop::(anonymous namespace)::hidden", "hidden", 32);
  expect(at("item"), "shop::(anonymous namespace)::the_item()::item", "item", 8);
  expect(at("calls", 8), "variables_fixture_show::calls", "calls", 24);
}

TEST_P(Variables, ThatAreThreadLocalHaveNames) {
  expect(thread_local_at("first_of_thread"), "shop::first_of_thread", "first_of_thread", 8);
  expect(thread_local_at("kept_of_thread", 24), "shop::kept_of_thread", "kept_of_thread", 32);
  EXPECT_EQ(resolver_.thread_local_at(module_, 1 << 20), nullptr);
}

TEST_P(Variables, VtablesTellTheType) {
  const auto type_at = [&](const char* place) {
    return resolver_.type_at(module_, addresses_.at(place) - module_.bias);
  };
  EXPECT_EQ(type_at("vtable"), "shop::Item");
  EXPECT_EQ(type_at("box vtable"), is_stripped() ? "" : "shop::(anonymous namespace)::Box<shop::Item>");
  EXPECT_EQ(type_at("cache_"), "");
}

TEST_P(Variables, AreNotWhereNoneIs) {
  EXPECT_EQ(resolver_.variable_at(module_, 0), nullptr);
  EXPECT_EQ(resolver_.variable_at(module_, ~uint64_t{0}), nullptr);
  module_.path = "/no/such/file.so";
  EXPECT_EQ(at("cache_"), nullptr);
}

TEST(CVariables, ThatAreLocalToAFunctionAreCalledAsTheSourceHasThem) {
  model::Module module;
  module.path = VARIABLES_FIXTURE_DIR "/c.so";
  void* handle = dlopen(module.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  struct link_map* map = nullptr;
  dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map));
  void* cache = reinterpret_cast<void* (*)(size_t)>(dlsym(handle, "variables_c_fixture"))(1);
  Resolver resolver{ResolverOptions{}};
  const Variable* variable = resolver.variable_at(module, reinterpret_cast<uint64_t>(cache) - map->l_addr + 16);
  ASSERT_NE(variable, nullptr);
  EXPECT_EQ(variable->name, "cache");
  EXPECT_EQ(variable->size_bytes, 32U);
  EXPECT_TRUE(variable->file.ends_with("/fixtures/variables_fixture.c")) << variable->file;
  EXPECT_GT(variable->line, 0U);
}

INSTANTIATE_TEST_SUITE_P(Symbols, Variables,
                         testing::Values("full.so", "dwarf4.so", "lto.so", "clang.so", "unoptimised.so", "named.so",
                                         "stripped.so"),
                         [](const auto& instance) { return std::filesystem::path(instance.param).stem().string(); });

}  // namespace
}  // namespace heaptap::symbols
