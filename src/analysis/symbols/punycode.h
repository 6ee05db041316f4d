// Punycode (RFC 3492) with '_' as the delimiter: non-ASCII identifiers in Rust v0 names. Private to symbols/.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace heaptap::symbols {

// UTF-8; none if `text` isn't valid punycode.
std::optional<std::string> decode_punycode(std::string_view text);

}  // namespace heaptap::symbols
