#include "analysis/findings/verdict.h"

#include <gtest/gtest.h>

namespace heaptap::findings {
namespace {

LimitEntry peak_of(base::Known<uint64_t> figure, report::Certainty certainty) {
  return {.kind = report::LimitKind::kPeak,
          .figure = figure,
          .limit = 5,
          .stacks = {},
          .frames = {},
          .certainty = certainty};
}

TEST(LimitEntry, KnownFigurePassesOrFails) {
  const LimitEntry within = peak_of(5, report::Certainty::kExact);
  EXPECT_FALSE(within.broken());
  EXPECT_FALSE(within.unknown());
  EXPECT_TRUE(peak_of(6, report::Certainty::kExact).broken());
}

TEST(LimitEntry, UnknownFigureNeitherPassesNorFails) {
  for (const uint64_t counted : {0u, 9u}) {
    LimitEntry limit = peak_of({counted, false}, report::Certainty::kNone);
    EXPECT_FALSE(limit.broken());
    EXPECT_TRUE(limit.unknown());
    limit.allow_incomplete = true;
    EXPECT_FALSE(limit.broken()) << "what was counted is no figure";
  }
}

}  // namespace
}  // namespace heaptap::findings
