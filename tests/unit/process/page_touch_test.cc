// Pages that aren't there: which of them are known, and that nobody waits for what doesn't come.
#include "capture/process/page_touch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <memory>
#include <string>
#include <vector>

#include "capture/process/present_pages.h"
#include "capture/process/process_memory.h"
#include "capture/process/traced_memory.h"
#include "capture/process/userfaults.h"
#include "child_process.h"

namespace heaptap::process {
namespace {

using test::ChildProcess;
constexpr uint64_t kPage = 4096;

TEST(PresentPages, AreThoseThatNobodyHasToBring) {
  struct Case {
    uint64_t entry;
    bool reads;
    bool writes;
    bool untouched;
  };
  for (const Case& each : std::vector<Case>{{0, false, false, true},
                                            {kEntryPresent, true, true, false},
                                            {kEntryPresent | kEntryWatched, true, false, false},
                                            {kEntrySwapped, true, true, false},
                                            {kEntrySwapped | kEntryWatched, false, false, false},
                                            {kEntryWatched, false, false, true}}) {
    EXPECT_EQ(is_there(each.entry, Access::kRead), each.reads) << std::hex << each.entry;
    EXPECT_EQ(is_there(each.entry, Access::kWrite), each.writes) << std::hex << each.entry;
    EXPECT_EQ(is_untouched(each.entry), each.untouched) << std::hex << each.entry;
  }
}

TEST(Userfaults, AreReadOfTheFlagsOfMappings) {
  const auto ranges = parse_userfault_ranges(
      "1000-3000 rw-p 00000000 00:00 0 \nSize: 8 kB\nVmFlags: rd wr mr mw me um \n"
      "3000-4000 rw-p 00000000 00:00 0 [stack]\nVmFlags: rd wr mr mw me ac \n"
      "4000-5000 rw-p 00000000 00:00 0  /tmp/um uw\nVmFlags: rd wr uw\n"
      "5000-6000 rw-p 00000000 00:00 0 \nVmFlags: rd umx\n"
      "nonsense\nVmFlags:");
  EXPECT_EQ(ranges, (std::vector<base::AddressRange>{{0x1000, 0x3000}, {0x4000, 0x5000}}));
  EXPECT_TRUE(parse_userfault_ranges("VmFlags: um\n").empty());
}

// A child whose second and third page (of four) are to be filled by the holder of the descriptor, which never does it. 0: not permitted here.
struct Holder {
  enum class Kind : uint8_t { kItself, kAnother };

  explicit Holder(Kind kind)
      : child([kind](int out) {
          auto* memory = static_cast<uint8_t*>(
              mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
          uint64_t begin = reinterpret_cast<uint64_t>(memory);
          memory[0] = 7;
          memory[3 * kPage] = 8;
          const int faults = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
          uffdio_api api{};
          api.api = UFFD_API;
          uffdio_register range{};
          range.range = {begin + kPage, 2 * kPage};
          range.mode = UFFDIO_REGISTER_MODE_MISSING;
          if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || ioctl(faults, UFFDIO_REGISTER, &range) != 0)
            begin = 0;
          if (kind == Kind::kAnother) {
            const pid_t parent = getpid();
            if (fork() == 0) {
              prctl(PR_SET_PDEATHSIG, SIGKILL);
              while (getppid() == parent) pause();  // it may have been killed before
              _exit(0);
            }
            close(faults);
          }
          [[maybe_unused]] const ssize_t sent = write(out, &begin, sizeof(begin));
          for (;;) pause();
        }) {
    child.receive(address);
  }
  ChildProcess child;
  uint64_t address = 0;
};

TEST(TracedMemory, IsNotReadWhereTheProgramHasToFillIt) {
  const Holder holder(Holder::Kind::kItself);
  if (holder.address == 0) GTEST_SKIP() << "no userfaultfd";
  TracedMemory memory(holder.child.id());
  std::vector<uint8_t> bytes(4 * kPage);
  EXPECT_EQ(memory.read_some(holder.address, bytes.data(), bytes.size()), kPage);
  EXPECT_EQ(bytes[0], 7);
  EXPECT_EQ(memory.read_some(holder.address + 3 * kPage, bytes.data(), 1), 1u);
  EXPECT_FALSE(memory.write(holder.address + 2 * kPage, bytes.data(), 1));
  EXPECT_FALSE(memory.has_given_up());  // it was known
}

// The process has no such descriptor, so that nothing is known of it: the kernel refuses to look at such a page through the file.
TEST(TracedMemory, DoesNotWaitForAnotherProcess) {
  const Holder holder(Holder::Kind::kAnother);
  if (holder.address == 0) GTEST_SKIP() << "no userfaultfd";
  TracedMemory memory(holder.child.id());
  uint8_t byte = 0;
  EXPECT_FALSE(memory.read(holder.address + kPage, &byte, 1));
  EXPECT_FALSE(memory.write(holder.address + kPage, &byte, 1));
  EXPECT_TRUE(memory.read(holder.address, &byte, 1));
  EXPECT_EQ(byte, 7);
}

TEST(ProcessMemory, OfItsOwnThatWasNeverTouchedIsZeroAndStaysUntouched) {
  const ChildProcess child([](int out) {
    auto* memory =
        static_cast<uint8_t*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memory[0] = 7;
    const uint64_t address = reinterpret_cast<uint64_t>(memory);
    [[maybe_unused]] const ssize_t sent = write(out, &address, sizeof(address));
    for (;;) pause();
  });
  uint64_t address = 0;
  ASSERT_TRUE(child.receive(address));
  const ProcessMemory memory(child.id());
  std::vector<uint8_t> bytes(2 * kPage, 0xff);
  EXPECT_EQ(memory.read_some(address, bytes.data(), bytes.size()), bytes.size());
  EXPECT_EQ(bytes[0], 7);
  EXPECT_EQ(bytes[kPage], 0);
  EXPECT_EQ(PresentPages(child.id()).bytes_there(address, 2 * kPage, Access::kRead), kPage);
}

TEST(ProcessMemory, EndsWhereTheProgramHasToFillIt) {
  const Holder holder(Holder::Kind::kItself);
  if (holder.address == 0) GTEST_SKIP() << "no userfaultfd";
  const ProcessMemory memory(holder.child.id());
  std::vector<uint8_t> bytes(4 * kPage);
  EXPECT_EQ(memory.read_some(holder.address, bytes.data(), bytes.size()), kPage);
  EXPECT_EQ(memory.value<uint8_t>(holder.address + 3 * kPage), 8);
  EXPECT_FALSE(memory.has_given_up());
}

TEST(Mapping, IsOfAFileSystemUnlessItIsSharedMemory) {
  const auto map = parse_memory_map(
      "1000-2000 r-xp 00000000 00:2a 2 /mnt/a\n2000-3000 rw-s 00000000 00:01 3 /memfd:a (deleted)\n"
      "3000-4000 rw-s 00000000 00:01 4 /dev/zero (deleted)\n4000-5000 rw-p 00000000 00:00 0 \n");
  ASSERT_EQ(map.size(), 4u);
  EXPECT_TRUE(map[0].is_of_file_system());
  for (size_t i = 1; i < map.size(); ++i) EXPECT_FALSE(map[i].is_of_file_system()) << i;
}

TEST(PageTouch, SaysWhatCame) {
  const ChildProcess child([](int out) {
    const uint64_t address =
        reinterpret_cast<uint64_t>(mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    [[maybe_unused]] const ssize_t sent = write(out, &address, sizeof(address));
    for (;;) pause();
  });
  uint64_t address = 0;
  ASSERT_TRUE(child.receive(address));
  const auto file = std::make_shared<const base::UniqueFd>(
      open(("/proc/" + std::to_string(child.id()) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  PageTouch touch;
  EXPECT_EQ(touch.touch({.memory = file, .address = address}), PageTouch::Outcome::kThere);
  EXPECT_EQ(touch.touch({.memory = file, .address = 4096}), PageTouch::Outcome::kNone);
}

}  // namespace
}  // namespace heaptap::process
