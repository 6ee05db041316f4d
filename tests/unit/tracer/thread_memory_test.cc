// Emulated instructions read and write what the program may, no more and no less.
#include "capture/tracer/thread_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace heaptap {
namespace {

constexpr size_t kPage = 4096;

// A stopped child with the same memory as this process.
class StoppedChild {
 public:
  StoppedChild() : id_(fork()) {
    if (id_ == 0) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      raise(SIGSTOP);
      _exit(0);
    }
    waitpid(id_, nullptr, 0);
  }
  ~StoppedChild() {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  StoppedChild(const StoppedChild&) = delete;
  StoppedChild& operator=(const StoppedChild&) = delete;

  [[nodiscard]] pid_t id() const { return id_; }
  [[nodiscard]] uint64_t stack_begin() const {
    std::ifstream maps("/proc/" + std::to_string(id_) + "/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.ends_with("[stack]")) return std::stoull(line, nullptr, 16);
    }
    return 0;
  }

 private:
  pid_t id_;
};

uint64_t map_page(int protection) {
  return reinterpret_cast<uint64_t>(mmap(nullptr, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

class ProgramMemoryTest : public testing::Test {
 protected:
  uint64_t writable_ = map_page(PROT_READ | PROT_WRITE);
  uint64_t read_only_ = map_page(PROT_READ);
  uint64_t closed_ = map_page(PROT_NONE);
  StoppedChild child_;
  process::TracedMemory file_{child_.id()};
  tracer::ThreadMemory memory_{child_.id(), file_};
  uint64_t word_ = 0x1234;
};

TEST_F(ProgramMemoryTest, WritesWhatIsWritable) {
  ASSERT_TRUE(memory_.write(writable_, &word_, sizeof(word_)));
  uint64_t read_back = 0;
  ASSERT_TRUE(memory_.read(writable_, &read_back, sizeof(read_back)));
  EXPECT_EQ(read_back, word_);
}

TEST_F(ProgramMemoryTest, KeepsToTheProtectionOfPages) {
  EXPECT_FALSE(memory_.write(read_only_, &word_, sizeof(word_)));
  EXPECT_TRUE(memory_.read(read_only_, &word_, sizeof(word_)));
  EXPECT_FALSE(memory_.write(closed_, &word_, sizeof(word_)));
  EXPECT_FALSE(memory_.read(closed_, &word_, sizeof(word_)));
  EXPECT_FALSE(memory_.read(8, &word_, sizeof(word_)));
}

TEST(ThreadMemory, ReadsUpToWhatTheProgramCannotRead) {
  constexpr size_t kReadable = 40 * kPage;
  auto* pages = static_cast<uint8_t*>(
      mmap(nullptr, kReadable + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::fill_n(pages, kReadable + kPage, uint8_t{7});
  mprotect(pages + kReadable, kPage, PROT_NONE);
  const StoppedChild child;
  const process::TracedMemory file(child.id());
  std::vector<uint8_t> copy(kReadable + kPage);
  const auto begin = reinterpret_cast<uint64_t>(pages);
  EXPECT_EQ(file.read_some(begin, copy.data(), copy.size()), copy.size());
  std::ranges::fill(copy, uint8_t{0});
  EXPECT_EQ(tracer::ThreadMemory::read_some(child.id(), file, begin + 8, copy.data(), copy.size()), kReadable - 8);
  EXPECT_EQ(std::ranges::count(copy, uint8_t{7}), static_cast<ptrdiff_t>(kReadable - 8));
  EXPECT_EQ(tracer::ThreadMemory::read_some(child.id(), file, begin + kReadable, copy.data(), 8), 0U);
  munmap(pages, kReadable + kPage);
}

TEST_F(ProgramMemoryTest, GrowsTheStackAsAPushDoes) {
  const uint64_t below = child_.stack_begin() - sizeof(word_);
  EXPECT_TRUE(memory_.write(below, &word_, sizeof(word_)));
  EXPECT_LE(child_.stack_begin(), below);
}

}  // namespace
}  // namespace heaptap
