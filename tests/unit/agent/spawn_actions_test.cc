// glibc's file actions of posix_spawn: whether one changes the child's working directory. What isn't known counts as a change.
#include "agent/preload/spawn_actions.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>

namespace heaptap::agent {
namespace {

class SpawnActionsTest : public testing::Test {
 protected:
  SpawnActionsTest() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActionsTest() override { posix_spawn_file_actions_destroy(&actions_); }

  bool keep() {
    ReadablePages pages;
    return keep_directory(&actions_, pages);
  }

  posix_spawn_file_actions_t actions_{};
};

TEST_F(SpawnActionsTest, NoneKeepIt) {
  ReadablePages pages;
  EXPECT_TRUE(keep_directory(nullptr, pages));
  EXPECT_TRUE(keep());
}

TEST_F(SpawnActionsTest, ThoseOfDescriptorsKeepIt) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(posix_spawn_file_actions_adddup2(&actions_, 1, 2), 0);
    ASSERT_EQ(posix_spawn_file_actions_addclose(&actions_, 3), 0);
    ASSERT_EQ(posix_spawn_file_actions_addopen(&actions_, 4, "file", O_RDONLY, 0), 0);
  }
  EXPECT_TRUE(keep());
  ASSERT_EQ(posix_spawn_file_actions_addclosefrom_np(&actions_, 5), 0);
  ASSERT_EQ(posix_spawn_file_actions_addtcsetpgrp_np(&actions_, 0), 0);
  EXPECT_TRUE(keep());
}

TEST_F(SpawnActionsTest, APathChangesIt) {
  ASSERT_EQ(posix_spawn_file_actions_adddup2(&actions_, 1, 2), 0);
  ASSERT_EQ(posix_spawn_file_actions_addchdir_np(&actions_, "/"), 0);
  EXPECT_FALSE(keep());
}

TEST_F(SpawnActionsTest, ADescriptorChangesIt) {
  ASSERT_EQ(posix_spawn_file_actions_addfchdir_np(&actions_, 3), 0);
  ASSERT_EQ(posix_spawn_file_actions_adddup2(&actions_, 1, 2), 0);
  EXPECT_FALSE(keep());
}

TEST(SpawnActions, WhatIsUnknownMayChangeIt) {
  ReadablePages pages;
  const SpawnAction action{.tag = 7, .rest = {}};  // of a later glibc
  const auto keep = [&pages](const SpawnActions& actions) { return keep_directory(&actions, pages); };
  EXPECT_FALSE(keep({.allocated = 8, .used = 1, .first = &action}));
  EXPECT_FALSE(keep({.allocated = 0, .used = 0, .first = &action}));  // another C library's list
  EXPECT_FALSE(keep({.allocated = 1, .used = 2, .first = &action}));
  EXPECT_FALSE(keep({.allocated = 8, .used = -1, .first = &action}));
  EXPECT_FALSE(keep({.allocated = 8, .used = 1, .first = nullptr}));
  const auto* const nowhere = reinterpret_cast<const SpawnAction*>(uintptr_t{64});
  EXPECT_FALSE(keep({.allocated = 8, .used = 1, .first = nowhere}));
  EXPECT_FALSE(keep_directory(nowhere, pages));
}

}  // namespace
}  // namespace heaptap::agent
