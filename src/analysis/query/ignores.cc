#include "analysis/query/ignores.h"

#include <fmt/format.h>

#include "analysis/findings/function_name.h"

namespace heaptap::query {
namespace {

constexpr size_t kMaxRules = 1000;
constexpr size_t kMaxSize = 20000;  // instructions of all expressions; a search may execute each for each character

// Texts that a rule is matched against.
std::vector<std::string> texts_of(const model::Frame& frame) {
  std::vector<std::string> texts;
  if (!frame.function.empty()) {
    texts.push_back(frame.function);
    // In the form of text output.
    if (std::string shown = findings::without_defaults(frame.function); shown != frame.function)
      texts.push_back(std::move(shown));
  }
  if (!frame.file.empty()) {
    texts.push_back(fmt::format("{}:{} {}", frame.file, frame.line, frame.function));
    if (const size_t slash = frame.file.rfind('/'); slash != std::string::npos)
      texts.push_back(texts.back().substr(slash + 1));
  }
  if (!frame.module.empty()) texts.push_back(frame.module);
  return texts;
}

}  // namespace

base::Result<> Ignores::add(const std::string& text, std::string place) {
  if (text.empty()) return base::fail_as(base::ErrorKind::kUsage, "the name is empty");
  const auto pattern = patterns::Pattern::create(text);
  if (!pattern) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "'{}' is not a regular expression: {}; escape literal ( ) [ ] {{ }} * + ? | . with a "
                         "backslash, or leave them out: a part of the name is enough",
                         text, pattern.error().message);
  }
  size_ += pattern->size();
  if (rules_.size() == kMaxRules || size_ > kMaxSize) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "'{}' is one rule too many, or the rules are too large together: leave some out", text);
  }
  texts_.push_back(place + ": " + text);
  rules_.push_back({patterns::NameFilter(text), std::move(place)});
  return {};
}

uint32_t Ignores::find(const model::Frame& frame) const {
  const std::vector<std::string> texts = texts_of(frame);
  for (uint32_t i = 0; i < rules_.size(); ++i) {
    for (const std::string& text : texts) {
      if (rules_[i].filter.matches(text)) return i;
    }
  }
  return kNone;
}

}  // namespace heaptap::query
