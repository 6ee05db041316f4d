// JSON of the leak scan views.
#include "analysis/report/view.h"
#include "common/model/heap_scan.h"
#include "views/json/json_values.h"

namespace heaptap::json {
namespace {

void write_block(JsonWriter& json, const report::NamedBlock& block) {
  const JsonObject object(json);
  json.member("number", known(!model::is_earlier(block.number), block.number));
  json.member("address", JsonHex{block.address});
  json.member("size", block.size_bytes);
  json.member("state", block.state);
  json.member("suppressed", block.suppressed);
  json.member("type", or_null(block.type));
  json.member("stack", block.stack_id);
  json.member("function", block.function);
  write_json(json.key("caller"), block.caller);
  if (!block.name.empty()) json.member("name", block.name);
}

void write_root(JsonWriter& json, const report::NamedRoot& root) {
  const JsonObject object(json);
  json.member("kind", root.kind);
  json.member("name", or_null(root.name));
  json.member("file", or_null(root.file));
  json.member("line", known(!root.file.empty(), root.line));
  json.member("module", or_null(root.module));
  json.member("offset", known(!root.module.empty(), root.offset));
  json.member("thread", known(root.thread != 0, root.thread));
  json.member("thread_name", or_null(root.thread_name));
  json.member("address", known(root.kind != "register", JsonHex{root.address}));
  if (root.frame)
    write_json(json.key("frame"), *root.frame);
  else
    json.member("frame", nullptr);
}

void write_chain(JsonWriter& json, const std::optional<report::HolderChain>& chain) {
  if (!chain) return json.value(nullptr);
  const JsonObject object(json);
  if (chain->root)
    write_root(json.key("root"), *chain->root);
  else
    json.member("root", nullptr);
  json.member("pointer", or_null(chain->pointer));
  json.key("steps").begin_array();
  for (const report::HolderStep& step : chain->steps) {
    const JsonObject entry(json);
    write_block(json.key("block"), step.block);
    json.member("offset", step.offset);
    json.member("pointer", step.pointer);
  }
  json.end_array();
  json.member("left_out", chain->left_out);
}

void write_possible(JsonWriter& json, const report::PossiblyLost& possible) {
  const JsonObject object(json);
  write_block(json.key("block"), possible.block);
  write_json(json.key("count"), possible.count);
  write_chain(json.key("held"), possible.held);
}

void write_retained(JsonWriter& json, const report::RetainedEntry& entry) {
  const JsonObject object(json);
  if (entry.block) {
    write_block(json.key("block"), *entry.block);
  } else if (entry.stack_id != 0) {
    json.member("stack", entry.stack_id);
    json.member("function", entry.function);
    write_json(json.key("caller"), entry.caller);
  } else {
    json.member("type", or_null(entry.type));
  }
  write_json(json.key("own"), entry.own);
  write_json(json.key("retained"), entry.retained);
}

void write_global(JsonWriter& json, const report::GlobalEntry& entry) {
  const JsonObject object(json);
  write_root(json.key("variable"), entry.variable);
  write_json(json.key("direct"), entry.direct);
  write_json(json.key("retained"), entry.retained);
  write_json(json.key("also"), entry.also);
  json.key("also_from").values(entry.also_from);
  json.member("of_libraries", entry.of_libraries);
}

void write_scan(JsonWriter& json, const report::ScanEntry& entry) {
  const JsonObject object(json);
  write_members(json, entry.facts);
  write_json(json.key("definite"), entry.definite);
  write_json(json.key("indirect"), entry.indirect);
  write_json(json.key("possible"), entry.possible);
  write_json(json.key("reachable"), entry.reachable);
  write_json(json.key("suppressed"), entry.suppressed);
  write_json(json.key("ignored"), entry.ignored);
}

void write_change(JsonWriter& json, const report::LossChange& change) {
  const JsonObject object(json);
  write_json(json.key("new"), change.appeared());
  write_json(json.key("allocated_since"), change.allocated);
  write_json(json.key("still_there"), change.remained);
  write_json(json.key("gone"), change.gone);
}

void write_changed(JsonWriter& json, JsonStacks& stacks, const report::ChangedStack& stack) {
  const JsonObject object(json);
  json.member("id", stack.id);
  json.member("function", stack.function);
  json.member("variant", stack.variant);
  write_change(json.key("lost"), stack.change);
  stacks.write(json, stack.frames);
}

}  // namespace

void json_holders(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("holders", report, version, write);
  if (!report.holders) return;
  const report::Holders& holders = *report.holders;
  write_json(document.key("scan"), report.leaks.scan);
  document.member("asked", holders.asked);
  write_block(document.key("block"), holders.block);
  document.member("offset", holders.offset);
  if (holders.of_stack.blocks != 0) {
    write_json(document.key("of_stack"), holders.of_stack);
    write_json(document.key("of_kind"), holders.of_kind);
    write_json(document.key("same_root"), holders.same_root);
  } else {
    document.member("of_stack", nullptr);
    document.member("of_kind", nullptr);
    document.member("same_root", nullptr);
  }
  write_chain(document.key("held"), holders.held);
  write_chain(document.key("below"), holders.below);
  write_chain(document.key("cycle"), holders.cycle);
  if (holders.possible) write_possible(document.key("possible"), *holders.possible);
  document.member("earlier_scan", known(holders.earlier_scan != 0, holders.earlier_scan));
  write_chain(document.key("earlier"), holders.earlier);
}

void json_retained(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("retained", report, version, write);
  if (!report.retained) return;
  write_json(document.key("scan"), report.leaks.scan);
  document.member("by", report.retained->by);
  write_json(document.key("held"), report.retained->held);
  document.member("entry_count", report.retained->entry_count);
  document.list("entries", report.retained->entries, write_retained);
}

void json_globals(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("globals", report, version, write);
  if (!report.globals) return;
  write_json(document.key("scan"), report.leaks.scan);
  const report::Globals& globals = *report.globals;
  write_json(document.key("reachable"), globals.reachable);
  write_json(document.key("held"), globals.held);
  write_json(document.key("unlisted"), globals.unlisted);
  write_json(document.key("shared"), globals.shared);
  document.list("shared_by", globals.shared_by, write_root);
  write_json(document.key("elsewhere"), globals.elsewhere);
  write_json(document.key("thread_locals"), globals.thread_locals);
  write_json(document.key("mappings"), globals.mappings);
  write_json(document.key("stacks"), globals.stacks);
  document.member("entry_count", globals.entry_count);
  document.list("entries", globals.entries, write_global);
}

void json_scans(const report::Report& report, Version version, const report::Write& write) {
  JsonDocument document("scans", report, version, write);
  if (report.scans) document.list("scans", *report.scans, write_scan);
}

void json_scan_changes(const report::Report& report, Version version, const report::Write& write) {
  JsonStacks stacks(report.frames, version);
  JsonDocument document("scan-changes", report, version, write);
  if (!report.scan_changes) return;
  const report::ScanChanges& changes = *report.scan_changes;
  write_json(document.key("from"), changes.from);
  write_json(document.key("to"), changes.to);
  write_change(document.key("lost"), changes.total);
  document.member("stack_count", changes.stack_count);
  document.list("stacks", changes.stacks,
                [&stacks](JsonWriter& json, const report::ChangedStack& stack) { write_changed(json, stacks, stack); });
  document.tables(stacks);
}

namespace {

const char* arena_kind(model::RegionKind kind) {
  switch (kind) {
    case model::RegionKind::kHeap:
      return "heap";
    case model::RegionKind::kArena:
      return "arena";
    case model::RegionKind::kMappedBlock:
      return "mapped-blocks";
    default:
      return "unknown";
  }
}

void write_arena(JsonWriter& json, const report::ArenaUse& arena) {
  const JsonObject object(json);
  json.member("kind", arena_kind(arena.kind));
  json.member("arena", arena.arena != 0 ? std::optional(arena.arena) : std::nullopt);
  json.member("reserved_bytes", arena.reserved_bytes);
  json.member("resident_bytes", arena.resident_bytes);
  json.member("live_bytes", arena.live.bytes);
  json.member("live_blocks", arena.live.blocks);
  json.member("unused_page_bytes", arena.unused_bytes);
}

void write_keep(JsonWriter& json, JsonStacks& stacks, const report::StackKeep& stack) {
  const JsonObject object(json);
  json.member("stack", stack.stack_id);
  json.member("function", stack.function);
  json.member("live_bytes", stack.live.bytes);
  json.member("live_blocks", stack.live.blocks);
  json.member("pages", stack.pages);
  json.member("kept_bytes", stack.kept_bytes);
  stacks.write(json, stack.frames);
}

void write_placed(JsonWriter& json, const report::BlockCount& placed, const report::BlockCount& unplaced) {
  json.member("placed_blocks", placed.blocks);
  json.member("placed_bytes", placed.bytes);
  json.member("unplaced_blocks", unplaced.blocks);
  json.member("unplaced_bytes", unplaced.bytes);
}

void write_moment_keep(JsonWriter& json, JsonStacks& stacks, const report::MomentPages& pages,
                       const report::StackKeep& stack) {
  const JsonObject object(json);
  json.member("stack", stack.stack_id);
  json.member("function", stack.function);
  write_placed(json, stack.live, stack.unplaced);
  json.member("pages", stack.pages);
  json.member("placed_kept_bytes_at_most", pages.placed_keep_at_most(stack.kept_bytes));
  json.member("kept_bytes_at_most", pages.keeps_at_most(stack));
  stacks.write(json, stack.frames);
}

const char* moment_kind(report::MomentPages::At at) {
  switch (at) {
    case report::MomentPages::At::kTime:
      return "time";
    case report::MomentPages::At::kMark:
      return "mark";
    case report::MomentPages::At::kPeak:
      return "peak";
    case report::MomentPages::At::kEnd:
      return "end";
  }
  return "time";
}

void write_moment(JsonWriter& json, JsonStacks& stacks, const report::MomentPages& pages) {
  const JsonObject object(json);
  json.member("kind", moment_kind(pages.at));
  json.member("time_ns", pages.time_ns);
  json.member("page_bytes", pages.page_bytes);
  json.member("knows_all_blocks", pages.knows_all_blocks);
  json.member("knows_all_releases", pages.knows_all_releases);
  write_placed(json, pages.placed, pages.unplaced);
  json.member("pages", pages.pages);
  json.member("placed_kept_bytes_at_most", pages.placed_keep_at_most(pages.rest_bytes));
  json.member("kept_bytes_at_most", pages.keeps_at_most());
  json.member("nearest_scan", pages.nearest_scan != 0 ? std::optional(pages.nearest_scan) : std::nullopt);
  json.member("stack_count", pages.stack_count);
  json.key("stacks").begin_array();
  for (const report::StackKeep& stack : pages.stacks) write_moment_keep(json, stacks, pages, stack);
  json.end_array();
}

}  // namespace

void json_fragmentation(const report::Report& report, Version version, const report::Write& write) {
  JsonStacks stacks(report.frames, version);
  JsonDocument document("fragmentation", report, version, write);
  write_json(document.key("totals"), report.totals);
  if (!report.fragmentation) {
    for (const char* name : {"page_bytes", "arenas", "kept_bytes", "unused_page_bytes", "stack_count", "stacks"})
      document.member(name, nullptr);
    if (!report.moment_pages) return;
    write_moment(document.key("moment"), stacks, *report.moment_pages);
    document.tables(stacks);
    return;
  }
  const report::Fragmentation& fragmentation = *report.fragmentation;
  document.member("page_bytes", fragmentation.page_bytes);
  document.list("arenas", fragmentation.arenas, write_arena);
  document.member("kept_bytes", fragmentation.kept_bytes);
  document.member("unused_page_bytes", fragmentation.unused_bytes);
  document.member("stack_count", fragmentation.stack_count);
  document.list("stacks", fragmentation.stacks,
                [&stacks](JsonWriter& json, const report::StackKeep& stack) { write_keep(json, stacks, stack); });
  document.tables(stacks);
}

}  // namespace heaptap::json
