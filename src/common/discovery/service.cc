#include "common/discovery/service.h"

#include <algorithm>

namespace heaptap::discovery {
namespace {

constexpr size_t kMaxValueBytes = 100;  // all of them fit into one packet

void add_word(std::string& data, std::string_view name, std::string_view value) {
  const std::string word = std::string(name) + "=" + cut_to(value, kMaxValueBytes);
  data += static_cast<char>(word.size());
  data += word;
}

char folded(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

}  // namespace

Name service_type(ServiceKind kind) {
  return {kind == ServiceKind::kTarget ? "_heaptap" : "_heaptap-host", "_tcp", "local"};
}
Name all_types() { return {"_services", "_dns-sd", "_udp", "local"}; }
Name local_name(std::string_view label) { return Name(label, {"local"}); }

std::string cut_to(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t end = max_bytes;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;  // within a UTF-8 character
  return std::string(text.substr(0, end));
}

std::string text_data(const Service& service) {
  std::string data;
  add_word(data, "txtvers", "1");
  add_word(data, "id", service.id);
  add_word(data, "program", service.program);
  add_word(data, "cpu", service.cpu);
  add_word(data, "version", service.version);
  add_word(data, "secure", service.is_secure ? "1" : "0");
  add_word(data, "token", service.has_token ? "1" : "0");
  add_word(data, "begun", service.has_begun ? "1" : "0");
  return data;
}

// RFC 6763, 6.4: names are case-insensitive, the first one of a name counts, and the value is optional.
std::optional<std::string> text_value(std::string_view data, std::string_view name) {
  while (!data.empty()) {
    const size_t bytes = std::min<size_t>(static_cast<uint8_t>(data[0]), data.size() - 1);
    const std::string_view word = data.substr(1, bytes);
    const size_t end = std::min(word.find('='), word.size());
    if (std::ranges::equal(word.substr(0, end), name, {}, folded, folded)) {
      return std::string(word.substr(std::min(end + 1, word.size())));
    }
    data.remove_prefix(1 + bytes);
  }
  return std::nullopt;
}

}  // namespace heaptap::discovery
