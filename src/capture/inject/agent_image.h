// Image of the agent that is put into a running process: the file libheaptap_injected.so, placed at an address without the process's
// loader. It needs relocations of its own addresses alone.
//
//   [code and constants: read, execute][data: read, write]
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/wire/injected_agent.h"

namespace heaptap::inject {

class AgentImage {
 public:
  static base::Result<AgentImage> read(const std::string& path);
  // The file's bytes. An error names what makes it unfit.
  static base::Result<AgentImage> create(std::span<const uint8_t> file);

  [[nodiscard]] size_t bytes() const { return bytes_; }              // in memory, whole pages
  [[nodiscard]] size_t data_offset() const { return data_offset_; }  // where its writable part begins, whole pages
  [[nodiscard]] size_t contract_offset() const { return contract_offset_; }
  // As it is at this address, up to the zeros at its end.
  [[nodiscard]] std::vector<uint8_t> placed_at(uint64_t address) const;

 private:
  AgentImage() = default;
  base::Result<> read_segments(std::span<const uint8_t> file);
  base::Result<> read_dynamic_section();

  struct Relocation {
    uint64_t offset;
    uint64_t addend;
  };
  std::vector<uint8_t> content_;
  std::vector<Relocation> relocations_;
  size_t bytes_ = 0;
  size_t data_offset_ = 0;
  size_t contract_offset_ = 0;
  size_t dynamic_offset_ = 0;
  size_t dynamic_bytes_ = 0;
};

}  // namespace heaptap::inject
