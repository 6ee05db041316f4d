// Numbers for an agent's stack nodes, of which there may be millions, and none that it says there are.
#include "capture/stream/node_numbers.h"

#include <gtest/gtest.h>

namespace heaptap::stream {
namespace {

// Each node is called by the one before it.
class Chain : public AgentTables {
 public:
  explicit Chain(uint32_t nodes) : nodes_(nodes) {}
  [[nodiscard]] uint32_t node_count() const override { return nodes_; }
  [[nodiscard]] uint64_t node(uint32_t number) const override {
    EXPECT_LT(number, nodes_);
    return wire::make_node(number - 1, number);
  }
  [[nodiscard]] uint32_t code_count() const override { return nodes_; }
  [[nodiscard]] uint64_t code(uint32_t /*index*/) const override { return 0; }
  [[nodiscard]] std::optional<model::Label> label(uint32_t /*number*/) const override { return std::nullopt; }

 private:
  uint32_t nodes_;
};

TEST(NodeNumbers, AreGivenFromTheFirstCallerOn) {
  const Chain chain(20'000);
  NodeNumbers numbers(chain);
  uint32_t given = 100;
  std::vector<uint32_t> codes;
  const auto add = [&](uint32_t parent, uint32_t code) {
    EXPECT_EQ(parent, codes.empty() ? wire::kRootCount - 1 : given);
    codes.push_back(code);
    return ++given;
  };
  const uint32_t number = numbers.number_of(12'345, add);
  EXPECT_EQ(number, given);
  EXPECT_EQ(given, 100 + codes.size());
  ASSERT_EQ(codes.size(), 12'346 - wire::kRootCount);
  EXPECT_EQ(codes.back(), 12'345u);
  EXPECT_EQ(numbers.known(12'345), given);
  EXPECT_EQ(numbers.known(5000), 100 + 5001 - wire::kRootCount);
  EXPECT_EQ(numbers.known(12'346), NodeNumbers::kNone);
  EXPECT_EQ(numbers.known(19'999), NodeNumbers::kNone);
  EXPECT_EQ(numbers.number_of(5000, add), numbers.known(5000));
  EXPECT_EQ(codes.size(), 12'346 - wire::kRootCount);  // nothing was added again
}

TEST(NodeNumbers, OfNoNodeCannotBeRead) {
  const Chain chain(10);
  NodeNumbers numbers(chain);
  const auto add = [](uint32_t parent, uint32_t /*code*/) { return parent + 1; };
  numbers.number_of(9, add);
  const auto unreadable = static_cast<uint32_t>(wire::StackEnd::kUnreadable);
  for (const uint32_t node : {10u, 11u, 4095u, 4096u, UINT32_MAX}) {
    EXPECT_TRUE(numbers.is_beyond(node));
    EXPECT_EQ(numbers.known(node), NodeNumbers::kNone);
    EXPECT_EQ(numbers.number_of(node, add), unreadable);
  }
}

}  // namespace
}  // namespace heaptap::stream
