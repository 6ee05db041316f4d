#include "analysis/symbols/module_names.h"

#include "analysis/symbols/file_search.h"
#include "analysis/symbols/module_file.h"

namespace heaptap::symbols {

struct ModuleNames::State {
  State(FileProvider& provider, const std::string& build_id)
      : search(provider), file(ModuleFile::open(search, "", build_id)) {}

  FileSearch search;
  std::unique_ptr<ModuleFile> file;
};

ModuleNames::ModuleNames(FileProvider& provider, const std::string& build_id)
    : state_(std::make_unique<State>(provider, build_id)) {}

ModuleNames::~ModuleNames() = default;

SymbolLevel ModuleNames::level() const { return level_of(state_->file->source()); }

std::vector<model::Frame> ModuleNames::frames_at(uint64_t address) { return state_->file->frames_at(address); }

std::optional<Variable> ModuleNames::variable_at(uint64_t address, bool is_thread_local) {
  const Variable* const variable = state_->file->variable_at(address, is_thread_local);
  return variable != nullptr ? std::optional(*variable) : std::nullopt;
}

}  // namespace heaptap::symbols
