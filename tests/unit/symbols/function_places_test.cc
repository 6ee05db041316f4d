// Where functions are by a file's symbol table: of those names that are asked for, and of the file that is meant.
#include "analysis/symbols/function_places.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/symbols/elf_file.h"

namespace heaptap::symbols {
namespace {

namespace fs = std::filesystem;

const fs::path kFunctionFixtures = SYMBOLS_FIXTURE_DIR;
const std::vector<std::string> kAskedNames = {"symbols_fixture_run", "malloc", "no_such_function"};

std::string fixture_id() { return ElfFile::open(kFunctionFixtures / "full.so")->build_id(); }

ResolverOptions below(const fs::path& directory) { return {.symbol_directories = {directory}, .sysroots = {}}; }

TEST(FunctionPlaces, AreThoseOfItsOwnFunctions) {
  const auto found = find_functions(below(kFunctionFixtures), "/target/full.so", fixture_id(), kAskedNames);
  ASSERT_EQ(found.size(), 1u) << "malloc is another object's";
  EXPECT_EQ(found[0].name, "symbols_fixture_run");
  EXPECT_NE(found[0].address, 0u);
  EXPECT_FALSE(found[0].is_local);
}

TEST(FunctionPlaces, ComeFromTheDebugFileOfAStrippedOne) {
  const auto whole = find_functions(below(kFunctionFixtures), "/target/full.so", fixture_id(), kAskedNames);
  const ResolverOptions options{.symbol_directories = {kFunctionFixtures / "tree"}, .sysroots = {}};
  EXPECT_EQ(find_functions(options, kFunctionFixtures / "stripped.so", fixture_id(), kAskedNames), whole);
  EXPECT_EQ(find_functions(options, "/nowhere/stripped.so", fixture_id(), kAskedNames), whole)
      << "by the build-id alone";
  EXPECT_TRUE(find_functions({}, kFunctionFixtures / "stripped.so", fixture_id(), kAskedNames).empty());
}

TEST(FunctionPlaces, AreNotThoseOfAnotherBuild) {
  std::string other = fixture_id();
  other.back() = static_cast<char>(other.back() ^ 1);
  EXPECT_TRUE(find_functions(below(kFunctionFixtures), "/target/full.so", other, kAskedNames).empty());
}

}  // namespace
}  // namespace heaptap::symbols
