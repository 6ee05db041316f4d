// Somebody else who has symbols: what a resolver asks for modules of which it finds none, or less. Addresses are link-time ones.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/frame.h"
#include "symbols/resolver.h"

namespace heaptap::symbols {

// What there is of a module's symbols, from nothing upwards.
enum class SymbolLevel : uint8_t { kNothing = 0, kExports = 1, kNames = 2, kLines = 3 };

class NameSource {
 public:
  NameSource() = default;
  NameSource(const NameSource&) = delete;
  NameSource& operator=(const NameSource&) = delete;
  virtual ~NameSource() = default;

  // `build_id` as bytes.
  virtual SymbolLevel level_of(const std::string& build_id) = 0;
  // The frames of instructions, as ModuleNames::frames_at() gives them, in the same order. Fewer than were asked for: of the others
  // nothing is known.
  virtual std::vector<std::vector<model::Frame>> frames_at(const std::string& build_id,
                                                           std::span<const uint64_t> addresses) = 0;
  virtual std::optional<Variable> variable_at(const std::string& build_id, uint64_t address, bool is_thread_local) = 0;
};

}  // namespace heaptap::symbols
