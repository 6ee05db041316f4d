// Modules' files as a resolver has opened them. Private to symbols/.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "analysis/symbols/file_search.h"
#include "analysis/symbols/module_file.h"

namespace heaptap::symbols {

class OpenFiles {
 public:
  explicit OpenFiles(const ResolverOptions& options) : search_(options) {}

  [[nodiscard]] bool contains(const std::string& path, const std::string& build_id) const {
    return files_.contains({path, build_id});
  }
  [[nodiscard]] AskedServers servers() const { return search_.servers(); }
  // Opens it where it isn't open.
  ModuleFile& open(const std::string& path, const std::string& build_id);

  // For another resolver; those that were unused for long are closed.
  void pass_on();

 private:
  static constexpr uint64_t kUnusedFor = 8;  // resolvers: programs of a build come by turns
  struct Opened {
    std::unique_ptr<ModuleFile> file;
    uint64_t used_by = 0;
  };

  FileSearch search_;
  std::map<std::pair<std::string, std::string>, Opened> files_;  // by path and build-id
  uint64_t user_ = 0;                                            // counts resolvers
};

}  // namespace heaptap::symbols
