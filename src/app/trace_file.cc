#include "app/trace_file.h"

#include <filesystem>

namespace heaptap::app {

base::Result<trace::TraceReader> open_trace(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return base::fail(
        "can't read '{}': there is no such file. `heaptap run PROGRAM` writes a trace, heaptap.latest.htap "
        "links to the newest one",
        path);
  }
  if (status.type() == std::filesystem::file_type::directory) {
    return base::fail("can't read '{}': it is a directory. Name a trace in it (*.htap)", path);
  }
  return trace::TraceReader::open(path);
}

}  // namespace heaptap::app
