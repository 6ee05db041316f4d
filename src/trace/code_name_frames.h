// The payload of frames of names that the program gave to its own code, and what a reader keeps of them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/code_name.h"
#include "model/tables.h"
#include "trace/byte_buffer.h"
#include "wire/varint.h"

namespace heaptap::trace {

// None for other code, which symbols name.
class KnownCodeNames final : public model::CodeNames {
 public:
  [[nodiscard]] std::vector<model::Frame> frames_of(model::CodeId code) const override;
  // A later name counts. False: there is no room for more.
  bool add(model::CodeName name, uint64_t address);

 private:
  struct Named {
    std::string name;
    uint64_t address;
  };
  std::unordered_map<model::CodeId, Named> names_;
  size_t text_bytes_ = 0;
};

// The same in traces and on a line between two machines, where codes have the numbers of its stream.
void write_code_names(ByteBuffer& out, std::span<const model::CodeName> names);
// Appends what the payload holds. False where it is damaged: a part of it may have been added.
bool read_code_names(wire::VarintReader& in, std::vector<model::CodeName>& names);
// To names of these codes. False: there is no room for more.
bool add_code_names(std::vector<model::CodeName> read, const std::vector<model::Code>& codes, KnownCodeNames& names);

}  // namespace heaptap::trace
