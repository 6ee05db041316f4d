#include "views/html/process_rows.h"

#include <algorithm>

#include "analysis/report/process_sums.h"

namespace heaptap::html {

ProcessRows choose_processes(const report::Report& report, size_t limit) {
  const std::vector<report::ProcessEntry>& all = report.processes;
  std::vector<bool> kept(all.size(), all.size() <= limit);
  if (all.size() > limit) {
    size_t left = limit;
    const auto keep = [&](size_t place) {
      if (left == 0 || kept[place]) return;
      kept[place] = true;
      --left;
    };
    keep(0);
    if (const report::ProcessEntry* const process = report::peak_process_of(report))
      keep(static_cast<size_t>(process - all.data()));
    for (const report::ProcessEntry* process : report::largest_first(all))
      keep(static_cast<size_t>(process - all.data()));
  }
  ProcessRows made;
  made.of_process.resize(all.size());
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (!kept[i]) continue;
    made.of_process[i] = static_cast<uint32_t>(made.rows.size());
    made.rows.push_back({.process = i});
  }
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (kept[i]) continue;
    made.of_process[i] = static_cast<uint32_t>(made.rows.size());
    ++made.folded;
  }
  if (made.folded != 0) made.rows.push_back({.process = 0, .folded = made.folded});
  return made;
}

}  // namespace heaptap::html
