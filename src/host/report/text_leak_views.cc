// Views of a leak scan: who holds a block, what would go with what, and how scans differ.
#include <fmt/format.h>

#include "host/base/units.h"
#include "host/report/text_parts.h"
#include "host/report/text_safe.h"

namespace heaptap::report {
namespace {

using base::format_bytes;
using base::format_count;

std::string short_safe(const std::string& name) { return safe_text(short_name(name, kNameWidth)); }

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string pointer_text(const std::string& kind) {
  return kind.empty() || kind == "start" ? "" : " (" + kind + " pointer)";
}

std::string state_text(const NamedBlock& block) {
  std::string text = block.state == "reachable"  ? "reachable"
                     : block.state == "possible" ? "possibly lost"
                     : block.state == "indirect" ? "indirectly lost"
                                                 : "definitely lost";
  return block.suppressed ? text + ", suppressed" : text;
}

// "48 B  Node  by operator new from make_node at app.cpp:9"
std::string block_text(const NamedBlock& block) {
  const std::string type = block.type.empty() ? "" : "  " + short_safe(block.type);
  return fmt::format("#b{}  {}{}  by {} from {} (stack #{})", block.number, format_bytes(block.size), type,
                     block.function, describe(block.caller, kNameWidth), block.stack_id);
}

std::string thread_text(const NamedRoot& root) {
  if (root.thread == 0) return "";
  const std::string name = root.thread_name.empty() ? "" : " \"" + safe_text(root.thread_name) + "\"";
  return fmt::format(" of thread {}{}", root.thread, name);
}

std::string variable_text(const NamedRoot& root) {
  std::string text = short_safe(root.name);
  if (!root.file.empty()) text += safe_text(fmt::format(" ({}:{})", base_name(root.file), root.line));
  return root.offset == 0 ? text : text + fmt::format(" +{}", root.offset);
}

std::string frame_text(const NamedRoot& root) {
  return root.frame ? ", frame " + describe(*root.frame, kNameWidth) : fmt::format(", at {:#x}", root.address);
}

std::string root_text(const NamedRoot& root) {
  const bool is_thread_local = root.kind == "thread-local";
  if (root.kind == "global" || is_thread_local) {
    const std::string thread = is_thread_local ? thread_text(root) : "";
    if (!root.name.empty()) return root.kind + " " + variable_text(root) + thread;
    const std::string what = is_thread_local ? "thread-local storage" : "global data";
    if (root.module.empty()) return what + thread + fmt::format(", at {:#x}", root.address);
    return what + thread + safe_text(fmt::format(", {}+{:#x}", base_name(root.module), root.offset));
  }
  if (root.kind == "register") return "register " + root.name + thread_text(root);
  if (root.kind == "mapping") return fmt::format("memory mapped at {:#x}", root.address);
  if (root.kind == "alternate-stack") return "alternate stack" + thread_text(root) + frame_text(root);
  if (root.kind == "context-stack") return fmt::format("context stack at {:#x}", root.address);
  if (root.kind == "kernel") return "a word that the kernel keeps for an event (epoll, a timer)";
  return "stack" + thread_text(root) + frame_text(root);
}

// One line for each step of the way, the block itself last.
std::string chain_text(const TextContext& context, const HolderChain& chain, const NamedBlock& block) {
  std::string text;
  if (chain.root) text += "  " + context.ink.bold(root_text(*chain.root)) + pointer_text(chain.pointer) + "\n";
  const char* arrow = chain.root ? "  -> " : "     ";
  for (size_t i = 0; i < chain.steps.size(); ++i) {
    const HolderStep& step = chain.steps[i];
    text += fmt::format("{}{}, at +{}{}\n", arrow, block_text(step.block), step.offset, pointer_text(step.pointer));
    arrow = "  -> ";
    if (chain.left_out != 0 && i + 1 == chain.steps.size() / 2) {
      text += context.ink.dim(fmt::format("     ... {} more ...", counted(chain.left_out, "step"))) + "\n";
    }
  }
  return text + arrow + context.ink.bold(block_text(block)) + "\n";
}

std::string loss_text(const TextContext& context, const Holders& holders) {
  std::string text;
  if (holders.block.state == "reachable") return "\nThe dynamic loader allocated it for itself: it counts as held.\n";
  if (holders.below) {
    text +=
        "\nNo root leads to it. It is lost below this block:\n" + chain_text(context, *holders.below, holders.block);
  } else {
    text += "\nNo root leads to it, and no other lost block, but those that it leads to itself.\n";
  }
  if (holders.earlier) {
    text += fmt::format("\nIn scan {} it was still held:\n", holders.earlier_scan);
    text += chain_text(context, *holders.earlier, holders.block);
  }
  return text;
}

std::string amount(const BlockCount& count) {
  return fmt::format("{} in {}", format_bytes(count.bytes), counted(count.blocks, "block"));
}

std::string more_text(const TextContext& context, size_t shown, uint64_t all) {
  if (shown >= all) return "";
  return context.ink.dim(fmt::format("({} more: -n N shows more)", format_count(all - shown))) + "\n";
}

std::string entry_text(const RetainedEntry& entry) {
  if (entry.block) return block_text(*entry.block);
  if (entry.stack_id != 0) {
    return fmt::format("#{}  {} from {}", entry.stack_id, entry.function, describe(entry.caller, kNameWidth));
  }
  return entry.type.empty() ? "(unknown)" : short_safe(entry.type);
}

std::string when_text(const ScanFacts& scan) {
  return scan.at_end ? "at the program's end" : "after " + base::format_duration(scan.time_ns);
}

std::string changed_stack(const TextContext& context, const ChangedStack& stack) {
  std::string line;
  const auto part = [&](const BlockCount& count, const char* what) {
    if (count.blocks != 0) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", amount(count), what);
  };
  part(stack.change.appeared, "new");
  part(stack.change.remained, "still there");
  part(stack.change.gone, "gone");
  return "\n  " + context.ink.bold(fmt::format("#{}  {}", stack.id, line)) +
         fmt::format("; by {}\n", function_text(stack.function, stack.variant)) + frames_text(context, stack.frames);
}

}  // namespace

std::string text_holders(const TextContext& context) {
  if (!context.report.holders) return title_of(context);
  const Holders& holders = *context.report.holders;
  const NamedBlock& block = holders.block;
  std::string text = title_of(context) + "\n";
  text += fmt::format("Who holds {}?\n", holders.asked);
  if (holders.of_stack.blocks != 0) {
    text += fmt::format("The stack's largest block, of {}:\n", amount(holders.of_stack));
  }
  text += "  " + block_text(block) + fmt::format("\n  at {:#x}", block.address);
  if (holders.offset != 0) text += fmt::format(" (the address is {} into it)", counted(holders.offset, "byte"));
  text += ", " + state_text(block) + "\n";
  if (holders.held) {
    text += "\nA shortest way to it:\n" + chain_text(context, *holders.held, block);
  } else {
    text += loss_text(context, holders);
  }
  if (holders.of_stack.blocks > 1 && holders.held) {
    text += fmt::format("\nThe same root holds {} of this stack.\n", amount(holders.same_root));
  }
  return text + remarks_of(context);
}

std::string text_retained(const TextContext& context) {
  if (!context.report.retained) return title_of(context);
  const Retained& retained = *context.report.retained;
  std::string text = title_of(context) + "\n";
  text += fmt::format("What would go with each {} alone, of {} that are held\n\n", retained.by, amount(retained.held));
  const bool is_block = retained.by == "block";
  TextTable table({{"RETAINED"},
                   {"SHARE"},
                   {"BLOCKS"},
                   {is_block ? "SIZE" : "OWN"},
                   {is_block                 ? "BLOCK"
                    : retained.by == "stack" ? "STACK"
                                             : "TYPE",
                    Align::kLeft}});
  const size_t shown = std::min(retained.entries.size(), context.rows(20));
  for (size_t i = 0; i < shown; ++i) {
    const RetainedEntry& entry = retained.entries[i];
    table.add({format_bytes(entry.retained.bytes), percent(entry.retained.bytes, retained.held.bytes),
               format_count(entry.retained.blocks), format_bytes(entry.own.bytes), entry_text(entry)});
  }
  return text + table.render(context.ink) + more_text(context, shown, retained.entry_count) + remarks_of(context);
}

std::string text_globals(const TextContext& context) {
  if (!context.report.globals) return title_of(context);
  const Globals& globals = *context.report.globals;
  std::string text = title_of(context) + "\n";
  text += fmt::format("{} are held by global variables alone\n\n", amount(globals.held));
  TextTable table({{"RETAINED"}, {"BLOCKS"}, {"POINTS TO"}, {"VARIABLE", Align::kLeft}});
  const size_t shown = std::min(globals.entries.size(), context.rows(20));
  for (size_t i = 0; i < shown; ++i) {
    const GlobalEntry& entry = globals.entries[i];
    table.add({format_bytes(entry.retained.bytes), format_count(entry.retained.blocks),
               counted(entry.direct.blocks, "block"), root_text(entry.variable)});
  }
  text += table.render(context.ink) + more_text(context, shown, globals.entry_count);
  if (globals.shared.blocks != 0) text += fmt::format("\n{} are held by several of them\n", amount(globals.shared));
  return text + remarks_of(context);
}

std::string text_scans(const TextContext& context) {
  if (!context.report.scans) return title_of(context);
  TextTable table({{"SCAN"},
                   {"WHEN", Align::kLeft},
                   {"DEFINITE"},
                   {"INDIRECT"},
                   {"POSSIBLE"},
                   {"REACHABLE"},
                   {"SUPPRESSED"},
                   {"BLOCKS"},
                   {"STOOD STILL"}});
  for (const ScanEntry& scan : *context.report.scans) {
    table.add({format_count(scan.facts.number), when_text(scan.facts), format_bytes(scan.definite.bytes),
               format_bytes(scan.indirect.bytes), format_bytes(scan.possible.bytes), format_bytes(scan.reachable.bytes),
               format_bytes(scan.suppressed.bytes), format_count(scan.facts.blocks),
               base::format_duration(scan.facts.stopped_ns)});
  }
  return title_of(context) + "\n" + table.render(context.ink) + remarks_of(context);
}

std::string text_scan_changes(const TextContext& context) {
  if (!context.report.scan_changes) return title_of(context);
  const ScanChanges& changes = *context.report.scan_changes;
  std::string text = title_of(context) + "\n";
  text += fmt::format("Lost in scan {} ({}), compared with scan {} ({})\n", changes.to.number, when_text(changes.to),
                      changes.from.number, when_text(changes.from));
  const auto row = [&](const char* name, const BlockCount& count, const char* what) {
    text += row_text(name, format_bytes(count.bytes), fmt::format("in {}{}", counted(count.blocks, "block"), what));
  };
  row("new", changes.total.appeared, "");
  row("still there", changes.total.remained, "");
  row("gone", changes.total.gone, ": released, or found again");
  const size_t shown = std::min(changes.stacks.size(), context.rows(20));
  for (size_t i = 0; i < shown; ++i) text += changed_stack(context, changes.stacks[i]);
  return text + more_text(context, shown, changes.stack_count) + remarks_of(context);
}

}  // namespace heaptap::report
