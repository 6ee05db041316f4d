#include "analysis/query/system_stacks.h"

#include <algorithm>
#include <string_view>

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

// By the innermost frames, as long as they are in libraries with known memory of their own: no other names are looked up.
report::Purpose purpose_in_libraries(const model::Tables& tables, model::StackId stack, StackNames& names) {
  for (; is_keeping_library(module_path(tables, stack)); stack = tables.stacks[stack].parent) {
    const StackNames::CodeFrames found = names.frames_at(tables, stack);
    if (found.frames == nullptr) continue;
    const report::Purpose purpose = kept_by_libraries(*found.frames);
    const auto is_elsewhere = [](const model::Frame& frame) { return !is_keeping_library(frame.module); };
    if (purpose != report::Purpose::kProgram || std::ranges::any_of(*found.frames, is_elsewhere)) return purpose;
  }
  return report::Purpose::kProgram;
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
  return purpose_in_libraries(tables, site.stack, names);
}

}  // namespace heaptap::query
