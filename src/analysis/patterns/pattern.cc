#include "analysis/patterns/pattern.h"

#include <re2/re2.h>

#include <cstdint>
#include <utility>

namespace heaptap::patterns {

base::Result<Pattern> Pattern::create(std::string_view text) {
  if (text.size() > kMaxBytes) return base::fail("it has more than {} characters", kMaxBytes);
  const auto with = [text](RE2::Options::Encoding encoding) {
    constexpr int64_t kMaxMemoryBytes = int64_t{1} << 20;
    RE2::Options options;
    options.set_encoding(encoding);
    options.set_max_mem(kMaxMemoryBytes);
    options.set_log_errors(false);
    options.set_never_capture(true);
    return std::make_shared<const RE2>(re2::StringPiece(text.data(), text.size()), options);
  };
  auto expression = with(RE2::Options::EncodingUTF8);
  if (expression->error_code() == RE2::ErrorBadUTF8) expression = with(RE2::Options::EncodingLatin1);
  if (!expression->ok()) return base::fail("{}", expression->error());
  return Pattern(std::move(expression));
}

size_t Pattern::size() const { return static_cast<size_t>(expression_->ProgramSize()); }

bool Pattern::matches(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

}  // namespace heaptap::patterns
