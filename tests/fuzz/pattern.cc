// Regular expressions of any content, matched with any text: the first line is the one, the rest the other. Made of parts that
// both understand, they agree with std::regex, where that ends.
#include "base/pattern.h"

#include <algorithm>
#include <cstdint>
#include <regex>
#include <string>
#include <string_view>

#include "fuzz/support/expect.h"

using namespace heaptap;

namespace {

// std::regex tries all ways, so that little is asked of it; and of what is special to one of the two nothing.
bool is_common(std::string_view pattern, std::string_view text) {
  constexpr std::string_view kCommon = "abc.|()*+?^$[]-";
  return pattern.size() <= 12 && text.size() <= 12 && pattern.find_first_not_of(kCommon) == pattern.npos &&
         text.find_first_not_of("abc") == text.npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes), size_bytes);
  const std::string_view text = all.substr(0, all.find('\n'));
  const std::string_view name = all.substr(std::min(all.size(), text.size() + 1));
  const auto pattern = base::Pattern::create(text);
  if (!pattern) {
    FUZZ_EXPECT(!pattern.error().message.empty());
    return 0;
  }
  FUZZ_EXPECT(pattern->size() <= base::Pattern::kMaxInstructions + 1);
  const bool is_found = pattern->matches(name);
  if (!is_common(text, name)) return 0;
  try {
    const std::regex expression{std::string(text)};
    FUZZ_EXPECT(std::regex_search(std::string(name), expression) == is_found);
  } catch (const std::regex_error&) {
    return 0;  // it refuses something else
  }
  return 0;
}
