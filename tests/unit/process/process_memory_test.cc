// Another process's memory: what is mapped, what was touched, and its bytes.
#include "capture/process/process_memory.h"
#include "common/base/small_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "capture/process/stopped_process.h"
#include "child_process.h"
#include "kernel_facts.h"

namespace heaptap::process {
namespace {

using test::ChildProcess;
constexpr uint64_t kPage = 4096;

TEST(MemoryMap, IsReadLineByLine) {
  const auto map = parse_memory_map(
      "55d0c0000000-55d0c0001000 r--p 00002000 fe:01 77                         /usr/bin/a b (deleted)\n"
      "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
      "7ffc00000000-7ffc00021000 rw-s 00000000 00:00 0                          [stack]\n");
  ASSERT_EQ(map.size(), 3u);
  EXPECT_EQ(map[0].range, (base::AddressRange{0x55d0c0000000, 0x55d0c0001000}));
  EXPECT_EQ(map[0].name, "/usr/bin/a b (deleted)");
  EXPECT_EQ(map[0].offset, 0x2000u);
  EXPECT_EQ(map[0].inode, 77u);
  EXPECT_TRUE(map[0].readable && !map[0].writable && !map[0].shared);
  EXPECT_TRUE(map[1].writable && map[1].name.empty());
  EXPECT_TRUE(map[2].shared && map[2].is_kernels("[stack]"));
}

TEST(MemoryMap, LeavesOutWhatMakesNoSense) {
  const auto map = parse_memory_map(
      "nonsense\n"
      "2000-1000 rw-p 00000000 00:00 0 \n"
      "1000-2000\n"
      "1000-2000 rw-p\n"
      "4000-5000 rw-p 00000000 00:00 9 [heap]\n"
      "3000-4000 rw-p 00000000 00:00 0 \n"
      "ffffffffffffffffff-1 rw-p 0 0:0 0");
  ASSERT_EQ(map.size(), 1u);
  EXPECT_FALSE(map[0].is_kernels("[heap]"));  // a file of that name
}

struct Area {
  uint64_t begin;
  uint64_t bytes;
};

// A child that prepares memory and waits.
template <typename Prepare>
ChildProcess child_with(Prepare prepare) {
  return ChildProcess([=](int out) {
    const Area area = prepare();
    [[maybe_unused]] const ssize_t sent = write(out, &area, sizeof(area));
    for (;;) pause();
  });
}

void* map_private(uint64_t bytes) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

uint64_t page_table_kilobytes(pid_t process) {
  const std::string status = base::read_small_file("/proc/" + std::to_string(process) + "/status");
  return std::strtoull(status.c_str() + status.find("VmPTE:") + 6, nullptr, 10);
}

TEST(ProcessMemory, OfATebibyteThatWasHardlyTouchedGivesTheTouchedPages) {
  constexpr uint64_t kBytes = uint64_t{1} << 40;
  const ChildProcess child = child_with([] {
    auto* memory = static_cast<char*>(map_private(kBytes));
    memory[7 * kPage] = 1;
    memory[kBytes / 2] = 1;
    memory[kBytes - 1] = 1;
    [[maybe_unused]] static volatile char zero = memory[kBytes / 4];  // read: the page of zeros
    return Area{reinterpret_cast<uint64_t>(memory), kBytes};
  });
  Area area;
  ASSERT_TRUE(child.receive(area));
  ProcessMemory memory(child.id());
  if (memory.pages().way() != PageMap::Way::kScan) GTEST_SKIP() << "this kernel can't";
  const uint64_t before = page_table_kilobytes(child.id());
  const auto touched = memory.touched_ranges(area.begin, area.begin + area.bytes);
  uint64_t bytes = 0;
  for (const base::AddressRange& range : touched) bytes += range.size();
  std::vector<uint64_t> expected{7 * kPage, kBytes / 2, kBytes - 1};
  if (test::kernel_gives_pages_to_readers()) expected.insert(expected.begin() + 1, kBytes / 4);
  EXPECT_LE(bytes, expected.size() * (uint64_t{2} << 20));  // a page may be a huge one
  ASSERT_EQ(touched.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(touched[i].contains(area.begin + expected[i])) << i;
  const uint64_t end = area.begin + area.bytes;
  EXPECT_EQ(memory.skip_untouched(area.begin, end), touched[0].begin);
  EXPECT_EQ(memory.skip_untouched(touched[0].end + 5, end), touched[1].begin);
  EXPECT_EQ(memory.skip_untouched(touched[touched.size() - 2].end, end - 2 * kPage), end - 2 * kPage);
  EXPECT_EQ(memory.skip_untouched(end - 1, end), end - 1);
  EXPECT_EQ(page_table_kilobytes(child.id()), before);
  memory.pages().use_for_test(PageMap::Way::kEntries);
  EXPECT_EQ(memory.skip_untouched(area.begin, end), area.begin) << "it can't say";
}

TEST(ProcessMemory, GivesTheSamePagesOnAKernelThatCannotScan) {
  constexpr uint64_t kBytes = uint64_t{1} << 30;
  const ChildProcess child = child_with([] {
    auto* memory = static_cast<char*>(map_private(kBytes));
    madvise(memory, kBytes, MADV_NOHUGEPAGE);
    for (uint64_t i = 0; i < 2000; i += 2) memory[i * kPage] = 1;
    return Area{reinterpret_cast<uint64_t>(memory), kBytes};
  });
  Area area;
  ASSERT_TRUE(child.receive(area));
  ProcessMemory memory(child.id());
  const auto scanned = memory.touched_ranges(area.begin, area.begin + area.bytes);
  memory.pages().use_for_test(PageMap::Way::kEntries);
  const auto read = memory.touched_ranges(area.begin, area.begin + area.bytes);
  EXPECT_EQ(read.size(), 1000u);
  EXPECT_EQ(scanned, read);
}

TEST(ProcessMemory, LeavesOutWhatAPrivateMappingsFileHas) {
  const ChildProcess child = child_with([] {
    const int file = open("/proc/self/exe", O_RDONLY);
    auto* memory = static_cast<char*>(mmap(nullptr, 8 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
    for (uint64_t i = 0; i < 8; ++i) [[maybe_unused]]
      volatile char seen = memory[i * kPage];
    memory[3 * kPage] = 1;
    return Area{reinterpret_cast<uint64_t>(memory), 8 * kPage};
  });
  Area area;
  ASSERT_TRUE(child.receive(area));
  ProcessMemory memory(child.id());
  const std::vector<base::AddressRange> expected{{area.begin + 3 * kPage, area.begin + 4 * kPage}};
  EXPECT_EQ(memory.touched_ranges(area.begin, area.begin + area.bytes), expected);
}

TEST(ProcessMemory, ReadsUpToTheFirstByteThatIsNotThere) {
  const ChildProcess child = child_with([] {
    auto* memory = static_cast<char*>(map_private(4 * kPage));
    memset(memory, 'a', 4 * kPage);
    munmap(memory + 2 * kPage, kPage);
    return Area{reinterpret_cast<uint64_t>(memory), 4 * kPage};
  });
  Area area;
  ASSERT_TRUE(child.receive(area));
  const ProcessMemory memory(child.id());
  std::vector<uint8_t> bytes(3 * kPage);
  EXPECT_EQ(memory.read_some(area.begin + 100, bytes.data(), bytes.size()), 2 * kPage - 100);
  EXPECT_EQ(bytes[0], 'a');
  EXPECT_EQ(memory.read_some(0, bytes.data(), bytes.size()), 0u);
  EXPECT_EQ(memory.value<uint64_t>(area.begin + 2 * kPage - 4), std::nullopt);
}

TEST(ProcessMemory, ReadsWhatTheProcessMayNot) {
  const ChildProcess child = child_with([] {
    auto* memory = static_cast<char*>(map_private(3 * kPage));
    memset(memory, 'a', 3 * kPage);
    mprotect(memory + kPage, kPage, PROT_NONE);
    return Area{reinterpret_cast<uint64_t>(memory), 3 * kPage};
  });
  Area area;
  ASSERT_TRUE(child.receive(area));
  const ProcessMemory memory(child.id());
  std::vector<uint8_t> bytes(3 * kPage);
  EXPECT_EQ(memory.read_some(area.begin, bytes.data(), bytes.size()), 3 * kPage);
  EXPECT_EQ(bytes[2 * kPage - 1], 'a');
}

}  // namespace
}  // namespace heaptap::process
