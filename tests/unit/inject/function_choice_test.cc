#include "capture/inject/function_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/log.h"

namespace heaptap::inject {
namespace {

using testing::HasSubstr;
using tracer::FoundFunction;
using tracer::LoadedObject;
using wire::Function;
using wire::InjectedWay;

FoundFunction at(uint64_t address, Function function) {
  return {.address = address, .size_bytes = 16, .function = function};
}

constexpr uint64_t kMalloc = 0x1000;
constexpr uint64_t kFree = 0x1100;
constexpr uint64_t kAligned = 0x1200;

LoadedObject c_library() {
  LoadedObject made;
  made.path = "libc.so";
  made.is_libc = true;
  made.allocator = {0x1000, 0x2000};
  made.functions = {at(kMalloc, Function::kMalloc), at(kFree, Function::kFree), at(kAligned, Function::kAlignedAlloc)};
  return made;
}

LoadedObject cpp_library() {
  LoadedObject made;
  made.path = "libstdc++.so";
  made.exceptions = {0x5000, 0x5100};
  made.functions = {at(0x6000, Function::kNew), at(0x6100, Function::kNewAligned), at(0x6200, Function::kDelete)};
  return made;
}

// An allocator whose operators have the code of other functions.
LoadedObject allocator() {
  LoadedObject made;
  made.path = "liballocator.so";
  made.functions = {at(0x8000, Function::kMalloc),   at(0x8100, Function::kFree),
                    at(0x8100, Function::kDelete),   at(0x8200, Function::kNew),
                    at(0x8200, Function::kNewArray), at(0x8300, Function::kAlignedAlloc)};
  return made;
}

LoadedObject program(std::vector<FoundFunction> functions) {
  LoadedObject made;
  made.path = "program";
  made.flags = wire::kModuleIsMain;
  made.functions = std::move(functions);
  return made;
}

base::Result<FunctionChoice> choose(const std::vector<LoadedObject>& objects, uint64_t reached = kMalloc,
                                    bool goes_to_free = false) {
  return choose_functions(objects, {.reached_malloc = [reached](uint32_t) { return reached; },
                                    .goes_to_free = [goes_to_free](uint32_t, uint64_t) { return goes_to_free; }});
}

ChosenFunction chosen_at(const base::Result<FunctionChoice>& choice, uint64_t address) {
  if (!choice) return {};
  const auto found = std::ranges::find(choice->functions, address, &ChosenFunction::address);
  return found == choice->functions.end() ? ChosenFunction{} : *found;
}

TEST(FunctionChoice, TakesTheCppLibrarysOperatorsAsMallocAndFree) {
  const auto choice = choose({program({}), c_library(), cpp_library()});
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->functions.size(), 6u);
  EXPECT_EQ(choice->allocators, 1u);
  EXPECT_TRUE(choice->is_glibc);
  EXPECT_EQ(choice->why_plain, "");
  EXPECT_EQ(chosen_at(choice, 0x6000).way, InjectedWay::kStandardNew);
  EXPECT_EQ(chosen_at(choice, 0x6000).call, kMalloc);
  EXPECT_EQ(chosen_at(choice, 0x6100).way, InjectedWay::kStandardAlignedNew);
  EXPECT_EQ(chosen_at(choice, 0x6100).call, kAligned);
  EXPECT_EQ(chosen_at(choice, 0x6200).way, InjectedWay::kRelease);
  EXPECT_TRUE(std::ranges::is_sorted(choice->functions, {}, &ChosenFunction::address));
}

TEST(FunctionChoice, HooksTheCLibrarysMappings) {
  LoadedObject library = c_library();
  library.functions.push_back(at(0x1800, Function::kMmap));
  library.functions.push_back(at(0x1900, Function::kMunmap));
  LoadedObject loader;
  loader.is_loader = true;
  loader.functions = {at(0x9000, Function::kMmap)};
  const auto choice = choose({program({}), library, loader});
  ASSERT_TRUE(choice) << choice.error().message;
  for (const auto& [address, arguments] : {std::pair(0x1800, 6), std::pair(0x1900, 2)}) {
    const ChosenFunction chosen = chosen_at(choice, static_cast<uint64_t>(address));
    EXPECT_EQ(chosen.way, InjectedWay::kMapping);
    EXPECT_EQ(chosen.arguments, static_cast<unsigned>(arguments));
    EXPECT_FALSE(chosen.is_needed);
  }
  EXPECT_EQ(chosen_at(choice, 0x9000).address, 0u);
}

TEST(FunctionChoice, HooksWhatEndsTheProcessAndSetsItsSignalsAndLimits) {
  LoadedObject library = c_library();
  const auto watched = [](uint64_t address, tracer::Watch watch) {
    return FoundFunction{.address = address, .size_bytes = 16, .watch = watch};
  };
  library.functions.push_back(watched(0x1800, tracer::Watch::kExit));
  library.functions.push_back(watched(0x1810, tracer::Watch::kLastExit));
  library.functions.push_back(watched(0x1810, tracer::Watch::kLastExit));  // by another name
  library.functions.push_back(watched(0x1820, tracer::Watch::kInnerAction));
  library.functions.push_back(watched(0x1830, tracer::Watch::kControl));
  library.functions.push_back(watched(0x1840, tracer::Watch::kNumber));
  library.functions.push_back(watched(0x1850, tracer::Watch::kMask));
  const auto choice = choose({program({}), library});
  ASSERT_TRUE(choice) << choice.error().message;
  struct Expected {
    uint64_t address;
    InjectedWay way;
    unsigned arguments;
  };
  for (const Expected& expected :
       {Expected{0x1800, InjectedWay::kExit, 1}, Expected{0x1810, InjectedWay::kLastExit, 1},
        Expected{0x1820, InjectedWay::kSignalAction, 3}, Expected{0x1830, InjectedWay::kControl, 5},
        Expected{0x1840, InjectedWay::kNumber, 6}}) {
    const ChosenFunction chosen = chosen_at(choice, expected.address);
    EXPECT_EQ(chosen.way, expected.way) << expected.address;
    EXPECT_EQ(chosen.arguments, expected.arguments) << expected.address;
    EXPECT_FALSE(chosen.is_needed);
  }
  EXPECT_EQ(choice->functions.size(), 8u);
}

TEST(FunctionChoice, HooksSigactionItselfWhereThatIsAllThatIsExported) {
  const auto watched = [](uint64_t address, tracer::Watch watch) {
    return FoundFunction{.address = address, .size_bytes = 16, .watch = watch};
  };
  LoadedObject library = c_library();
  library.functions.push_back(watched(0x1800, tracer::Watch::kAction));
  library.functions.push_back(watched(0x1800, tracer::Watch::kAction));  // by another name
  EXPECT_EQ(chosen_at(choose({program({}), library}), 0x1800).way, InjectedWay::kSignalAction);
  library.functions.push_back(watched(0x1820, tracer::Watch::kInnerAction));
  EXPECT_EQ(chosen_at(choose({program({}), library}), 0x1800).address, 0u);
  EXPECT_EQ(chosen_at(choose({program({}), library}), 0x1820).way, InjectedWay::kSignalAction);
}

TEST(FunctionChoice, HooksAllAllocators) {
  const auto choice = choose({program({}), allocator(), c_library(), cpp_library()}, 0x8000);
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->allocators, 2u);
  EXPECT_EQ(chosen_at(choice, kMalloc).function, Function::kMalloc);
  EXPECT_EQ(chosen_at(choice, 0x8100).function, Function::kFreeOrDelete);
  EXPECT_EQ(chosen_at(choice, 0x8200).function, Function::kNewOrNewArray);
  EXPECT_EQ(chosen_at(choice, 0x6000).call, 0x8000u);  // what the C++ library's calls reach
}

// Nobody may wait for an operator new that throws.
TEST(FunctionChoice, CallsMallocInPlaceOfEachOperatorNew) {
  for (const auto& choice : {choose({program({}), allocator(), c_library(), cpp_library()}, 0x8000),
                             choose({program({at(0x100, Function::kNew)}), allocator(), c_library()}, 0x8000)}) {
    ASSERT_TRUE(choice);
    EXPECT_EQ(chosen_at(choice, 0x8200).call, 0x8000u);
  }
}

TEST(FunctionChoice, RecordsOperatorsPlainlyWhereTheProgramHasItsOwn) {
  const auto choice = choose({program({at(0x100, Function::kNew)}), allocator(), c_library(), cpp_library()}, 0x8000);
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_THAT(choice->why_plain, HasSubstr("program"));
  EXPECT_EQ(chosen_at(choice, 0x100).address, 0u);
  EXPECT_EQ(chosen_at(choice, 0x6000).address, 0u);  // it calls malloc
  EXPECT_EQ(chosen_at(choice, 0x8200).function, Function::kMallocOrNew);
}

TEST(FunctionChoice, RecordsOperatorsPlainlyWhereItIsntKnownWhatTheyCall) {
  const auto choice = choose({program({}), allocator(), c_library(), cpp_library()}, 0);
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_NE(choice->why_plain, "");
}

TEST(FunctionChoice, RefusesOperatorsWhoseBlocksArentMallocs) {
  LoadedObject own = allocator();
  own.functions[2].address = 0x8180;
  EXPECT_TRUE(choose({program({}), own, c_library()}, 0x8000, true));
  const auto refused = choose({program({}), own, c_library()}, 0x8000, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("isn't its free"));
}

TEST(FunctionChoice, RefusesFunctionsThatAreChosenAtTheStart) {
  LoadedObject own = allocator();
  own.functions[0].watch = tracer::Watch::kResolver;
  const auto refused = choose({program({}), own, c_library()});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("IFUNC"));
}

// As mimalloc's and tcmalloc's.
TEST(FunctionChoice, KnowsHowManyArgumentsFunctionsHave) {
  const auto choice = choose({program({}), allocator(), c_library()}, 0x8000);
  EXPECT_EQ(chosen_at(choice, kMalloc).arguments, 1u);
  EXPECT_EQ(chosen_at(choice, kAligned).arguments, 2u);
}

}  // namespace
}  // namespace heaptap::inject
