#include "report/text_blocks.h"

#include <fmt/format.h>

#include "base/safe_text.h"
#include "base/units.h"
#include "report/text_parts.h"
#include "report/text_safe.h"

namespace heaptap::report {

using base::format_bytes;

std::string short_safe(const std::string& name) { return base::safe_text(short_name(name, kNameWidth)); }

namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string thread_text(const NamedRoot& root) {
  if (root.thread == 0) return "";
  const std::string name = root.thread_name.empty() ? "" : " \"" + base::safe_text(root.thread_name) + "\"";
  return fmt::format(" of thread {}{}", root.thread, name);
}

std::string variable_text(const NamedRoot& root) {
  std::string text = short_safe(root.name);
  if (!root.file.empty()) text += base::safe_text(fmt::format(" ({}:{})", base_name(root.file), root.line));
  return root.offset == 0 ? text : text + fmt::format(" +{}", root.offset);
}

std::string frame_text(const NamedRoot& root) {
  return root.frame ? ", frame " + describe(*root.frame, kNameWidth) : fmt::format(", at {:#x}", root.address);
}

}  // namespace

std::string block_text(const NamedBlock& block) {
  const std::string type = block.type.empty() ? "" : "  " + short_safe(block.type);
  return fmt::format("#b{}  {}{}  by {} from {} (stack #{})", block.number, format_bytes(block.size_bytes), type,
                     block.function, describe(block.caller, kNameWidth), block.stack_id);
}

std::string root_text(const NamedRoot& root) {
  const bool is_thread_local = root.kind == "thread-local";
  if (root.kind == "global" || is_thread_local) {
    const std::string thread = is_thread_local ? thread_text(root) : "";
    if (!root.name.empty()) return root.kind + " " + variable_text(root) + thread;
    const std::string what = is_thread_local ? "thread-local storage" : "global data";
    if (root.module.empty()) return what + thread + fmt::format(", at {:#x}", root.address);
    return what + thread + base::safe_text(fmt::format(", {}+{:#x}", base_name(root.module), root.offset));
  }
  if (root.kind == "register") return "register " + root.name + thread_text(root);
  if (root.kind == "mapping") return fmt::format("memory mapped at {:#x}", root.address);
  if (root.kind == "alternate-stack") return "alternate stack" + thread_text(root) + frame_text(root);
  if (root.kind == "context-stack") return fmt::format("context stack at {:#x}", root.address);
  if (root.kind == "kernel") return "a word that the kernel keeps for an event (epoll, a timer)";
  return "stack" + thread_text(root) + frame_text(root);
}

std::string amount(const BlockCount& count) {
  return fmt::format("{} in {}", format_bytes(count.bytes), counted(count.blocks, "block"));
}

}  // namespace heaptap::report
