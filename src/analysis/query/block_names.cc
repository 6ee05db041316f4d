#include "analysis/query/block_names.h"

#include <algorithm>
#include <array>

#include "analysis/findings/function_name.h"
#include "analysis/query/container_type.h"
#include "analysis/query/listing.h"
#include "analysis/query/register_names.h"

namespace heaptap::query {
namespace {

// Maximum of frames examined for a stack's name.

}  // namespace

std::string_view name_of(leaks::BlockState state) {
  constexpr std::array<std::string_view, leaks::kBlockStateCount> kNames = {"reachable", "possible", "indirect",
                                                                            "definite", "unknown"};
  return kNames[static_cast<size_t>(state) % kNames.size()];
}

std::string_view name_of(wire::PointerKind kind) {
  constexpr std::array<std::string_view, wire::kPointerKindCount> kNames = {
      "start",  "interior", "array-cookie", "multiple-inheritance", "std-string", "length-64", "header",
      "tagged", "marked",   "aligned"};
  return kNames[static_cast<size_t>(kind) % kNames.size()];
}

report::NamedBlock BlockNames::block(const model::HeapScan& scan, const LeakCounts& counts, uint32_t index) {
  const model::ScannedBlock& block = scan.blocks[index];
  const model::Site& site = tables_.sites[block.site];
  const auto given = given_.find(block.number);
  return {.number = block.number,
          .address = block.address,
          .size_bytes = block.size_bytes,
          .state = std::string(name_of(counts.classes().states[index])),
          .suppressed = counts.is_suppressed(index),
          .type = type_of(block),
          .stack_id = index_.id_of(block.site),
          .function = called_name(site.function),
          .caller = caller_of(block.site),
          .name = given == given_.end() ? "" : given->second};
}

model::Frame BlockNames::caller_of(model::SiteId site) {
  return names_.telling_frame(tables_, tables_.sites[site].stack);
}

std::string BlockNames::type_of(const model::ScannedBlock& block) {
  if (block.type != 0) {
    if (const std::string& known = class_at(block.type); !known.empty()) return known;
  }
  return container_of(block.site);
}

const std::string& BlockNames::class_at(uint64_t vtable) {
  const auto [found, is_new] = classes_.try_emplace(vtable);
  if (is_new) {
    if (const model::Module* module = module_at(vtable)) {
      found->second =
          shared_block_type(findings::without_defaults(names_.resolver().type_at(*module, vtable - module->bias)));
    }
  }
  return found->second;
}

const std::string& BlockNames::container_of(model::SiteId site) {
  const auto [found, is_new] = containers_.try_emplace(site);
  if (is_new) {
    found->second = container_type(names_.frames_of(tables_, tables_.sites[site].stack, kTellingFrames));
  }
  return found->second;
}

// The one loaded last.
const model::Module* BlockNames::module_at(uint64_t address) const {
  for (auto module = tables_.modules.rbegin(); module != tables_.modules.rend(); ++module) {
    if (address >= module->start && address < module->end) return &*module;
  }
  return nullptr;
}

report::NamedRoot BlockNames::root(const model::RootPointer& root) {
  report::NamedRoot named;
  named.kind = wire::kRootKindNames[static_cast<size_t>(root.root) % wire::kRootKindCount];
  named.thread = root.thread;
  for (const model::Thread& thread : tables_.threads) {
    if (root.thread != 0 && thread.number == root.thread) named.thread_name = thread.name;
  }
  if (root.root == wire::RootKind::kRegister) {
    named.name = register_name(capture_.architecture, root.address);
    return named;
  }
  named.address = root.address;
  if (root.root == wire::RootKind::kGlobal || root.root == wire::RootKind::kThreadLocal) name_variable(named, root);
  if (root.frame_code != 0) named.frame = frame_of(root.frame_code);
  return named;
}

void BlockNames::name_variable(report::NamedRoot& named, const model::RootPointer& root) {
  const bool is_thread_local = root.root == wire::RootKind::kThreadLocal;
  const model::Module* module = nullptr;
  if (!is_thread_local) {
    module = module_at(root.address);
  } else if (root.module < tables_.modules.size()) {
    module = &tables_.modules[root.module];
  }
  if (module == nullptr) return;
  named.module = module->path;
  named.offset = is_thread_local ? root.module_offset : root.address - module->bias;
  const symbols::Variable* variable = is_thread_local ? names_.resolver().thread_local_at(*module, named.offset)
                                                      : names_.resolver().variable_at(*module, named.offset);
  if (variable == nullptr) return;
  named.name = variable->name;
  named.file = variable->file;
  named.line = variable->line;
  named.offset -= variable->begin;
}

model::Frame BlockNames::frame_of(uint64_t entry) {
  model::Code code = model::code_of(entry);
  if (tables_.module_of(code) == nullptr) {
    if (const model::Module* module = module_at(code.address)) code.generation = module->generation;
  }
  const std::vector<model::Frame>& frames = names_.resolver().resolve(tables_, code);
  return frames.back();  // inlined functions have no memory of their own
}

}  // namespace heaptap::query
