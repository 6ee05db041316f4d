// Who has a log's memory, seen by its owner.
#include "capture/log/log_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "child_process.h"

namespace heaptap::log {
namespace {

// This process has the log as a program would that was given it.
class LogMemoryTest : public testing::Test {
 protected:
  void map() {
    const base::UniqueFd descriptor = log_->descriptor_for_mapping();
    program_ = mmap(nullptr, log_->bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
    ASSERT_NE(program_, MAP_FAILED);
  }
  void unmap() { ASSERT_EQ(munmap(program_, log_->bytes()), 0); }

  std::unique_ptr<LogMemory> log_ = *LogMemory::create(LogOptions{});
  void* program_ = MAP_FAILED;
};

TEST_F(LogMemoryTest, IsMappedElsewhereWhileTheProgramHasIt) {
  EXPECT_FALSE(log_->is_mapped_elsewhere());
  map();
  EXPECT_TRUE(log_->is_mapped_elsewhere());
  EXPECT_TRUE(log_->is_mapped_elsewhere());  // looking changes nothing
  unmap();
  EXPECT_FALSE(log_->is_mapped_elsewhere());
}

TEST_F(LogMemoryTest, IsMappedElsewhereWhileAChildOfTheProgramHasIt) {
  map();
  const auto stay = [](int) {
    while (true) pause();
  };
  {
    const test::ChildProcess child(stay);
    unmap();
    EXPECT_TRUE(log_->is_mapped_elsewhere());
  }
  EXPECT_FALSE(log_->is_mapped_elsewhere());
}

TEST_F(LogMemoryTest, ItsOwnersMappingAndChildrenAreNotElsewhere) {
  const test::ChildProcess child([](int) {
    while (true) pause();
  });
  EXPECT_FALSE(log_->is_mapped_elsewhere());
}

}  // namespace
}  // namespace heaptap::log
