// Names made by rustc, as people write them: the legacy scheme (_ZN…17h<hash>E) and the v0 scheme (_R…, RFC 2603).
// Crate hashes are left out. Private to symbols/.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace heaptap::symbols {

// Nothing where `name` is not of the scheme, is malformed, or would unfold to something unreasonably long or deep.
std::optional<std::string> demangle_rust_legacy(std::string_view name);
std::optional<std::string> demangle_rust_v0(std::string_view name);

}  // namespace heaptap::symbols
