// A traced process's memory, read and written from outside.
#include "capture/process/traced_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include <cstring>

#include "child_process.h"

namespace heaptap::process {
namespace {

using test::ChildProcess;

TEST(TracedMemory, WritesIntoCode) {
  static constexpr uint8_t kReturn[] = {0xc3};
  const ChildProcess child([](int out) {
    auto* code = static_cast<uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    memset(code, 0x90, 4096);
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    munmap(code + 4096, 4096);
    [[maybe_unused]] const ssize_t sent = write(out, static_cast<const void*>(&code), sizeof(code));
    for (;;) pause();
  });
  uint64_t address = 0;
  ASSERT_TRUE(child.receive(address));
  ASSERT_EQ(ptrace(PTRACE_SEIZE, child.id(), nullptr, nullptr), 0);
  TracedMemory memory(child.id());
  ASSERT_TRUE(memory.is_open());
  EXPECT_TRUE(memory.write(address + 5, kReturn, 1));
  uint8_t bytes[8];
  EXPECT_TRUE(memory.read(address, bytes, sizeof(bytes)));
  EXPECT_EQ(bytes[4], 0x90);
  EXPECT_EQ(bytes[5], 0xc3);
  EXPECT_EQ(memory.read_some(address + 4092, bytes, 8), 4u);
  EXPECT_FALSE(memory.read(address + 4092, bytes, 8));
  EXPECT_FALSE(memory.write(address + 4096, kReturn, 1));
}

TEST(TracedMemory, OfAProcessThatIsNotThereIsNotOpen) {
  TracedMemory memory(1 << 30);
  EXPECT_FALSE(memory.is_open());
  uint64_t word = 0;
  EXPECT_FALSE(memory.read(4096, &word, sizeof(word)));
  EXPECT_FALSE(memory.write(4096, &word, sizeof(word)));
}

}  // namespace
}  // namespace heaptap::process
