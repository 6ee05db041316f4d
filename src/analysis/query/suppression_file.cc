#include "analysis/query/suppression_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace heaptap::query {
namespace {

using leaks::BlockState;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\f\v";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// The rest of `text` after `prefix`; none if it doesn't begin with it.
std::optional<std::string_view> behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return trimmed(text.substr(prefix.size()));
}

// For messages: a line of any file, shortened.
std::string quoted(std::string_view line) {
  constexpr size_t kMax = 60;
  std::string text(line.substr(0, kMax));
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return fmt::format("'{}{}'", text, line.size() > kMax ? "…" : "");
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  base::Result<std::vector<Suppression>> parse() {
    while (next_line()) {
      if (line_ == "{") {
        HEAPTAP_TRY(parse_entry());
      } else {
        HEAPTAP_TRY(parse_lsan_line());
      }
    }
    return std::move(found_);
  }

 private:
  // The next line that is neither blank nor a comment.
  bool next_line() {
    while (at_ < text_.size()) {
      const size_t end = std::min(text_.find('\n', at_), text_.size());
      line_ = trimmed(text_.substr(at_, end - at_));
      at_ = end + 1;
      if (++number_ == 1 && line_.starts_with("\xef\xbb\xbf")) line_ = trimmed(line_.substr(3));
      if (!line_.empty() && line_[0] != '#') return true;
    }
    return false;
  }

  template <typename... Args>
  std::unexpected<base::Error> wrong(uint32_t line, fmt::format_string<Args...> format, Args&&... args) {
    return base::fail("{}:{}: {}", file_, line, fmt::format(format, std::forward<Args>(args)...));
  }

  base::Result<> parse_lsan_line() {
    const auto pattern = behind(line_, "leak:");
    if (!pattern) {
      return wrong(number_,
                   "{} is neither an LSan suppression (leak:PATTERN) nor the start of a Valgrind one ('{{' on a line "
                   "of its own): correct it, or comment it out with #",
                   quoted(line_));
    }
    if (pattern->empty())
      return wrong(number_, "leak: without a pattern: name a function, a file or a module after it");
    found_.push_back({.name = std::string(line_),
                      .file = file_,
                      .line = number_,
                      .states = kAllLeakStates,
                      .lsan_pattern = std::string(*pattern),
                      .frames = {}});
    return {};
  }

  base::Result<> parse_entry() {
    const uint32_t begin = number_;
    Suppression entry{.name = {}, .file = file_, .line = begin, .lsan_pattern = {}, .frames = {}};
    if (!next_inside()) return unclosed(begin);
    entry.name = line_;
    if (!next_inside()) return unclosed(begin);
    const bool is_leak = is_leak_kind();
    if (!is_leak && line_.find(':') == line_.npos) {
      return wrong(number_, "unexpected kind of suppression {}: write Memcheck:Leak", quoted(line_));
    }
    while (next_line()) {
      if (line_ == "}") return close(std::move(entry), is_leak);
      if (line_ == "{") return unclosed(begin);
      if (is_leak) HEAPTAP_TRY(parse_inside(entry));
    }
    return unclosed(begin);
  }

  bool next_inside() { return next_line() && line_ != "}" && line_ != "{"; }

  // "Memcheck:Leak"; several tools may be listed before the colon.
  [[nodiscard]] bool is_leak_kind() const {
    const size_t colon = line_.find(':');
    if (colon == line_.npos || trimmed(line_.substr(colon + 1)) != "Leak") return false;
    const std::string tools = fmt::format(",{},", trimmed(line_.substr(0, colon)));
    return tools.find(",Memcheck,") != tools.npos || tools.find(",memcheck,") != tools.npos;
  }

  std::unexpected<base::Error> unclosed(uint32_t begin) {
    return wrong(
        begin,
        "the suppression that begins here is incomplete: it needs a name, a kind (Memcheck:Leak), its frames and "
        "a closing '}}', each on a line of its own");
  }

  base::Result<> close(Suppression entry, bool is_leak) {
    if (!is_leak) return {};
    const auto is_named = [](const FramePattern& frame) { return frame.rule != FrameRule::kAnyFrames; };
    if (std::ranges::none_of(entry.frames, is_named)) {
      return wrong(entry.line,
                   "the suppression {} names no frame, so it would hide every leak: add a line fun:, obj: or src:",
                   quoted(entry.name));
    }
    found_.push_back(std::move(entry));
    return {};
  }

  base::Result<> parse_inside(Suppression& entry) {
    if (const auto kinds = behind(line_, "match-leak-kinds:")) return parse_states(*kinds, entry);
    if (line_ == "...") {
      entry.frames.push_back({FrameRule::kAnyFrames, {}});
      return {};
    }
    constexpr std::array<std::pair<std::string_view, FrameRule>, 3> kRules = {
        {{"fun:", FrameRule::kFunction}, {"obj:", FrameRule::kObject}, {"src:", FrameRule::kSource}}};
    for (const auto& [prefix, rule] : kRules) {
      const auto pattern = behind(line_, prefix);
      if (!pattern) continue;
      if (pattern->empty()) return wrong(number_, "{} without a name: * stands for any", prefix);
      entry.frames.push_back({rule, std::string(*pattern)});
      return {};
    }
    return wrong(number_,
                 "{} is not a line of a leak suppression: these are fun:NAME, obj:FILE, src:FILE:LINE, ... and "
                 "match-leak-kinds:",
                 quoted(line_));
  }

  base::Result<> parse_states(std::string_view kinds, Suppression& entry) {
    constexpr std::array<std::pair<std::string_view, uint8_t>, 6> kNames = {{
        {"definite", leak_bit(BlockState::kDefinite)},
        {"indirect", leak_bit(BlockState::kIndirect)},
        {"possible", leak_bit(BlockState::kPossible)},
        {"reachable", leak_bit(BlockState::kReachable)},
        {"all", kAllLeakStates},
        {"none", 0},
    }};
    entry.states = 0;
    while (true) {
      const size_t comma = std::min(kinds.find(','), kinds.size());
      const std::string_view kind = trimmed(kinds.substr(0, comma));
      const auto* known = std::ranges::find(kNames, kind, &std::pair<std::string_view, uint8_t>::first);
      if (known == kNames.end()) {
        return wrong(number_, "unknown kind of leak {}: use definite, indirect, possible, reachable, all and none",
                     quoted(kind));
      }
      entry.states |= known->second;
      if (comma == kinds.size()) return {};
      kinds.remove_prefix(comma + 1);
    }
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  uint32_t number_ = 0;  // of line_, from 1 on
  std::string_view line_;
  std::vector<Suppression> found_;
};

}  // namespace

base::Result<std::vector<Suppression>> parse_suppressions(std::string_view text, const std::string& file) {
  return Parser(text, file).parse();
}

}  // namespace heaptap::query
