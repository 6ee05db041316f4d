// Trace of a core file: a leak scan of a process that nobody recorded, whose blocks are those that its allocator knows.
//
//   core file ▸ CoreFile (threads, mappings) ▸ CoreMemory ▸ blocks in use, roots ▸ HeapScanner ▸ scan ▸ trace
#pragma once
#include <string>

#include "common/base/result.h"

namespace heaptap::core_files {

struct CoreRequest {
  std::string core;        // path of the core file
  std::string program;     // of the program's file; empty: where it was
  std::string trace = {};  // the trace to write
  bool overwrite = false;
};

// The error says why the core can't be scanned, and what the user can do.
base::Result<> write_core_trace(const CoreRequest& request);

}  // namespace heaptap::core_files
