#include "apps/heaptap/console/console_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/base/safe_text.h"
#include "common/base/whole_number.h"

namespace heaptap::app {
namespace {

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string explanation(size_t count) {
  return fmt::format(
      "a number from 1 to {}, or the PID of one of them, connects to it; `none` begins without a recording (then "
      "`attach PID` or `run PROGRAM` starts one); `q` quits",
      count);
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = line.find_first_not_of(kBlanks);
  return begin == line.npos ? "" : line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

Choice choice_of(std::string_view line, std::span<const client::Offer> offers) {
  constexpr std::array<std::string_view, 3> kQuit{"q", "quit", "exit"};
  constexpr std::array<std::string_view, 3> kHelp{"h", "help", "?"};
  const std::string_view word = trimmed(line);
  if (const auto number = base::whole_number<size_t>(word)) {
    if (*number >= 1 && *number <= offers.size()) return {.kind = Choice::Kind::kOffer, .offer = *number - 1};
    const auto named = std::ranges::find(offers, *number, &client::Offer::pid);
    if (named != offers.end())
      return {.kind = Choice::Kind::kOffer, .offer = static_cast<size_t>(named - offers.begin())};
  }
  if (word == "none" || word == "n") return {.kind = Choice::Kind::kNone};
  if (is_one_of(word, kQuit)) return {.kind = Choice::Kind::kQuit};
  const std::string help = explanation(offers.size());
  if (word.empty() || is_one_of(word, kHelp)) return {.text = help};
  return {.text = fmt::format("'{}' is none of these: {}", base::safe_text(std::string(word)), help)};
}

}  // namespace heaptap::app
