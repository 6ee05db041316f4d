// So many rows are kept, and those that were used last; they get from one process to another whole, or not at all.
#include "capture/uplink/kept_rows.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "capture/uplink/passed_rows.h"

namespace heaptap::uplink {
namespace {

model::RowTable table_of(unsigned rows) {
  model::RowTable table;
  for (unsigned i = 0; i < rows; ++i) table.add(uint64_t{16} * i, i % 2 + 1);
  return table;
}

std::vector<std::string> names_of(const KeptRows& kept) {
  std::vector<std::string> names;
  kept.for_each([&names](const std::string& build_id, const model::RowTable&) { names.push_back(build_id); });
  return names;
}

TEST(KeptRowsTest, WhatWasUsedLastStays) {
  KeptRows kept;
  constexpr unsigned kHalf = 900'000;
  kept.keep("one", table_of(kHalf));
  kept.keep("two", table_of(kHalf));
  EXPECT_NE(kept.use("one"), nullptr);
  EXPECT_EQ(names_of(kept), (std::vector<std::string>{"one", "two"}));
  kept.keep("three", table_of(kHalf));
  EXPECT_EQ(names_of(kept), (std::vector<std::string>{"three", "one"}));
  EXPECT_EQ(kept.find("two"), nullptr);
  EXPECT_EQ(kept.use("two"), nullptr);
}

TEST(KeptRowsTest, OfAnObjectThereIsOneTable) {
  KeptRows kept;
  for (unsigned i = 1; i < 100; ++i) kept.keep("one", table_of(50'000 + i));
  kept.keep("two", table_of(1));
  ASSERT_EQ(names_of(kept), (std::vector<std::string>{"two", "one"}));
  EXPECT_EQ(kept.find("one")->rows.size(), 50'099u);
}

TEST(KeptRowsTest, ManySmallOnesAreBoundedToo) {
  KeptRows kept;
  for (unsigned i = 0; i < 20'000; ++i) kept.keep(std::to_string(i), table_of(1));
  EXPECT_LT(names_of(kept).size(), 10'000u);
  EXPECT_NE(kept.find("19999"), nullptr);
  EXPECT_EQ(kept.find("0"), nullptr);
}

// A file as it is before who makes it has done all.
base::UniqueFd half_made(const std::vector<uint8_t>& bytes, int seals) {
  base::UniqueFd file(memfd_create("half-made", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

constexpr int kAllSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

TEST(PassedRowsTest, ComeAsTheyWere) {
  const base::UniqueFd file = file_of(table_of(1000));
  ASSERT_TRUE(file);
  const auto rows = rows_in(file);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->rows, table_of(1000).rows);
  EXPECT_EQ(rows->begins, table_of(1000).begins);
  EXPECT_LT(pwrite(file.get(), "x", 1, 0), 0) << "nobody changes it";
}

// As all are where vm.memfd_noexec says so.
TEST(PassedRowsTest, FilesThatCantBeExecutedAreTakenToo) {
  constexpr unsigned kNoExecution = 0x0008;  // MFD_NOEXEC_SEAL, since Linux 6.3
  const std::vector<uint8_t> bytes = model::encode(table_of(100));
  const base::UniqueFd file(memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExecution));
  if (!file) GTEST_SKIP() << "the kernel makes none";
  ASSERT_EQ(write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, kAllSeals), 0);
  EXPECT_TRUE(rows_in(file));
}

TEST(PassedRowsTest, WhatIsntWholeIsNotThere) {
  const std::vector<uint8_t> bytes = model::encode(table_of(100));
  EXPECT_TRUE(rows_in(half_made(bytes, kAllSeals)));
  EXPECT_FALSE(rows_in(half_made(bytes, 0))) << "somebody may still write";
  EXPECT_FALSE(rows_in(half_made(bytes, F_SEAL_WRITE)));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(rows_in(half_made({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)}, kAllSeals)))
        << length;
  }
  EXPECT_FALSE(rows_in(base::UniqueFd(open("/dev/zero", O_RDONLY | O_CLOEXEC))));
  EXPECT_FALSE(rows_in(base::UniqueFd()));
  base::UniqueFd large(memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(large.get(), off_t{1} << 40), 0);
  ASSERT_EQ(fcntl(large.get(), F_ADD_SEALS, kAllSeals), 0);
  EXPECT_FALSE(rows_in(large));
}

}  // namespace
}  // namespace heaptap::uplink
