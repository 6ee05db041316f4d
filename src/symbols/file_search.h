// Where the files of a trace are on this machine: the modules themselves and their separate debug files. Private to symbols/.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "symbols/debuginfod.h"
#include "symbols/elf_file.h"
#include "symbols/file_cache.h"
#include "symbols/file_provider.h"
#include "symbols/resolver.h"

namespace heaptap::symbols {

// A file of the name that is looked for, whose build-id is not the recorded one.
struct OtherFile {
  std::string path;
  std::string build_id;  // bytes; empty: it has none
};

struct FoundModule {
  std::optional<ElfFile> file;
  std::optional<OtherFile> other;  // the first of them
};

class FileSearch {
 public:
  explicit FileSearch(ResolverOptions options);
  // By build-ids alone, of these files and no others; the provider outlives this.
  explicit FileSearch(FileProvider& provider) : provider_(&provider) {}
  // Whether files are opened by the names that others have for them.
  [[nodiscard]] bool opens_by_name() const { return provider_ == nullptr; }

  // The file that was mapped from `path`. `build_id` as bytes; empty where the trace has none: any file is taken then.
  FoundModule find_module(const std::string& path, const std::string& build_id);

  // Its separate debug file; `path` is where the module was found, `recorded_path` where the target had it.
  struct DebugRequest {
    std::string path;
    std::string recorded_path;
    std::string build_id;
    std::optional<DebugLink> link;
  };
  std::optional<ElfFile> find_debug_file(const DebugRequest& request);

  // .build-id/xx/yyyy.debug, also of a file that others refer to (what dwz makes).
  std::optional<ElfFile> find_by_build_id(const std::string& build_id);

 private:
  std::optional<ElfFile> find_by_link(const DebugRequest& request);
  std::optional<ElfFile> look_into_cache(const std::string& build_id);
  std::optional<ElfFile> ask_servers(const std::string& build_id);
  enum class Wanted { kObject, kDebugFile, kAny };
  std::optional<ElfFile> ask_provider(const std::string& build_id, Wanted wanted);

  std::vector<std::string> directories_;  // of both kinds, in the order of the search
  std::optional<FileCache> cache_;
  std::optional<Debuginfod> debuginfod_;
  DownloadProgress progress_;
  FileProvider* provider_ = nullptr;
};

}  // namespace heaptap::symbols
