// Bytes that can be read at any offset: of a file, or of a process's memory, where offsets are addresses.
#pragma once
#include <cstddef>
#include <cstdint>

namespace heaptap::base {

class ByteSource {
 public:
  // Returns the number of bytes before the first missing one.
  virtual size_t read_some(uint64_t offset, void* to, size_t bytes) const = 0;

 protected:
  ~ByteSource() = default;
};

}  // namespace heaptap::base
