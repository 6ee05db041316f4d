#include "analysis/symbols/local_files.h"

#include "analysis/symbols/file_search.h"

namespace heaptap::symbols {

bool has_file(const ResolverOptions& options, const model::Module& module) {
  FileSearch search({.symbol_directories = options.symbol_directories, .sysroots = options.sysroots});
  return search.find_module(module.path, module.build_id).file.has_value();
}

}  // namespace heaptap::symbols
