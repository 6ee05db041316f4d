#include "analysis/query/keyed_hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace heaptap::query {
namespace {

uint64_t hash_of(std::string_view text) { return FieldsHash().add(text).value(); }

TEST(FieldsHash, PartsDoNotRunIntoEachOther) {
  EXPECT_NE(FieldsHash().add("ab").add("c").value(), FieldsHash().add("a").add("bc").value());
  EXPECT_NE(FieldsHash().add(uint64_t{1}).add(uint64_t{2}).value(),
            FieldsHash().add(uint64_t{2}).add(uint64_t{1}).value());
}

TEST(FieldsHash, EqualTextsHaveOneHash) {
  const std::string text = "std::vector<int>::push_back";
  EXPECT_EQ(hash_of(text), hash_of(std::string(text)));
}

TEST(FieldsHash, EachByteOfATextCounts) {
  std::set<uint64_t> hashes{hash_of("")};
  for (size_t size = 1; size <= 24; ++size) {
    std::string text(size, '\0');  // told apart by its size alone
    hashes.insert(hash_of(text));
    for (char& each : text) {
      each = 'a';
      hashes.insert(hash_of(text));
      each = '\0';
    }
  }
  EXPECT_EQ(hashes.size(), 1 + 24 + 24 * 25 / 2);
}

// Of a hash without keys they collide: the multiplication leaves the topmost bit as it is, and the next number takes it away again.
TEST(FieldsHash, NumbersThatCancelEachOtherDoNotCollide) {
  constexpr uint64_t kTop = uint64_t{1} << 63;
  EXPECT_NE(FieldsHash().add(uint64_t{5}).add(uint64_t{7}).value(),
            FieldsHash().add(uint64_t{5} ^ kTop).add(uint64_t{7} ^ kTop ^ (kTop >> 32)).value());
}

}  // namespace
}  // namespace heaptap::query
