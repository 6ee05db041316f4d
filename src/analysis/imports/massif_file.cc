#include "analysis/imports/massif_file.h"

#include <charconv>

namespace heaptap::imports {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 56;  // the sum of a few such fits
constexpr uint64_t kMaxTime = uint64_t{1} << 62;
constexpr size_t kMaxNodes = size_t{1} << 22;
constexpr uint32_t kMaxDepth = 4096;
constexpr size_t kMaxTreeBytes = size_t{1} << 28;

std::optional<uint64_t> number_of(std::string_view text, uint64_t most) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

struct TreeLine {
  MassifNode node;
  uint64_t callers = 0;
};

// "  n1: 4096 0x4B058CB: _IO_file_doallocate (filedoalloc.c:101)"
std::optional<TreeLine> tree_line_of(std::string_view line) {
  const size_t depth = line.find_first_not_of(' ');
  if (depth > kMaxDepth || line[depth] != 'n') return std::nullopt;  // npos: only spaces
  const std::string_view rest = line.substr(depth + 1);
  const size_t colon = rest.find(": ");
  if (colon == rest.npos) return std::nullopt;
  const std::string_view behind = rest.substr(colon + 2);
  const size_t space = behind.find(' ');
  if (space == behind.npos) return std::nullopt;
  const auto callers = number_of(rest.substr(0, colon), kMaxNodes);
  const auto bytes = number_of(behind.substr(0, space), kMaxBytes);
  if (!callers || !bytes) return std::nullopt;
  return TreeLine{{static_cast<uint32_t>(depth), *bytes, std::string(behind.substr(space + 1))}, *callers};
}

}  // namespace

base::Result<MassifFile> MassifFile::open(const std::string& path) {
  auto text = TextFile::open(path);
  if (!text) return std::unexpected(std::move(text).error());
  MassifFile file(*std::move(text));
  file.read_facts();
  return file;
}

// These lines precede the snapshots, which begin with a line of "#" and "-".
void MassifFile::read_facts() {
  while (const auto line = file_.next()) {
    if (line->starts_with('#')) return;
    if (line->starts_with("cmd: "))
      facts_.command = line->substr(5);
    else if (line->starts_with("time_unit: "))
      facts_.time_unit = line->substr(11);
    else if (!line->starts_with("desc:"))
      ++skipped_lines_;
  }
}

std::optional<MassifSnapshot> MassifFile::next() {
  MassifSnapshot snapshot;
  bool has_begun = false;
  while (fault_ == Fault::kNone) {
    const auto line = file_.next();
    if (!line && has_begun) fault_ = Fault::kCut;
    if (!line) break;
    if (line->empty() || line->starts_with('#')) continue;
    if (line->starts_with("snapshot=")) {
      if (has_begun) ++skipped_lines_;  // the previous one is incomplete
      snapshot = {};
      has_begun = true;
      continue;
    }
    const size_t equals = line->find('=');
    const bool ends_it = line->starts_with("heap_tree=");
    if (!has_begun || equals == line->npos || (!ends_it && !read_field(*line, snapshot))) {
      ++skipped_lines_;
      continue;
    }
    if (!ends_it) continue;
    const std::string_view kind = line->substr(equals + 1);
    snapshot.is_peak = kind == "peak";
    if (snapshot.is_peak || kind == "detailed") read_tree(snapshot);
    return snapshot;
  }
  return std::nullopt;
}

bool MassifFile::read_field(std::string_view line, MassifSnapshot& snapshot) {
  const size_t equals = line.find('=');
  const std::string_view name = line.substr(0, equals);
  const bool is_time = name == "time";
  const auto value = number_of(line.substr(equals + 1), is_time ? kMaxTime : kMaxBytes);
  if (!value) return false;
  if (is_time)
    snapshot.time = *value;
  else if (name == "mem_heap_B")
    snapshot.heap_bytes = *value;
  else if (name == "mem_heap_extra_B")
    snapshot.extra_bytes = *value;
  else if (name == "mem_stacks_B")
    snapshot.stacks_bytes = *value;
  else
    return false;
  return true;
}

// The number of lines follows from the numbers of callers in the nodes.
void MassifFile::read_tree(MassifSnapshot& snapshot) {
  size_t text_bytes = 0;
  for (uint64_t missing = 1; missing != 0;) {
    const auto line = file_.next();
    auto found = line ? tree_line_of(*line) : std::nullopt;
    const bool is_right = found && (snapshot.nodes.empty() ? found->node.depth == 0
                                                           : found->node.depth != 0 &&
                                                                 found->node.depth <= snapshot.nodes.back().depth + 1);
    if (!is_right) {
      fault_ = line ? Fault::kTable : Fault::kCut;
      snapshot.nodes.clear();
      return;
    }
    missing += found->callers - 1;
    text_bytes += line->size();
    snapshot.nodes.push_back(std::move(found->node));
    if (snapshot.nodes.size() + missing > kMaxNodes || text_bytes > kMaxTreeBytes) {
      fault_ = Fault::kTooLarge;
      snapshot.nodes.clear();
      return;
    }
  }
}

}  // namespace heaptap::imports
