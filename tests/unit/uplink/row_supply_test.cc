// What a log gets of the rows that are known, at once and when they are missed, and what the host is asked for.
#include "capture/uplink/row_supply.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "capture/log/log_memory.h"
#include "common/line/line_messages.h"
#include "common/wire/late_rows.h"
#include "two_ends.h"

namespace heaptap::uplink {
namespace {

constexpr unsigned kRowBytes = 12;
constexpr uint64_t kRoomBytes = uint64_t{8} << 20;
constexpr uint64_t kStart = 0x10000;

model::RowTable table_of(uint64_t bytes) {
  model::RowTable table;
  for (uint64_t i = 0; i < bytes / kRowBytes; ++i) table.add(16 * i, i % 2 + 1);
  return table;
}

model::Module module_of(const std::string& build_id, uint8_t flags = 0) {
  return {.path = "/lib/" + build_id,
          .build_id = build_id,
          .bias = kStart,
          .start = kStart,
          .end = kStart + 0x1000,
          .generation = 0,
          .flags = flags};
}

class RowSupplyTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kMB = uint64_t{1} << 20;

  void SetUp() override { ASSERT_TRUE(ends_.meet()); }
  // The latest is named last.
  void know(const std::string& build_id, uint64_t bytes) { known_.keep(build_id, table_of(bytes)); }
  void begin() {
    ends_.target.rows().begin_with(std::move(known_), {});
    log_ =
        *log::LogMemory::create({.chunk_memory_bytes = 1u << 20, .late_rows_bytes = kRoomBytes, .omitted_objects = {}});
  }
  // A walk has no row at this address of the one module.
  void miss(RowSupply& rows, const model::Module& module, uint64_t address = kStart + 0x100) {
    rows.add_modules({&module, 1});
    wire::note_row_miss(log_->header(), address);
    rows.serve();
  }
  [[nodiscard]] uint64_t used_bytes() const { return log_->header().late_rows_bytes.load(); }
  [[nodiscard]] bool has(const std::string& build_id) const {
    const uint64_t key = wire::late_rows_key(reinterpret_cast<const uint8_t*>(build_id.data()), build_id.size());
    return wire::LateRowsReader(log_->header(), log_->header()).find(key).count != 0;
  }
  // What comes to the host as a question.
  std::optional<message::Fields> asked() {
    std::optional<message::Message> message;
    (void)ends_.run_until([&] {
      message = ends_.host.link().line().next();
      return message.has_value();
    });
    return message && message->kind == line::Kind::kRowsWanted ? std::optional(message->fields) : std::nullopt;
  }

  test::OwnDirectory directory_;
  test::TwoEnds ends_{directory_.path()};
  KeptRows known_;
  std::unique_ptr<log::LogMemory> log_;
};

TEST_F(RowSupplyTest, LargeOnesOfOthersComeWhenTheyAreMissed) {
  know("large", 5 * kMB);
  for (int i = 0; i < 20; ++i) know("foreign " + std::to_string(i), kMB / 4);
  know("latest", kMB / 4);
  begin();
  RowSupply rows(ends_.target, log_->parts());
  EXPECT_LE(used_bytes(), kMB / 2);
  EXPECT_TRUE(has("latest"));
  EXPECT_FALSE(has("large"));
  miss(rows, module_of("large"));
  EXPECT_TRUE(has("large"));
  EXPECT_EQ(ends_.target.link().line().unconfirmed(), 0u) << "nobody is asked";
  EXPECT_EQ(rows.left_out(), 0u);
}

TEST_F(RowSupplyTest, WhatTheSessionHasMetIsThereAtOnce) {
  know("library", kMB);
  know("program", 5 * kMB);
  begin();
  for (const char* each : {"library", "program"}) ends_.target.want_rows(each, "", std::nullopt);
  const RowSupply rows(ends_.target, log_->parts());
  EXPECT_TRUE(has("program"));
  EXPECT_FALSE(has("library")) << "behind half of the room there is none but for what is missed";
}

TEST_F(RowSupplyTest, CountsWhatFindsNoRoom) {
  know("other", 5 * kMB);
  know("program", 5 * kMB);
  begin();
  RowSupply rows(ends_.target, log_->parts());
  miss(rows, module_of("program"));
  EXPECT_EQ(rows.left_out(), 0u);
  model::Module behind = module_of("other");
  behind.start += 0x1000;
  behind.end += 0x1000;
  for (const uint64_t address : {kStart + 0x1100, kStart + 0x1200}) {
    miss(rows, behind, address);
    EXPECT_EQ(rows.left_out(), 1u);
  }
  EXPECT_FALSE(has("other"));
}

TEST_F(RowSupplyTest, AsksForAllOfWhatHasNoTable) {
  begin();
  RowSupply rows(ends_.target, log_->parts());
  miss(rows, module_of("bare", wire::kModuleHasNoCfi));
  const auto question = asked();
  ASSERT_TRUE(question);
  EXPECT_EQ(question->text(line::Field::kBuildId), "bare");
  EXPECT_EQ(question->number(line::Field::kAddress), model::kNoRowAnywhere);
}

TEST_F(RowSupplyTest, AsksForTheAddressThatHasNoRow) {
  begin();
  RowSupply rows(ends_.target, log_->parts());
  miss(rows, module_of("with some"), kStart + 0x100);
  const auto question = asked();
  ASSERT_TRUE(question);
  EXPECT_EQ(question->number(line::Field::kAddress), uint64_t{0xff});
}

}  // namespace
}  // namespace heaptap::uplink
