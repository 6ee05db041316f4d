#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

char* receipt(int number) { return strdup(("receipt of order " + std::to_string(number)).c_str()); }

TEST(Shop, PrintsAReceipt) {
  char* const text = receipt(1);
  EXPECT_STREQ(text, "receipt of order 1");
  std::free(text);
}

TEST(Shop, LosesAReceipt) { EXPECT_STREQ(receipt(2), "receipt of order 2"); }

}  // namespace
