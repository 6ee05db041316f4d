// What is said over a line about functions of programs that don't tell themselves: it makes no sense, or means the same when it is said
// again, and is within bounds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "common/line/function_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptap;
  const auto fields = message::Fields::read({reinterpret_cast<const char*>(data), size});
  if (!fields) return 0;
  if (const auto found = line::decode_functions(*fields)) {
    constexpr size_t kMaxFunctions = 512;
    HEAPTAP_CHECK(!found->build_id.empty() && found->functions.size() <= kMaxFunctions);
    HEAPTAP_CHECK(std::ranges::none_of(found->functions, &std::string::empty, &model::ToldFunction::name));
    const auto again = line::decode_functions(message_of(*found).fields);
    HEAPTAP_CHECK(again && again->functions == found->functions);
  }
  if (const auto request = line::decode_function_request(*fields)) {
    const auto again = line::decode_function_request(message_of(*request).fields);
    HEAPTAP_CHECK(again && again->names == request->names && again->path == request->path);
  }
  return 0;
}
