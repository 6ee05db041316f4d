// Call frame information of a module's files, as input for unwind rows (capture/elf/row_maker.h).
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/symbols/file_provider.h"
#include "analysis/symbols/resolver.h"

namespace heaptap::symbols {

struct FrameBytes {
  uint16_t machine = 0;     // e_machine
  bool is_swapped = false;  // the files have the other byte order
  std::string debug_frame;
  std::string eh_frame;
  uint64_t eh_frame_address = 0;
};

// From the files that symbols come from: the module and its debug file. None: no such file.
std::optional<FrameBytes> find_frame_bytes(const ResolverOptions& options, const std::string& path,
                                           const std::string& build_id);
std::optional<FrameBytes> find_frame_bytes(FileProvider& provider, const std::string& build_id);

}  // namespace heaptap::symbols
