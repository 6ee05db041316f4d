#include "analysis/imports/import.h"

#include "analysis/imports/heaptrack.h"
#include "analysis/imports/massif.h"
#include "analysis/imports/text_file.h"

namespace heaptap::imports {
namespace {

enum class Kind { kNone, kHeaptrack, kMassif };

// Cachegrind's files begin with "desc:" as well, but have no unit of time.
Kind kind_of(const std::string& path) {
  constexpr size_t kMaxHeadLines = 32;
  auto file = TextFile::open(path);
  if (!file) return Kind::kNone;
  for (size_t lines = 0; lines < kMaxHeadLines; ++lines) {
    const auto line = file->next();
    if (!line) break;
    if (lines == 0 && is_heaptrack(*line)) return Kind::kHeaptrack;
    if (lines != 0 && line->starts_with("time_unit: ")) return Kind::kMassif;
    const bool may_be_massif = line->starts_with("desc:") || (lines != 0 && line->starts_with("cmd: "));
    if (!may_be_massif) break;
  }
  return Kind::kNone;
}

}  // namespace

bool is_import(const std::string& path) { return kind_of(path) != Kind::kNone; }

base::Result<std::unique_ptr<model::EventSource>> open_import(const std::string& path) {
  return kind_of(path) == Kind::kMassif ? open_massif(path) : open_heaptrack(path);
}

}  // namespace heaptap::imports
