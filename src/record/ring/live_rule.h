// Rule on the live memory of a recorded process, told as text: "live > 2G", "growth > 10M/min".
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace heaptap::ring {

class LiveRule {
 public:
  static base::Result<LiveRule> parse(std::string_view text);

  // Takes the live bytes of a moment; moments ascend. True: the rule is met now, and wasn't at the moment before.
  bool is_met_first(uint64_t time_ns, uint64_t live_bytes);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  struct Moment {
    uint64_t time_ns;
    uint64_t live_bytes;
  };
  LiveRule(std::string text, uint64_t limit_bytes, uint64_t period_ns)
      : text_(std::move(text)), limit_bytes_(limit_bytes), period_ns_(period_ns) {}
  [[nodiscard]] bool is_met(const Moment& now);

  std::string text_;
  uint64_t limit_bytes_;
  uint64_t period_ns_;  // of growth; 0: live bytes
  bool was_met_ = false;
  std::deque<Moment> moments_;  // of the last period, and the one before it
};

}  // namespace heaptap::ring
