#include "analysis/findings/block_text.h"

#include <fmt/format.h>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/text_safe.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "common/model/heap_scan.h"

namespace heaptap::findings {

using base::format_bytes;

namespace {

constexpr size_t kMaxBlockName = 64;

}  // namespace

std::string short_safe(const std::string& name) {
  return base::safe_text(short_name(without_defaults(name), kMaxBlockName));
}

namespace {

std::string number_text(model::BlockNumber number) {
  return model::is_earlier(number) ? "(earlier block)" : fmt::format("#b{}", number);
}

// What --why takes.
std::string number_of(const report::NamedBlock& block) {
  return model::is_earlier(block.number) ? fmt::format("{:#x}", block.address) : number_text(block.number);
}

// "#b12  48 B  Node"
std::string described(const report::NamedBlock& block) {
  std::string text = fmt::format("{}  {}", number_of(block), format_bytes(block.size_bytes));
  if (!block.type.empty()) text += "  " + short_safe(block.type);
  if (!block.name.empty()) text += fmt::format("  \"{}\"", base::safe_text(cut_middle(block.name, kMaxBlockName)));
  return text;
}

std::string thread_text(const report::NamedRoot& root) {
  if (root.thread == 0) return "";
  const std::string name = root.thread_name.empty() ? "" : " \"" + base::safe_text(root.thread_name) + "\"";
  return fmt::format(" of thread {}{}", root.thread, name);
}

std::string placed_variable(const report::NamedRoot& root) {
  std::string text = short_safe(root.name);
  if (!root.file.empty()) text += base::safe_text(fmt::format(" ({}:{})", base_name(root.file), root.line));
  return root.offset == 0 ? text : text + fmt::format(" +{}", root.offset);
}

std::string frame_text(const FrameText& frames, const report::NamedRoot& root) {
  return root.frame ? ", frame " + frames.both(*root.frame, kMaxBlockName) : fmt::format(", at {:#x}", root.address);
}

}  // namespace

std::string block_text(const FrameText& frames, const report::NamedBlock& block) {
  return fmt::format("{}  by {} from {} (stack #{})", described(block), block.function,
                     frames.both(block.caller, kMaxBlockName), block.stack_id);
}

std::string short_block_text(const FrameText& frames, const report::NamedBlock& block) {
  return fmt::format("{}  #{} {}", described(block), block.stack_id, frames.site(block.caller, kMaxBlockName));
}

std::string root_text(const FrameText& frames, const report::NamedRoot& root) {
  const bool is_thread_local = root.kind == "thread-local";
  if (root.kind == "global" || is_thread_local) {
    const std::string thread = is_thread_local ? thread_text(root) : "";
    if (!root.name.empty()) return root.kind + " " + placed_variable(root) + thread;
    const std::string what = is_thread_local ? "thread-local storage" : "global data";
    if (root.module.empty()) return what + thread + fmt::format(", at {:#x}", root.address);
    return what + thread + base::safe_text(fmt::format(", {}+{:#x}", base_name(root.module), root.offset));
  }
  if (root.kind == "register") return "register " + root.name + thread_text(root);
  if (root.kind == "mapping") return fmt::format("memory of no block, at {:#x}", root.address);
  if (root.kind == "alternate-stack") return "alternate stack" + thread_text(root) + frame_text(frames, root);
  if (root.kind == "context-stack") return fmt::format("context stack at {:#x}", root.address);
  if (root.kind == "kernel") return "a word that the kernel keeps for an event (epoll, a timer)";
  return "stack" + thread_text(root) + frame_text(frames, root);
}

std::string root_text(const report::Report& report, const report::NamedRoot& root) {
  return root_text(FrameText({}, report.skipped, {}), root);
}

std::string ring_text(const std::vector<uint64_t>& cycle) {
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < cycle.size(); ++i) {
    if (cycle.size() > kShown && i == kShown / 2) text += "... -> ";
    if (cycle.size() <= kShown || i < kShown / 2 || i + kShown / 2 >= cycle.size())
      text += number_text(cycle[i]) + " -> ";
  }
  return cycle.empty() ? text : text + number_text(cycle.front());
}

std::string cycle_text(const report::HolderChain& cycle, const report::NamedBlock& block) {
  std::string text = "Only a cycle points to it: ";
  for (size_t i = 0; i < cycle.steps.size(); ++i) {
    text += number_of(cycle.steps[i].block) + " -> ";
    if (cycle.left_out != 0 && i + 1 == cycle.steps.size() / 2) text += "... -> ";
  }
  return text + number_of(block);
}

std::vector<std::string> holder_lines(const report::Report& report, const report::Holders& holders) {
  const FrameText frames(report.frames, report.skipped, {});
  std::vector<std::string> lines;
  const std::optional<report::HolderChain>& chain = holders.held ? holders.held : holders.below;
  if (chain && chain->root) lines.push_back(root_text(frames, *chain->root));
  if (holders.block.state == "reachable" && !holders.held) {
    lines.emplace_back("The dynamic loader allocated it for itself.");
  } else if (!chain) {
    lines.push_back(holders.cycle ? cycle_text(*holders.cycle, holders.block) : "Nothing points to it.");
  } else if (!holders.held) {
    lines.emplace_back("Lost together with:");
  }
  for (size_t i = 0; chain && i < chain->steps.size(); ++i) {
    lines.push_back(fmt::format("-> {}, at +{}", block_text(frames, chain->steps[i].block), chain->steps[i].offset));
    if (chain->left_out != 0 && i + 1 == chain->steps.size() / 2) {
      lines.push_back(fmt::format("   ... {} more ...", counted(chain->left_out, "step")));
    }
  }
  lines.push_back("-> " + block_text(frames, holders.block));
  return lines;
}

}  // namespace heaptap::findings
