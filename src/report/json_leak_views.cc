// The JSON of the views of a leak scan.
#include <fmt/format.h>

#include "report/json_values.h"

namespace heaptap::report {
namespace {

std::string hex(uint64_t value) { return fmt::format("{:#x}", value); }

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json_of(const NamedBlock& block) {
  Json json = {{"number", block.number},  {"address", hex(block.address)},  {"size", block.size_bytes},
               {"state", block.state},    {"suppressed", block.suppressed}, {"type", or_null(block.type)},
               {"stack", block.stack_id}, {"function", block.function},     {"caller", report::json_of(block.caller)}};
  if (!block.name.empty()) json["name"] = block.name;
  return json;
}

Json json_of(const NamedRoot& root) {
  return {{"kind", root.kind},
          {"name", or_null(root.name)},
          {"file", or_null(root.file)},
          {"line", root.file.empty() ? Json(nullptr) : Json(root.line)},
          {"module", or_null(root.module)},
          {"offset", root.module.empty() ? Json(nullptr) : Json(root.offset)},
          {"thread", root.thread == 0 ? Json(nullptr) : Json(root.thread)},
          {"thread_name", or_null(root.thread_name)},
          {"address", root.kind == "register" ? Json(nullptr) : Json(hex(root.address))},
          {"frame", root.frame ? report::json_of(*root.frame) : Json(nullptr)}};
}

Json json_of(const std::optional<HolderChain>& chain) {
  if (!chain) return nullptr;
  Json steps = Json::array();
  for (const HolderStep& step : chain->steps) {
    steps.push_back({{"block", json_of(step.block)}, {"offset", step.offset}, {"pointer", step.pointer}});
  }
  return {{"root", chain->root ? json_of(*chain->root) : Json(nullptr)},
          {"pointer", or_null(chain->pointer)},
          {"steps", std::move(steps)},
          {"left_out", chain->left_out}};
}

}  // namespace

void json_holders(const Report& report, const Write& write) {
  JsonDocument document("holders", report, write);
  if (!report.holders) return;
  const Holders& holders = *report.holders;
  const bool of_stack = holders.of_stack.blocks != 0;
  document.member("scan", scan_json(report.leaks.scan));
  document.member("asked", holders.asked);
  document.member("block", json_of(holders.block));
  document.member("offset", holders.offset);
  document.member("of_stack", of_stack ? count_json(holders.of_stack) : Json(nullptr));
  document.member("same_root", of_stack ? count_json(holders.same_root) : Json(nullptr));
  document.member("held", json_of(holders.held));
  document.member("below", json_of(holders.below));
  document.member("earlier_scan", holders.earlier_scan == 0 ? Json(nullptr) : Json(holders.earlier_scan));
  document.member("earlier", json_of(holders.earlier));
}

void json_retained(const Report& report, const Write& write) {
  JsonDocument document("retained", report, write);
  if (!report.retained) return;
  document.member("scan", scan_json(report.leaks.scan));
  document.member("by", report.retained->by);
  document.member("held", count_json(report.retained->held));
  document.member("entry_count", report.retained->entry_count);
  document.list("entries", report.retained->entries, [](const RetainedEntry& entry) -> Json {
    Json value;
    if (entry.block) {
      value["block"] = json_of(*entry.block);
    } else if (entry.stack_id != 0) {
      value["stack"] = entry.stack_id;
      value["function"] = entry.function;
      value["caller"] = report::json_of(entry.caller);
    } else {
      value["type"] = or_null(entry.type);
    }
    value["own"] = count_json(entry.own);
    value["retained"] = count_json(entry.retained);
    return value;
  });
}

void json_globals(const Report& report, const Write& write) {
  JsonDocument document("globals", report, write);
  if (!report.globals) return;
  document.member("scan", scan_json(report.leaks.scan));
  document.member("held", count_json(report.globals->held));
  document.member("shared", count_json(report.globals->shared));
  document.member("entry_count", report.globals->entry_count);
  document.list("entries", report.globals->entries, [](const GlobalEntry& entry) -> Json {
    return {{"variable", json_of(entry.variable)},
            {"direct", count_json(entry.direct)},
            {"retained", count_json(entry.retained)}};
  });
}

void json_scans(const Report& report, const Write& write) {
  JsonDocument document("scans", report, write);
  if (!report.scans) return;
  document.list("scans", *report.scans, [](const ScanEntry& entry) -> Json {
    Json value = scan_json(entry.facts);
    value["definite"] = count_json(entry.definite);
    value["indirect"] = count_json(entry.indirect);
    value["possible"] = count_json(entry.possible);
    value["reachable"] = count_json(entry.reachable);
    value["suppressed"] = count_json(entry.suppressed);
    value["ignored"] = count_json(entry.ignored);
    return value;
  });
}

void json_scan_changes(const Report& report, const Write& write) {
  JsonDocument document("scan-changes", report, write);
  if (!report.scan_changes) return;
  const ScanChanges& changes = *report.scan_changes;
  const auto change_json = [](const LossChange& change) -> Json {
    return {{"new", count_json(change.appeared())},
            {"allocated_since", count_json(change.allocated)},
            {"still_there", count_json(change.remained)},
            {"gone", count_json(change.gone)}};
  };
  document.member("from", scan_json(changes.from));
  document.member("to", scan_json(changes.to));
  document.member("lost", change_json(changes.total));
  document.member("stack_count", changes.stack_count);
  document.list("stacks", changes.stacks, [&](const ChangedStack& stack) -> Json {
    return {{"id", stack.id},
            {"function", stack.function},
            {"variant", stack.variant},
            {"lost", change_json(stack.change)},
            {"frames", stack.frames}};
  });
  document.frames(report);
}

}  // namespace heaptap::report
