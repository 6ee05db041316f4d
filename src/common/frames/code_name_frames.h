// Payload of frames with names given by the program to its own code, and the reader's store of them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/frames/byte_buffer.h"
#include "common/model/code_name.h"
#include "common/model/tables.h"
#include "common/wire/varint.h"

namespace heaptap::frames {

// No names for other code, which has symbols.
class KnownCodeNames final : public model::CodeNames {
 public:
  [[nodiscard]] std::vector<model::Frame> frames_of(model::CodeId code) const override;
  // A later name replaces an earlier one. False: no room for more.
  bool add(model::CodeName name, uint64_t address);

 private:
  struct Named {
    std::string name;
    uint64_t address;
  };
  std::unordered_map<model::CodeId, Named> names_;
  size_t text_bytes_ = 0;
};

// Shared by traces and connections between two machines, where codes have the stream's numbers.
void write_code_names(ByteBuffer& out, std::span<const model::CodeName> names);
// Appends the payload's names. False: damaged; some may have been added.
bool read_code_names(wire::VarintReader& in, std::vector<model::CodeName>& names);
// Adds them as names of these codes. False: no room for more.
bool add_code_names(std::vector<model::CodeName> read, const std::vector<model::Code>& codes, KnownCodeNames& names);

}  // namespace heaptap::frames
