// What of a copy still holds when the process is stopped, by the states of its pages.
#include "capture/scan/copy_plan.h"

#include <gtest/gtest.h>

namespace heaptap::scan {
namespace {

using base::AddressRange;
using process::Mapping;
using process::PageRun;
using process::PageStates;
using Ranges = std::vector<AddressRange>;

Mapping private_memory(AddressRange range) {
  Mapping mapping;
  mapping.range = range;
  mapping.readable = mapping.writable = true;
  return mapping;
}

PageRun unchanged(AddressRange range) {
  return {.range = range, .is_present = true, .is_watched = true, .is_written = false};
}
PageRun written(AddressRange range) {
  return {.range = range, .is_present = true, .is_watched = true, .is_written = true};
}
// Of a mapping that isn't watched: a new one, or one that was moved with its marks.
PageRun unwatched(AddressRange range, bool is_written) {
  return {.range = range, .is_present = true, .is_watched = false, .is_written = is_written};
}

CopyPlan plan_of(Mapping mapping, std::vector<PageRun> runs, const Ranges& copied = {{0x10000, 0x20000}}) {
  mapping.range = {0x10000, 0x20000};
  return plan_copy({mapping}, PageStates(std::move(runs)), copied);
}

TEST(CopyPlan, KeepsWhatIsUnchanged) {
  const CopyPlan plan = plan_of(private_memory({}), {unchanged({0x10000, 0x20000})});
  EXPECT_EQ(plan.kept, (Ranges{{0x10000, 0x20000}}));
  EXPECT_EQ(plan.read, Ranges{});
}

TEST(CopyPlan, ReadsWhatWasWritten) {
  const CopyPlan plan = plan_of(
      private_memory({}), {unchanged({0x10000, 0x13000}), written({0x13000, 0x14000}), unchanged({0x14000, 0x20000})});
  EXPECT_EQ(plan.kept, (Ranges{{0x10000, 0x13000}, {0x14000, 0x20000}}));
  EXPECT_EQ(plan.read, (Ranges{{0x13000, 0x14000}}));
}

TEST(CopyPlan, ReadsWhatWasNeverCopied) {
  const CopyPlan plan =
      plan_of(private_memory({}), {unchanged({0x10000, 0x20000})}, {{0x8000, 0x11000}, {0x12000, 0x13000}});
  EXPECT_EQ(plan.kept, (Ranges{{0x10000, 0x11000}, {0x12000, 0x13000}}));
  EXPECT_EQ(plan.read, (Ranges{{0x11000, 0x12000}, {0x13000, 0x20000}}));
}

// Before Linux 6.13 a page that mremap moves keeps its mark, which later writes don't remove any more.
TEST(CopyPlan, BelievesNoMarkWithoutAWatch) {
  for (const bool is_written : {false, true}) {
    const CopyPlan plan = plan_of(private_memory({}), {unwatched({0x10000, 0x20000}, is_written)});
    EXPECT_EQ(plan.kept, Ranges{});
    EXPECT_EQ(plan.read, (Ranges{{0x10000, 0x20000}}));
  }
}

TEST(CopyPlan, NeedsNoPageThatIsGoneOrOfZeros) {
  PageRun zeros = unwatched({0x18000, 0x19000}, true);
  zeros.is_zeros = true;
  const CopyPlan plan = plan_of(private_memory({}), {unchanged({0x10000, 0x11000}), zeros});
  EXPECT_EQ(plan.kept, (Ranges{{0x10000, 0x11000}}));
  EXPECT_EQ(plan.read, Ranges{});
}

TEST(CopyPlan, KeepsPagesThatWereSwappedOut) {
  PageRun swapped = unchanged({0x10000, 0x20000});
  swapped.is_present = false;
  EXPECT_EQ(plan_of(private_memory({}), {swapped}).kept, (Ranges{{0x10000, 0x20000}}));
}

// The kernel's marks of such pages outlive their contents.
TEST(CopyPlan, ReadsAllOwnPagesOfAPrivateFile) {
  Mapping mapping = private_memory({});
  mapping.inode = 7;
  mapping.name = "/data";
  PageRun pristine = unchanged({0x18000, 0x20000});
  pristine.is_file = true;
  const CopyPlan plan = plan_of(mapping, {unchanged({0x10000, 0x18000}), pristine});
  EXPECT_EQ(plan.kept, Ranges{});
  EXPECT_EQ(plan.read, (Ranges{{0x10000, 0x18000}}));
}

TEST(CopyPlan, ReadsSharedMemoryThatOthersMayWrite) {
  Mapping mapping = private_memory({});
  mapping.shared = true;
  mapping.inode = 7;
  mapping.name = "/dev/shm/queue";
  PageRun page = unchanged({0x10000, 0x20000});
  page.is_file = true;
  EXPECT_EQ(plan_of(mapping, {page}).read, (Ranges{{0x10000, 0x20000}}));
  mapping.writable = false;
  EXPECT_EQ(plan_of(mapping, {page}).read, Ranges{}) << "a scan doesn't search it";
  mapping.writable = true;
  mapping.name = "/dev/dri/card0";
  EXPECT_EQ(plan_of(mapping, {page}).read, Ranges{}) << "a device";
}

TEST(CopyPlan, ReadsStackVdsoAndUnreadableMemoryWhileItIsStopped) {
  Mapping stack = private_memory({});
  stack.name = "[stack]";
  EXPECT_EQ(plan_of(stack, {unchanged({0x10000, 0x20000})}).read, (Ranges{{0x10000, 0x20000}}));
  Mapping guarded = private_memory({});
  guarded.readable = guarded.writable = false;
  EXPECT_EQ(plan_of(guarded, {unchanged({0x10000, 0x20000})}).read, (Ranges{{0x10000, 0x20000}}));
  Mapping code = private_memory({});
  code.name = "[vdso]";
  EXPECT_EQ(plan_of(code, {}).read, (Ranges{{0x10000, 0x20000}}));
  code.name = "[vvar]";
  EXPECT_EQ(plan_of(code, {unchanged({0x10000, 0x20000})}).read, Ranges{});
}

TEST(CopyPlan, DividesRunsThatReachOverMappings) {
  Mapping file = private_memory({0x14000, 0x20000});
  file.inode = 7;
  const CopyPlan plan = plan_copy({private_memory({0x10000, 0x14000}), file},
                                  PageStates({unchanged({0x8000, 0x30000})}), Ranges{{0x0, 0x40000}});
  EXPECT_EQ(plan.kept, (Ranges{{0x10000, 0x14000}}));
  EXPECT_EQ(plan.read, (Ranges{{0x14000, 0x20000}}));
}

}  // namespace
}  // namespace heaptap::scan
