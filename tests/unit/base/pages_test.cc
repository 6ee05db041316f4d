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

TEST(Pages, OnlyWholeOnesLieWithinARange) {
  for (const uint64_t page : {4096u, 16384u, 65536u}) {
    const auto within = [page](uint64_t begin, uint64_t end) { return pages_within({begin, end}, page); };
    EXPECT_EQ(within(page, 3 * page), (AddressRange{page, 3 * page}));
    EXPECT_EQ(within(page - 1, 3 * page + 1), (AddressRange{page, 3 * page}));
    EXPECT_EQ(within(page + 1, 3 * page), (AddressRange{2 * page, 3 * page}));
    EXPECT_EQ(within(page, 3 * page - 1), (AddressRange{page, 2 * page}));
    EXPECT_EQ(within(page + 1, 2 * page).size(), 0u);
    EXPECT_EQ(within(page, 2 * page - 1).size(), 0u);
    EXPECT_EQ(within(page + 1, 3 * page - 1).size(), 0u);
    EXPECT_EQ(within(page + 1, page + 2).size(), 0u);
    EXPECT_EQ(within(page, page).size(), 0u);
  }
}

}  // namespace
}  // namespace heaptap::base
