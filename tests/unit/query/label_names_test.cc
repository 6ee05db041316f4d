#include "analysis/query/label_names.h"

#include <gtest/gtest.h>

#include <limits>

namespace heaptap::query {
namespace {

using wire::LabelKind;

model::Tables tables_with(std::vector<model::Label> labels) {
  model::Tables tables;
  tables.labels = std::move(labels);
  tables.labels.insert(tables.labels.begin(), model::Label{});
  return tables;
}

model::Tables request_tables() {
  return tables_with({{0, LabelKind::kTag, "request"},
                      {1, LabelKind::kTag, "parse"},
                      {2, LabelKind::kPool, "arena"},
                      {0, LabelKind::kResource, "textures"}});
}

TEST(LabelNamesTest, TagsComeOutermostFirst) {
  const model::Tables tables = request_tables();
  EXPECT_EQ(names_of(tables, 2).tags, (std::vector<std::string>{"request", "parse"}));
  EXPECT_EQ(names_of(tables, 2).pool, "");
  EXPECT_TRUE(names_of(tables, 0).tags.empty());
}

TEST(LabelNamesTest, PoolsHaveTheTagsAroundThem) {
  const model::Tables tables = request_tables();
  EXPECT_EQ(names_of(tables, 3).pool, "arena");
  EXPECT_EQ(names_of(tables, 3).tags, (std::vector<std::string>{"request", "parse"}));
  EXPECT_EQ(names_of(tables, 4).pool, "textures");
}

TEST(LabelNamesTest, DamagedParentsEnd) {
  const model::Tables tables = tables_with({{1, LabelKind::kTag, "itself"}, {9, LabelKind::kTag, "later"}});
  EXPECT_EQ(names_of(tables, 1).tags, std::vector<std::string>{"itself"});
  EXPECT_EQ(names_of(tables, 2).tags, std::vector<std::string>{"later"});
  EXPECT_TRUE(names_of(tables, std::numeric_limits<model::LabelId>::max()).tags.empty());
}

TEST(LabelNamesTest, WhatWasMadeTwiceIsOne) {
  const model::Tables tables = tables_with({{0, LabelKind::kTag, "a"},
                                            {0, LabelKind::kTag, "a"},
                                            {1, LabelKind::kTag, "b"},
                                            {2, LabelKind::kTag, "b"},
                                            {2, LabelKind::kPool, "b"},
                                            {0, LabelKind::kTag, "b"}});
  EXPECT_EQ(first_labels(tables), (std::vector<model::LabelId>{0, 1, 1, 3, 3, 5, 6}));
}

TEST(TagFilterTest, AllHaveToMatchATagOrThePath) {
  struct Case {
    std::vector<std::string> patterns;
    std::vector<bool> passes;  // no label, request, request/parse, arena in it, textures
  };
  const model::Tables tables = request_tables();
  for (const Case& expected : std::initializer_list<Case>{{{}, {true, true, true, true, true}},
                                                          {{"request"}, {false, true, true, true, false}},
                                                          {{"req"}, {false, true, true, true, false}},
                                                          {{"^parse$"}, {false, false, true, true, false}},
                                                          {{"request/parse"}, {false, false, true, true, false}},
                                                          {{"request", "parse"}, {false, false, true, true, false}},
                                                          {{"request", "answer"}, {false, false, false, false, false}},
                                                          {{"arena"}, {false, false, false, false, false}},
                                                          {{".*"}, {false, true, true, true, false}}}) {
    TagFilter filter(expected.patterns);
    for (model::LabelId label = 0; label < expected.passes.size(); ++label) {
      EXPECT_EQ(filter.passes(tables, label), expected.passes[label])
          << label << " " << (expected.patterns.empty() ? "" : expected.patterns.front());
      EXPECT_EQ(filter.passes(tables, label), expected.passes[label]);  // as it was remembered
    }
  }
}

}  // namespace
}  // namespace heaptap::query
