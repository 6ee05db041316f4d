// A copy of a running process's memory: whatever the process does while it is made, it has what the process has when it is stopped.
#include "capture/scan/memory_copy.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "capture/process/memory_map.h"
#include "capture/process/process_memory.h"
#include "capture/process/stopped_process.h"
#include "capture/tracer/userfault_maker.h"
#include "child_process.h"
#include "common/base/pages.h"

namespace heaptap::scan {
namespace {

using base::AddressRange;
using test::ChildProcess;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBytes = uint64_t{16} << 20;
constexpr uint64_t kPages = kBytes / kPage;

// What the child has; the second area is private memory as the first one.
struct Areas {
  uint8_t* first;
  uint8_t* second;
  uint8_t* shared;  // with another process, which changes it
  uint8_t* of_file;
};

uint8_t* map_area(void* where, int flags, int file = -1) {
  return static_cast<uint8_t*>(mmap(where, kBytes, PROT_READ | PROT_WRITE, flags, file, 0));
}

void fill(uint8_t* area, uint8_t value, uint64_t every = 1) {
  for (uint64_t page = 0; page < kPages; page += every) area[page * kPage + page % kPage] = value;
}

// A process that does one thing when it is told to.
class Changing {
 public:
  explicit Changing(std::function<void(const Areas&)> change) {
    if (pipe(orders_) != 0) std::abort();
    child_.emplace([change = std::move(change), this](int out) {
      const Areas areas = make_areas();
      char order = 0;
      for (;;) {
        if (write(out, &areas, sizeof(areas)) < 0 || read(orders_[0], &order, 1) != 1) _exit(1);
        change(areas);
      }
    });
    is_ready_ = child_->receive(areas_);
  }
  ~Changing() {
    child_.reset();
    close(orders_[0]);
    close(orders_[1]);
  }

  // Returns when it has changed.
  void change() {
    has_changed_ = true;
    Areas again;
    if (write(orders_[1], "x", 1) != 1 || !child_->receive(again)) is_ready_ = false;
  }
  [[nodiscard]] bool is_ready() const { return is_ready_; }
  [[nodiscard]] bool has_changed() const { return has_changed_; }
  [[nodiscard]] pid_t id() const { return child_->id(); }
  [[nodiscard]] const Areas& areas() const { return areas_; }

 private:
  static Areas make_areas() {
    const int file = memfd_create("area", 0);
    if (ftruncate(file, kBytes) != 0) _exit(1);
    Areas areas{.first = map_area(nullptr, MAP_PRIVATE | MAP_ANONYMOUS),
                .second = map_area(nullptr, MAP_PRIVATE | MAP_ANONYMOUS),
                .shared = map_area(nullptr, MAP_SHARED | MAP_ANONYMOUS),
                .of_file = map_area(nullptr, MAP_PRIVATE, file)};
    for (uint8_t* area : {areas.first, areas.second, areas.shared, areas.of_file}) fill(area, 1);
    return areas;
  }

  int orders_[2];
  std::optional<ChildProcess> child_;
  Areas areas_{};
  bool is_ready_ = false;
  bool has_changed_ = false;
};

std::vector<uint8_t> bytes_of(const process::ProgramMemory& memory, AddressRange range) {
  std::vector<uint8_t> bytes(range.size());
  bytes.resize(memory.read_some(range.begin, bytes.data(), bytes.size()));
  return bytes;
}

std::vector<AddressRange> ranges_of(const std::vector<process::Mapping>& map) {
  std::vector<AddressRange> ranges;
  for (const process::Mapping& mapping : map) ranges.push_back(mapping.range);
  return ranges;
}

// All that a scan reads of the stopped process.
void expect_same(CopiedMemory& copy, process::ProcessMemory& now) {
  ASSERT_EQ(ranges_of(copy.map()), ranges_of(now.map()));
  for (const process::Mapping& mapping : now.map()) {
    SCOPED_TRACE(mapping.name + " " + std::to_string(mapping.range.begin));
    if (mapping.range.begin >= uint64_t{1} << 63 || mapping.name.starts_with("[vvar")) continue;
    if (mapping.shared && !mapping.writable) continue;
    const auto touched = now.touched_ranges(mapping.range.begin, mapping.range.end);
    ASSERT_EQ(copy.touched_ranges(mapping.range.begin, mapping.range.end), touched);
    for (const AddressRange& part : touched) ASSERT_TRUE(bytes_of(copy, part) == bytes_of(now, part)) << part.begin;
    if (mapping.shared || mapping.name.starts_with("/memfd:")) continue;
    const AddressRange some{mapping.range.begin, std::min(mapping.range.end, mapping.range.begin + kBytes)};
    ASSERT_TRUE(bytes_of(copy, some) == bytes_of(now, some));
  }
}

size_t count_watched_mappings(pid_t process) {
  const std::string text = base::read_small_file("/proc/" + std::to_string(process) + "/smaps", size_t{64} << 20);
  size_t count = 0;
  for (size_t at = text.find("VmFlags:"); at != text.npos; at = text.find("VmFlags:", at + 1)) {
    if (text.substr(at, text.find('\n', at) - at).find(" uw") != std::string::npos) ++count;
  }
  return count;
}

class MemoryCopyTest : public testing::Test {
 protected:
  void watch(pid_t process) {
    auto userfault = tracer::make_userfault_of(process);
    if (!userfault) GTEST_SKIP() << userfault.error().message;
    auto watch = process::WriteWatch::create(*std::move(userfault));
    if (!watch) GTEST_SKIP() << watch.error().message;
    watch_.emplace(*std::move(watch));
  }

  // When the change comes.
  enum class Moment { kBeforeCopying, kAfterCopying };

  void begin(Changing& process, Moment moment) {
    const auto first = reinterpret_cast<uint64_t>(process.areas().first);
    MemoryCopy::Limits limits{.least_bytes = 0};
    if (moment == Moment::kBeforeCopying) {
      limits.is_watched_for_test = [&process, first](AddressRange part) {
        if (part.contains(first) && !process.has_changed()) process.change();
      };
    }
    auto copy = MemoryCopy::begin(*watch_, process.id(), limits);
    ASSERT_TRUE(copy) << copy.error().message;
    copy_ = *std::move(copy);
    ASSERT_TRUE(copy_);
    if (moment == Moment::kAfterCopying) process.change();
  }

  std::unique_ptr<CopiedMemory> finish(pid_t process) {
    stopped_.emplace(process::StoppedProcess::stop(process).value());
    bool has_given_up = false;
    auto copied = copy_->finish(*stopped_, has_given_up);
    EXPECT_TRUE(copied) << copied.error().message;
    EXPECT_FALSE(has_given_up);
    return copied ? *std::move(copied) : nullptr;
  }

  // Whenever the change comes, the copy is what the stopped process has. Returns what was read while it was stopped.
  uint64_t expect_same_after(const std::function<void(const Areas&)>& change) {
    uint64_t most = 0;
    for (const Moment moment : {Moment::kBeforeCopying, Moment::kAfterCopying}) {
      SCOPED_TRACE(moment == Moment::kBeforeCopying ? "changed before it is copied" : "changed after it was copied");
      Changing process(change);
      EXPECT_TRUE(process.is_ready());
      watch(process.id());
      if (IsSkipped()) return 0;
      begin(process, moment);
      if (HasFatalFailure()) return 0;
      EXPECT_TRUE(process.has_changed());
      const auto copied = finish(process.id());
      if (copied == nullptr) return 0;
      process::ProcessMemory now(process.id());
      expect_same(*copied, now);
      most = std::max(most, copied->again_bytes());
      stopped_.reset();
      copy_.reset();
      EXPECT_EQ(count_watched_mappings(process.id()), 0u);
      watch_.reset();
    }
    return most;
  }

  std::optional<process::WriteWatch> watch_;
  std::unique_ptr<MemoryCopy> copy_;
  std::optional<process::StoppedProcess> stopped_;
};

// Both private areas are kept; what is shared, of a file, or the test program's own data is read again.
TEST_F(MemoryCopyTest, OfAProcessThatDoesNothingIsReadOnce) {
  const uint64_t again_bytes = expect_same_after([](const Areas&) {});
  EXPECT_LT(again_bytes, 3 * kBytes);
}

TEST_F(MemoryCopyTest, HasPagesThatWereWritten) {
  const uint64_t again_bytes = expect_same_after([](const Areas& areas) { fill(areas.first, 2, 4); });
  EXPECT_LT(again_bytes, 3 * kBytes + kBytes / 2);
}

TEST_F(MemoryCopyTest, HasMemoryThatMoved) {
  expect_same_after([](const Areas& areas) {
    auto* const there =
        static_cast<uint8_t*>(mremap(areas.first, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr));
    if (there == MAP_FAILED) _exit(1);
    there[5 * kPage] = 3;
  });
}

TEST_F(MemoryCopyTest, HasMemoryThatMovedOverOther) {
  expect_same_after([](const Areas& areas) {
    fill(areas.second, 7, 3);
    if (mremap(areas.second, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, areas.first) == MAP_FAILED) _exit(1);
    areas.first[9 * kPage] = 8;
  });
}

TEST_F(MemoryCopyTest, HasMemoryThatMovedAwayAndBack) {
  expect_same_after([](const Areas& areas) {
    uint8_t* const place = map_area(nullptr, MAP_PRIVATE | MAP_ANONYMOUS);
    if (mremap(areas.first, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) _exit(1);
    fill(place, 4, 5);
    if (mremap(place, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, areas.first) == MAP_FAILED) _exit(1);
  });
}

TEST_F(MemoryCopyTest, HasANewMappingInPlaceOfTheOldOne) {
  expect_same_after([](const Areas& areas) {
    munmap(areas.first, kBytes);
    map_area(areas.first, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED);
    areas.first[7 * kPage] = 9;
  });
}

TEST_F(MemoryCopyTest, HasAFileInPlaceOfTheOldMapping) {
  expect_same_after([](const Areas& areas) {
    const int file = memfd_create("other", 0);
    if (ftruncate(file, kBytes) != 0) _exit(1);
    map_area(areas.first, MAP_SHARED | MAP_FIXED, file);
    fill(areas.first, 11, 2);
  });
}

TEST_F(MemoryCopyTest, LacksMemoryThatIsGone) {
  expect_same_after([](const Areas& areas) { munmap(areas.first + kBytes / 4, kBytes / 2); });
}

TEST_F(MemoryCopyTest, HasZerosWherePagesWereDropped) {
  expect_same_after([](const Areas& areas) {
    for (uint8_t* area : {areas.first, areas.of_file}) {
      madvise(area + kBytes / 4, kBytes / 2, MADV_DONTNEED);
      area[kBytes / 2] = 12;
    }
  });
}

TEST_F(MemoryCopyTest, HasPagesThatMayBeDropped) {
  expect_same_after([](const Areas& areas) {
    madvise(areas.first, kBytes / 2, MADV_FREE);
    areas.first[3 * kPage] = 13;
  });
}

TEST_F(MemoryCopyTest, HasItsOwnPagesAfterAFork) {
  expect_same_after([](const Areas& areas) {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      fill(areas.first, 14);
      for (;;) pause();
    }
    fill(areas.first, 15, 8);
  });
}

TEST_F(MemoryCopyTest, HasWhatAnotherProcessWroteInSharedMemory) {
  expect_same_after([](const Areas& areas) {
    const pid_t other = fork();
    if (other == 0) {
      fill(areas.shared, 16, 3);
      _exit(0);
    }
    waitpid(other, nullptr, 0);
  });
}

TEST_F(MemoryCopyTest, HasMemoryThatBecameUnreadableOrCode) {
  expect_same_after([](const Areas& areas) {
    areas.first[2 * kPage] = 17;
    mprotect(areas.first, kBytes / 2, PROT_NONE);
    mprotect(areas.second, kBytes / 2, PROT_READ | PROT_EXEC);
  });
}

TEST_F(MemoryCopyTest, HasAHeapThatGrew) {
  expect_same_after([](const Areas&) {
    // No call of sbrk, which other tests' children would then seem to share the heap by.
    const long end = syscall(SYS_brk, 0);
    if (syscall(SYS_brk, end + static_cast<long>(kBytes)) == end) _exit(1);
    for (uint64_t at = 0; at < kBytes; at += kPage) reinterpret_cast<uint8_t*>(end)[at] = 18;
  });
}

TEST_F(MemoryCopyTest, HasHugePagesThatWereWritten) {
  expect_same_after([](const Areas& areas) {
    madvise(areas.second, kBytes, MADV_HUGEPAGE);
    madvise(areas.second, kBytes, MADV_DONTNEED);
    fill(areas.second, 19);
  });
}

TEST_F(MemoryCopyTest, IsNoneOfAProgramThatIsAnotherOne) {
  Changing process([](const Areas&) {});
  ASSERT_TRUE(process.is_ready());
  watch(process.id());
  if (IsSkipped()) return;
  begin(process, Moment::kAfterCopying);
  ChildProcess other([](int out) { dup2(out, 1), execl("/bin/sh", "sh", "-c", "echo; kill -STOP $$", nullptr); });
  ASSERT_TRUE(test::wait_for_state(other.id(), "T"));
  const auto stopped = process::StoppedProcess::stop(other.id());
  bool has_given_up = false;
  const auto copied = copy_->finish(*stopped, has_given_up);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().message, "it loaded a library in between");
}

TEST_F(MemoryCopyTest, LeavesTheMemoryMapAsItWas) {
  Changing process([](const Areas& areas) { fill(areas.first, 20, 2); });
  ASSERT_TRUE(process.is_ready());
  const auto before = ranges_of(process::read_memory_map(process.id()));
  watch(process.id());
  if (IsSkipped()) return;
  begin(process, Moment::kAfterCopying);
  EXPECT_GT(count_watched_mappings(process.id()), 0u);
  copy_->end();
  EXPECT_TRUE(watch_->is_open());
  EXPECT_EQ(count_watched_mappings(process.id()), 0u);
  EXPECT_EQ(ranges_of(process::read_memory_map(process.id())), before);
}

TEST_F(MemoryCopyTest, LeavesNothingWhenItsOwnerIsKilled) {
  Changing process([](const Areas&) {});
  ASSERT_TRUE(process.is_ready());
  watch(process.id());
  if (IsSkipped()) return;
  ChildProcess owner([&](int out) {
    begin(process, Moment::kAfterCopying);
    [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
    for (;;) pause();
  });
  watch_.reset();  // the owner has a copy of the descriptor
  char ready;
  ASSERT_TRUE(owner.receive(ready));
  EXPECT_GT(count_watched_mappings(process.id()), 0u);
  kill(owner.id(), SIGKILL);
  owner.wait();
  EXPECT_EQ(count_watched_mappings(process.id()), 0u);
  process.change();
  EXPECT_TRUE(process.is_ready());
}

TEST_F(MemoryCopyTest, IsNotMadeOfMoreThanThereIsRoomFor) {
  Changing process([](const Areas&) {});
  ASSERT_TRUE(process.is_ready());
  watch(process.id());
  if (IsSkipped()) return;
  const auto copy = MemoryCopy::begin(*watch_, process.id(), {.least_bytes = 0, .most_bytes = kBytes});
  ASSERT_FALSE(copy);
  EXPECT_NE(copy.error().message.find("more than half of what is free"), std::string::npos);
  EXPECT_EQ(count_watched_mappings(process.id()), 0u);
  const auto small = MemoryCopy::begin(*watch_, process.id(), {.least_bytes = uint64_t{1} << 40});
  ASSERT_TRUE(small);
  EXPECT_EQ(*small, nullptr);
}

}  // namespace
}  // namespace heaptap::scan
