#include "apps/heaptap/commands/trace_file.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "analysis/imports/import.h"
#include "capture/supervision/trace_name.h"
#include "common/wire/frame.h"
#include "record/trace/run_index.h"
#include "record/trace/trace_reader.h"

namespace heaptap::app {
namespace {

constexpr size_t kMagicBytes = 8;

}  // namespace

base::Result<std::unique_ptr<model::EventSource>> open_trace(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return base::fail(
        "can't read '{}': no such file. `heaptap run PROGRAM` writes a trace; heaptap.latest.htap "
        "links to the newest",
        path);
  }
  if (status.type() == std::filesystem::file_type::directory) {
    return base::fail("can't read '{}': it is a directory. Name a trace in it (*.htap)", path);
  }
  if (trace::is_run_index(path)) {
    const auto entries = trace::read_run_index(path);
    if (!entries) return std::unexpected(entries.error());
    const std::string& main = entries->front().trace;
    if (trace::is_one_process(*entries) && !trace::is_run_index(main)) return open_trace(main);
    return base::fail("'{}' is the recording of several processes: name one of its traces, such as '{}'", path, main);
  }
  if (imports::is_import(path)) return imports::open_import(path);
  auto reader = trace::TraceReader::open(path);
  if (!reader) return std::unexpected(std::move(reader).error());
  return std::make_unique<trace::TraceReader>(*std::move(reader));
}

bool is_trace(const std::string& path) {
  if (path.ends_with(".htap")) return true;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::array<char, kMagicBytes> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  return std::memcmp(head.data(), wire::kFileMagic, head.size()) == 0 || trace::is_run_index(path) ||
         imports::is_import(path);
}

base::Result<std::string> newest_trace() {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_regular_file(supervision::kLatestTrace, error)) return std::string(supervision::kLatestTrace);
  std::string newest;
  fs::file_time_type newest_time = fs::file_time_type::min();
  for (fs::directory_iterator entries(".", error), end; !error && entries != end; entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with("heaptap.") || !name.ends_with(".htap") || !entries->is_regular_file(ignored)) continue;
    const fs::file_time_type time = entries->last_write_time(ignored);
    if (!newest.empty() && std::pair(time, name) < std::pair(newest_time, newest)) continue;
    newest = name;
    newest_time = time;
  }
  if (!newest.empty()) return newest;
  return base::fail_as(base::ErrorKind::kUsage,
                       "no trace given, and no heaptap.*.htap in the working directory: name a trace, or make one "
                       "with `heaptap run PROGRAM`");
}

base::Result<std::string> named_or_newest(const std::string& trace) {
  return trace.empty() ? newest_trace() : base::Result<std::string>(trace);
}

}  // namespace heaptap::app
