// Code names from another tool's file. They take precedence over this machine's symbols.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/tables.h"

namespace heaptap::imports {

// Frame with names as string numbers from 1; 0: none.
struct NamedFrame {
  uint32_t function = 0;
  uint32_t file = 0;
  uint32_t line = 0;
  bool is_inlined = false;  // into a caller with another code; all but the last frame of one code are inlined anyway
};

class NameTable : public model::CodeNames {
 public:
  // Limits bound what a file can make the table hold; none once a limit is reached.
  std::optional<uint32_t> add_string(std::string_view text);
  // Equal code gets the same number each time. `frames`: innermost first; empty: no name.
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
  uint64_t shown_bytes_ = 0;  // of all codes' frames
  std::vector<NamedFrame> frames_;
  std::vector<Named> codes_;
  boost::unordered_flat_map<std::string, model::CodeId> known_;  // by address, module and frames
  std::vector<bool> is_module_;                                  // by string
};

}  // namespace heaptap::imports
