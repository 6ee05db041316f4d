#include "common/base/pages.h"

#include <gtest/gtest.h>
#include <sys/auxv.h>

namespace heaptap::base {
namespace {

TEST(Pages, AreThoseOfTheKernel) { EXPECT_EQ(page_bytes(), getauxval(AT_PAGESZ)); }

TEST(Pages, AddressesAndSizesAreRounded) {
  const uint64_t page = page_bytes();
  for (const uint64_t start : {uint64_t{0}, page, 7 * page}) {
    EXPECT_TRUE(is_page_aligned(start));
    EXPECT_FALSE(is_page_aligned(start + 1));
    EXPECT_EQ(page_begin(start), start);
    EXPECT_EQ(page_begin(start + page - 1), start);
    EXPECT_EQ(whole_pages(start), start);
    EXPECT_EQ(whole_pages(start + 1), start + page);
    EXPECT_EQ(whole_pages(start + page), start + page);
  }
}

}  // namespace
}  // namespace heaptap::base
