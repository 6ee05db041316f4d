#include "analysis/query/system_stacks.h"

#include <string_view>
#include <vector>

#include "analysis/query/kept_by_libraries.h"

namespace heaptap::query {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Module of a stack's innermost frame; empty: none.
std::string_view module_path(const model::Tables& tables, model::StackId stack) {
  if (stack < wire::kRootCount) return {};
  const model::Module* module = tables.module_of(tables.codes[tables.stacks[stack].code]);
  return module == nullptr ? std::string_view() : std::string_view(module->path);
}

bool is_emergency_pool(const model::Tables& tables, const model::Site& site) {
  if (site.function != wire::Function::kMalloc || site.stack < wire::kRootCount) return false;
  return file_name(module_path(tables, site.stack)).starts_with("libstdc++.so") &&
         is_loader(module_path(tables, tables.stacks[site.stack].parent));
}

// The innermost frames, as long as they are in libraries with known memory of their own: no other names are looked up.
std::vector<model::Frame> frames_of_libraries(const model::Tables& tables, model::StackId stack, StackNames& names) {
  std::vector<model::Frame> frames;
  for (; is_keeping_library(module_path(tables, stack)); stack = tables.stacks[stack].parent) {
    const StackNames::CodeFrames found = names.frames_at(tables, stack);
    if (found.frames != nullptr) frames.insert(frames.end(), found.frames->begin(), found.frames->end());
  }
  return frames;
}

}  // namespace

bool is_loader(std::string_view path) {
  const std::string_view name = file_name(path);
  return name.starts_with("ld-linux") || name.starts_with("ld-musl") || name.starts_with("ld64.so") ||
         name.starts_with("ld.so") || (name.starts_with("ld-") && name.ends_with(".so"));
}

bool is_only_loader(std::string_view path) { return is_loader(path) && !file_name(path).starts_with("ld-musl"); }

report::Purpose purpose_of(const model::Tables& tables, const model::Site& site, StackNames& names) {
  if (is_emergency_pool(tables, site)) return report::Purpose::kEmergencyPool;
  if (is_only_loader(module_path(tables, site.stack))) return report::Purpose::kLoader;
  return kept_by_libraries(frames_of_libraries(tables, site.stack, names));
}

}  // namespace heaptap::query
