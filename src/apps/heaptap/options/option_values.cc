// Parsers of option values: numbers, sizes, durations, words.
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/heaptap/options/option_set.h"
#include "common/base/units.h"
#include "common/base/whole_number.h"

namespace heaptap::app {
namespace {

template <typename Value>
base::Result<> store(const base::Result<uint64_t>& parsed, Value& value) {
  if (!parsed) return std::unexpected(parsed.error());
  value = *parsed;
  return {};
}

}  // namespace

Option OptionSet::choice(const std::string& names, const std::vector<std::string>& words,
                         std::function<void(const std::string&)> store, const std::string& help) {
  const auto parse = [words, store = std::move(store)](const std::string& text) -> base::Result<> {
    if (std::ranges::find(words, text) == words.end()) {
      return base::fail("'{}' is not one of {}", text, fmt::join(words, ", "));
    }
    store(text);
    return {};
  };
  return parsed(names, parse, help).offer(words);
}

Option OptionSet::size(const std::string& names, uint64_t& bytes, const std::string& help) {
  const auto parse = [&bytes](const std::string& text) { return store(base::parse_size(text), bytes); };
  return parsed(names, parse, help).value_name("SIZE");
}

Option OptionSet::size(const std::string& names, std::optional<uint64_t>& bytes, const std::string& help) {
  const auto parse = [&bytes](const std::string& text) { return store(base::parse_size(text), bytes); };
  return parsed(names, parse, help).value_name("SIZE");
}

Option OptionSet::duration(const std::string& names, uint64_t& nanoseconds, const std::string& help) {
  const auto parse = [&nanoseconds](const std::string& text) { return store(base::parse_duration(text), nanoseconds); };
  return parsed(names, parse, help).value_name("TIME");
}

Option OptionSet::any_number(const std::string& names, std::function<void(uint64_t)> store, const std::string& help,
                             uint64_t least, uint64_t most) {
  const auto parse = [store = std::move(store), least, most](const std::string& text) -> base::Result<> {
    const auto number = base::whole_number<uint64_t>(text);
    if (!number || *number < least || *number > most) {
      return base::fail("'{}' is not a number from {} to {}", text, least, most);
    }
    store(*number);
    return {};
  };
  return parsed(names, parse, help).value_name("N");
}

}  // namespace heaptap::app
