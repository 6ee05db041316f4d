#include "exports/memlog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include "base/safe_text.h"
#include "exports/frame_text.h"

namespace heaptap::exports {
namespace {

// Bytes by the lines of a stack's frames, which tell the same stack in another report of the process.
using BytesByStack = std::map<std::string, int64_t, std::less<>>;

std::string lines_of(const report::Report& report, const report::StackEntry& stack) {
  std::string text = fmt::format("\t{}\n", base::safe_text(stack.function));
  for (const model::Frame& frame : report.list(stack.frames)) {
    text += fmt::format("\t{} ({})\n", name_of(frame), frame.module.empty() ? "unknown" : module_of(frame));
  }
  return text;
}

BytesByStack live_bytes(const report::Report& report) {
  BytesByStack bytes;
  for (const report::StackEntry& stack : report.stacks) {
    if (!stack.mapping && stack.live_bytes != 0)
      bytes[lines_of(report, stack)] += static_cast<int64_t>(stack.live_bytes);
  }
  return bytes;
}

// Adds the changes of a file. Lines that aren't of the format end it.
void add_changes(std::string_view text, BytesByStack& bytes) {
  const auto take_line = [&text] {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    return line;
  };
  if (!text.empty()) take_line();
  while (!text.empty()) {
    std::string_view line = take_line();
    if (line.starts_with('+')) line.remove_prefix(1);
    int64_t change = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), change).ec != std::errc()) return;
    std::string lines;
    while (text.starts_with('\t')) lines += take_line();
    bytes[lines] += change;
  }
}

int64_t sum_of(const BytesByStack& bytes) {
  int64_t sum = 0;
  for (const auto& [lines, value] : bytes) sum += value;
  return sum;
}

}  // namespace

std::string memlog_name(const report::Report& report) {
  const model::Capture& capture = report.capture;
  const std::string path = capture.command.empty() ? capture.executable : capture.command.front();
  std::string name = base::safe_text(path.substr(path.rfind('/') + 1));
  constexpr size_t kMaxName = 100;  // a file's may have 255 bytes
  if (name.size() > kMaxName) name.resize(kMaxName);
  return fmt::format("{}-{}-", name.empty() ? "unknown" : name, capture.pid);
}

base::Result<> write_next_memlog(const report::Report& report, std::span<const std::string> before,
                                 const report::Write& write) {
  if (!report.totals.live_known) return base::fail("what is not freed is not known of this trace");
  BytesByStack changes = live_bytes(report);
  const int64_t outstanding = sum_of(changes);
  BytesByStack earlier;
  for (const std::string& text : before) add_changes(text, earlier);
  for (const auto& [lines, bytes] : earlier) changes[lines] -= bytes;
  std::vector<std::pair<std::string, int64_t>> sorted(changes.begin(), changes.end());
  std::erase_if(sorted, [](const auto& entry) { return entry.second == 0; });
  std::ranges::stable_sort(sorted, [](const auto& one, const auto& other) { return one.second > other.second; });
  write(fmt::format("{} ({:+})\n", outstanding, outstanding - sum_of(earlier)));
  for (const auto& [lines, change] : sorted) write(fmt::format("{:+}\n{}", change, lines));
  return {};
}

base::Result<> write_memlog(const report::Report& report, const report::Write& write) {
  return write_next_memlog(report, {}, write);
}

}  // namespace heaptap::exports
