// Identifiers outside ASCII, as Rust's v0 names hold them: punycode (RFC 3492) with '_' as the delimiter. Private to symbols/.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace heaptap::symbols {

// UTF-8, or nothing where `text` is no punycode.
std::optional<std::string> decode_punycode(std::string_view text);

}  // namespace heaptap::symbols
