// Search for a trace's files on this machine: modules and their separate debug files. Private to symbols/.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/symbols/debuginfod.h"
#include "analysis/symbols/elf_file.h"
#include "analysis/symbols/file_cache.h"
#include "analysis/symbols/file_provider.h"
#include "analysis/symbols/resolver.h"

namespace heaptap::symbols {

// File with the right name and another build-id than the recorded one.
struct OtherFile {
  std::string path;
  std::string build_id;  // bytes; empty: none
};

struct FoundModule {
  std::optional<ElfFile> file;
  std::optional<OtherFile> other;  // the first one found
};

// Use of debuginfod.
struct AskedServers {
  bool are_asked = false;
  std::string failure = {};  // why not, although it is wanted and servers are set
};

class FileSearch {
 public:
  explicit FileSearch(ResolverOptions options);
  // Searches by build-id, in the provider's files alone; the provider must outlive this.
  explicit FileSearch(FileProvider& provider) : provider_(&provider) {}
  // Whether files may be opened by names found in other files.
  [[nodiscard]] bool opens_by_name() const { return provider_ == nullptr; }

  [[nodiscard]] AskedServers servers() const { return {debuginfod_.has_value(), servers_failure_}; }

  // The file that was mapped from `path`. `build_id` as bytes; empty: the trace has none, and any file matches.
  FoundModule find_module(const std::string& path, const std::string& build_id);

  // Request for a module's separate debug file; `path`: the module here, `recorded_path`: on the target.
  struct DebugRequest {
    std::string path;
    std::string recorded_path;
    std::string build_id;
    std::optional<DebugLink> link;
  };
  std::optional<ElfFile> find_debug_file(const DebugRequest& request);

  // .build-id/xx/yyyy.debug, also for files that others refer to (as dwz makes them).
  std::optional<ElfFile> find_by_build_id(const std::string& build_id);

 private:
  std::optional<ElfFile> find_by_link(const DebugRequest& request);
  std::optional<ElfFile> look_into_cache(const std::string& build_id);
  std::optional<ElfFile> ask_servers(const std::string& build_id);
  enum class Wanted { kObject, kDebugFile, kAny };
  std::optional<ElfFile> ask_provider(const std::string& build_id, Wanted wanted);

  std::vector<std::string> directories_;  // both kinds, in search order
  std::optional<FileCache> cache_;
  std::optional<Debuginfod> debuginfod_;
  std::string servers_failure_;
  DownloadProgress progress_;
  FileProvider* provider_ = nullptr;
};

}  // namespace heaptap::symbols
