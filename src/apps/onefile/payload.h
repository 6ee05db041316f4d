// End of the one file, behind the program that unpacks it:
//
//   program | archive: tar, compressed by zstd | foot: magic, begin, size, hash
//
// The numbers have 64 bits, little-endian, as this CPU has them. The file is complete if its foot is at its end.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace heaptap::onefile {

struct Payload {
  std::string name;                // of this content: version, CPU, hash
  std::unique_ptr<char[]> memory;  // owns `archive`
  std::string_view archive;        // tar
};

// Of the program that runs. Fails if it has none, or not all of it.
base::Result<Payload> read_own_payload();

// Writes this program, without a payload so far, with that of the file `archive` (tar, zstd with the size in its head) to `output`.
base::Result<> write_with_payload(const std::string& archive, const std::string& output);

}  // namespace heaptap::onefile
