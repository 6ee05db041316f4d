// Remote source of symbols, for modules of which a resolver has none or fewer. Addresses are link-time addresses.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/symbols/resolver.h"
#include "common/model/frame.h"

namespace heaptap::symbols {

// Level of detail of a module's symbols, ascending.
enum class SymbolLevel : uint8_t { kNothing = 0, kExports = 1, kNames = 2, kLines = 3 };

class NameSource {
 public:
  NameSource() = default;
  NameSource(const NameSource&) = delete;
  NameSource& operator=(const NameSource&) = delete;
  virtual ~NameSource() = default;

  // `build_id` as bytes.
  virtual SymbolLevel level_of(const std::string& build_id) = 0;
  // Frames of instructions, as from ModuleNames::frames_at(), in the order of the addresses. May be shorter than `addresses`: the rest
  // is unknown.
  virtual std::vector<std::vector<model::Frame>> frames_at(const std::string& build_id,
                                                           std::span<const uint64_t> addresses) = 0;
  virtual std::optional<Variable> variable_at(const std::string& build_id, uint64_t address, bool is_thread_local) = 0;
};

}  // namespace heaptap::symbols
