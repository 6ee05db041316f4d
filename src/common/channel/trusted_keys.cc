#include "common/channel/trusted_keys.h"

#include <algorithm>

#include "common/base/small_file.h"
#include "common/channel/failure.h"

namespace heaptap::channel {
namespace {

constexpr std::string_view kBlank = " \t\r";

}  // namespace

base::Result<std::vector<TrustedKey>> parse_trusted_keys(std::string_view text, std::string_view origin) {
  std::vector<TrustedKey> keys;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = base::trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const size_t gap = std::min(line.find_first_of(kBlank), line.size());
    const auto key = Fingerprint::parse(line.substr(0, gap));
    if (!key) {
      return fail({"line ", std::to_string(number), " of ", origin,
                   " doesn't begin with a key's fingerprint (SHA256:…): correct it, or delete it"});
    }
    keys.push_back({*key, std::string(base::trimmed(line.substr(gap)))});
  }
  return keys;
}

const TrustedKey* find_key(const std::vector<TrustedKey>& keys, const Fingerprint& key) {
  const auto found = std::ranges::find(keys, key, &TrustedKey::key);
  return found == keys.end() ? nullptr : &*found;
}

}  // namespace heaptap::channel
