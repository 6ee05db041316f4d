// What `heaptap check --baseline` says of a trace: how much its figures grew over those of the baseline, and where.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/certainty.h"
#include "report/comparison.h"
#include "report/growth_limit.h"
#include "report/text_table.h"

namespace heaptap::base {
class JsonWriter;
}

namespace heaptap::report {

struct GrowthEntry {
  GrowthLimit limit;
  std::optional<uint64_t> before;  // totals
  std::optional<uint64_t> after;
  int64_t growth = 0;                 // of the total, or of the stack that grew most
  uint64_t most = 0;                  // that the limit allows
  std::vector<ComparedStack> stacks;  // where it is broken: those that grew most
  std::vector<model::Frame> frames;   // that they name
  Certainty certainty = Certainty::kExact;
  bool allow_incomplete = false;  // the figures count as they are, and where there are none the limit holds

  [[nodiscard]] bool broken() const;
  // Whether it holds can't be said.
  [[nodiscard]] bool unknown() const { return certainty != Certainty::kExact && !allow_incomplete && !broken(); }
};

// How far the difference of two figures can be relied on: where the baseline's isn't exact the growth may be smaller or larger.
Certainty growth_certainty(Certainty before, Certainty after);

// The limit's verdict on the two recordings of `comparison`, whose totals have that certainty. At most `stacks` are listed.
GrowthEntry judge_growth(const Comparison& comparison, const GrowthLimit& limit, Certainty certainty,
                         bool allow_incomplete, size_t stacks);

// One line, and one for each stack.
std::string render_growth(const GrowthEntry& entry, const Ink& ink);
void write_json(base::JsonWriter& json, const GrowthEntry& entry);

}  // namespace heaptap::report
