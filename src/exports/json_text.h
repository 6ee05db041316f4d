// Strings in JSON.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace heaptap::exports {

// With its quotes. What isn't UTF-8 is replaced.
inline std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace heaptap::exports
