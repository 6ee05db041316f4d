// Demangling of rustc's names: the legacy scheme (_ZN…17h<hash>E) and the v0 scheme (_R…, RFC 2603). Crate hashes are left out.
// Private to symbols/.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace heaptap::symbols {

// None if `name` is not of the scheme, malformed, or unfolds to something unreasonably long or deep.
std::optional<std::string> demangle_rust_legacy(std::string_view name);
std::optional<std::string> demangle_rust_v0(std::string_view name);

}  // namespace heaptap::symbols
