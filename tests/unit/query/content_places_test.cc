#include "analysis/query/content_places.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heaptap::query {
namespace {

// A table of texts; `hash` is the same for all, or of the text.
struct Texts {
  uint32_t place_of(const std::string& text, bool all_alike) {
    const FieldsHash hash = all_alike ? FieldsHash() : FieldsHash().add(text);
    const uint32_t place = places.place_of(hash, [&](uint32_t other) { return table.at(other) == text; });
    if (place == table.size()) table.push_back(text);
    return place;
  }
  ContentPlaces places;
  std::vector<std::string> table;
};

TEST(ContentPlaces, EqualContentsHaveOnePlace) {
  Texts texts;
  EXPECT_EQ(texts.place_of("a", false), 0U);
  EXPECT_EQ(texts.place_of("b", false), 1U);
  EXPECT_EQ(texts.place_of("a", false), 0U);
  EXPECT_EQ(texts.places.size(), 2U);
}

TEST(ContentPlaces, ContentsWithTheSameHashAreToldApart) {
  Texts texts;
  for (const char* text : {"a", "b", "c"}) texts.place_of(text, true);
  EXPECT_EQ(texts.table.size(), 3U);
  EXPECT_EQ(texts.place_of("a", true), 0U);
  EXPECT_EQ(texts.place_of("c", true), 2U);
  EXPECT_EQ(texts.place_of("b", true), 1U);
  EXPECT_EQ(texts.place_of("d", true), 3U);
}

}  // namespace
}  // namespace heaptap::query
