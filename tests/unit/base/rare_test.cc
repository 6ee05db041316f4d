#include "common/base/rare.h"

#include <gtest/gtest.h>

#include <string>

namespace heaptap::base {
namespace {

struct Facts {
  std::string name;
  int count = 3;
};

TEST(Rare, IsTheDefaultOneUntilItIsChanged) {
  Rare<Facts> rare;
  EXPECT_FALSE(rare.is_set());
  EXPECT_EQ(rare->name, "");
  EXPECT_EQ(rare->count, 3);
  rare.edit().name = "pool";
  EXPECT_TRUE(rare.is_set());
  EXPECT_EQ((*rare).name, "pool");
  EXPECT_EQ(Rare<Facts>()->name, "") << "others stay as they are";
  rare.reset();
  EXPECT_FALSE(rare.is_set());
  EXPECT_EQ(rare->name, "");
}

TEST(Rare, ACopyHasAValueOfItsOwn) {
  Rare<Facts> rare;
  rare.edit().count = 1;
  Rare<Facts> copy = rare;
  copy.edit().count = 2;
  EXPECT_EQ(rare->count, 1);
  EXPECT_EQ(copy->count, 2);
}

TEST(Rare, TakesAPointer) { EXPECT_EQ(sizeof(Rare<Facts>), sizeof(void*)); }

}  // namespace
}  // namespace heaptap::base
