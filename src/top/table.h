// The rows of a grouping: which there are, their figures, and in which order they come.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "top/history.h"
#include "top/name_book.h"
#include "top/state.h"

namespace heaptap::top {

struct TableRow {
  uint64_t key = 0;  // of a stack its id, of a thread its number, of a module its place + 1 in `modules`
  std::array<std::optional<double>, kFigureCount> figures{};
  std::optional<double>& of(Figure figure) { return figures[static_cast<size_t>(figure)]; }
  [[nodiscard]] const std::optional<double>& of(Figure figure) const { return figures[static_cast<size_t>(figure)]; }
};

struct Table {
  struct Place {
    double weight = 0;
    uint64_t key = 0;
  };
  std::vector<Place> order;          // all rows
  std::vector<TableRow> modules;     // where these are the rows
  std::vector<std::string> names;    // and their paths
  uint64_t hidden = 0;               // rows that the filter leaves out
  uint64_t unnamed = 0;              // stacks of which it isn't known yet: they have no names
  std::vector<uint64_t> names_next;  // stacks that names are wanted of so that this becomes less
};

Table make_table(const History& history, const NameBook& names, const State& state);
TableRow row_of(const History& history, const Table& table, const State& state, uint64_t key);

// The figures that the rows of a grouping have, in the order of their columns.
std::vector<Figure> figures_of(Grouping grouping, bool has_leaks);

// The cursor and what is shown first, so that the cursor is in sight.
State settled(State state, const Table& table, size_t page_rows);

// Whether a filter lets a stack's names through: a part of one, capitals alike unless it has some.
bool passes(const std::string& searched, const std::string& filter);

}  // namespace heaptap::top
