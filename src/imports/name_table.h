// Code as another tool's file tells it: with the names that the file has, where symbols of this machine have no say.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tables.h"

namespace heaptap::imports {

// Numbers of strings, from 1 on; 0: none.
struct NamedFrame {
  uint32_t function = 0;
  uint32_t file = 0;
  uint32_t line = 0;
  bool is_inlined = false;  // into a caller that is another code; those before the last of one code are in any case
};

class NameTable : public model::CodeNames {
 public:
  // Bounds for what a file may make of itself; none where they are reached.
  std::optional<uint32_t> add_string(std::string_view text);
  // The same code has the same number, however often it is added. `frames`: innermost first; none: it has no name.
  std::optional<model::CodeId> add_code(uint64_t address, uint32_t module, std::span<const NamedFrame> frames,
                                        model::Tables& tables);

  [[nodiscard]] size_t string_count() const { return strings_.size(); }
  [[nodiscard]] std::vector<model::Frame> frames_of(model::CodeId code) const override;

 private:
  struct Named {
    uint64_t address = 0;
    uint32_t module = 0;
    size_t first_frame = 0;
    size_t frame_count = 0;
  };

  [[nodiscard]] const std::string& string(uint32_t number) const;

  std::vector<std::string> strings_;
  uint64_t string_bytes_ = 0;
  uint64_t shown_bytes_ = 0;  // of all codes' frames together
  std::vector<NamedFrame> frames_;
  std::vector<Named> codes_;
  boost::unordered_flat_map<std::string, model::CodeId> known_;  // by all of it
  std::vector<bool> is_module_;                                  // by string
};

}  // namespace heaptap::imports
