#include "analysis/report/activity.h"

#include <algorithm>
#include <tuple>

namespace heaptap::report {
namespace {

auto key_of(const ActivityCell& cell) {
  return std::tuple(cell.bin, cell.stack, cell.process, cell.thread, cell.size_class);
}
auto key_of(const LeftCell& cell) {
  return std::tuple(cell.bin, cell.stack, cell.process, cell.thread, cell.size_class, cell.state);
}

void add(ActivityCell& sum, const ActivityCell& cell) {
  sum.allocations += cell.allocations;
  sum.allocated_bytes += cell.allocated_bytes;
  sum.releases += cell.releases;
  sum.released_bytes += cell.released_bytes;
  sum.temporary += cell.temporary;
}

void add(LeftCell& sum, const LeftCell& cell) {
  sum.blocks += cell.blocks;
  sum.bytes += cell.bytes;
}

template <typename Cell>
void unite_cells(std::vector<Cell>& cells) {
  std::ranges::sort(cells, {}, [](const Cell& cell) { return key_of(cell); });
  size_t kept = 0;
  for (const Cell& cell : cells) {
    if (kept != 0 && key_of(cells[kept - 1]) == key_of(cell))
      add(cells[kept - 1], cell);
    else
      cells[kept++] = cell;
  }
  cells.resize(kept);
}

}  // namespace

void unite(std::vector<ActivityCell>& cells) { unite_cells(cells); }
void unite(std::vector<LeftCell>& cells) { unite_cells(cells); }

}  // namespace heaptap::report
