// Where the files of a trace are on this machine: the modules themselves and their separate debug files. Private to symbols/.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "symbols/debuginfod.h"
#include "symbols/elf_file.h"
#include "symbols/resolver.h"

namespace heaptap::symbols {

struct FoundModule {
  std::optional<ElfFile> file;
  bool has_other = false;  // there is a file of that name, but its build-id is not the recorded one
};

class FileSearch {
 public:
  explicit FileSearch(ResolverOptions options);

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
  std::optional<ElfFile> ask_servers(const std::string& build_id);

  std::vector<std::string> directories_;  // of both kinds, in the order of the search
  std::optional<Debuginfod> debuginfod_;
  DownloadProgress progress_;
};

}  // namespace heaptap::symbols
