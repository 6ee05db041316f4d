// Pages of blocks, divided among their groups.
#include "analysis/query/page_division.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace heaptap::query {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBegin = 0x10000;

class PageDivisionTest : public testing::Test {
 protected:
  struct Page {
    uint64_t address, used_bytes, parts;
    std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> shares;  // group, bytes, rest
    bool operator==(const Page&) const = default;
  };

  std::vector<Page> pages() {
    division_.finish();
    return pages_;
  }

  std::vector<Page> pages_;
  PageDivision division_{kPage, 3, [this](const DividedPage& page) {
                           Page& made = pages_.emplace_back(Page{page.address, page.used_bytes, page.parts, {}});
                           for (const PageShare& share : page.shares)
                             made.shares.emplace_back(share.group, share.bytes, share.rest_bytes);
                         }};
};

TEST_F(PageDivisionTest, DividesTheRestByBytes) {
  division_.add({kBegin + 16, kBegin + 116}, 2);
  division_.add({kBegin + 200, kBegin + 400}, 0);
  division_.add({kBegin + 500, kBegin + 600}, 2);
  const uint64_t half = (kPage - 400) / 2;
  EXPECT_EQ(pages(), (std::vector<Page>{{kBegin, 400, 3, {{2, 200, half}, {0, 200, half}}}}));
}

TEST_F(PageDivisionTest, SharesAddUpToTheRest) {
  division_.add({kBegin, kBegin + 1}, 0);
  division_.add({kBegin + 1, kBegin + 4}, 1);
  division_.add({kBegin + 4, kBegin + 7}, 2);
  uint64_t sum = 0;
  const std::vector<Page> made = pages();
  for (const auto& [group, bytes, rest] : made.at(0).shares) sum += bytes + rest;
  EXPECT_EQ(sum, kPage);
}

TEST_F(PageDivisionTest, ALargePartIsItsEndsAndFullPages) {
  const auto touched = division_.add({kBegin + 96, kBegin + 3 * kPage + 1}, 1);
  EXPECT_EQ(touched.pages, 4U);
  EXPECT_EQ(touched.full_pages, 2U);
  EXPECT_EQ(pages(), (std::vector<Page>{{kBegin, kPage - 96, 1, {{1, kPage - 96, 96}}},
                                        {kBegin + 3 * kPage, 1, 1, {{1, 1, kPage - 1}}}}));
}

TEST_F(PageDivisionTest, APageIsTouchedOnce) {
  EXPECT_EQ(division_.add({kBegin, kBegin + 10}, 0).pages, 1U);
  EXPECT_EQ(division_.add({kBegin + 10, kBegin + kPage}, 0).pages, 0U);
  EXPECT_EQ(division_.add({kBegin + kPage, kBegin + 2 * kPage}, 0).pages, 1U) << "no more than the page";
  EXPECT_EQ(pages().size(), 2U);
}

TEST_F(PageDivisionTest, BlocksOfNoBytesShareAPageThatIsTheirsAlone) {
  division_.add({kBegin, kBegin}, 0);
  division_.add({kBegin + 32, kBegin + 32}, 1);
  EXPECT_EQ(pages(), (std::vector<Page>{{kBegin, 0, 2, {{0, 0, kPage / 2}, {1, 0, kPage / 2}}}}));
}

TEST_F(PageDivisionTest, TheLastPageOfAllAddressesIsOneToo) {
  const uint64_t last = ~uint64_t{0};
  const auto touched = division_.add({last - kPage, last}, 0);
  EXPECT_EQ(touched.pages, 2U);
  EXPECT_EQ(pages().at(1).address, last - kPage + 1);
  EXPECT_EQ(pages_.at(1).used_bytes, kPage - 1);
}

TEST_F(PageDivisionTest, NothingIsNoPage) { EXPECT_TRUE(pages().empty()); }

}  // namespace
}  // namespace heaptap::query
