// Rows of a grouping: selection, figures and order.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "views/top/history.h"
#include "views/top/name_book.h"
#include "views/top/state.h"

namespace heaptap::top {

inline constexpr uint64_t kLibrariesKey = ~uint64_t{0};

struct TableRow {
  uint64_t key = 0;  // stack id or kLibrariesKey, thread number, or index + 1 in `modules`
  std::array<std::optional<double>, kFigureCount> figures{};
  std::optional<double>& of(Figure figure) { return figures[static_cast<size_t>(figure)]; }
  [[nodiscard]] const std::optional<double>& of(Figure figure) const { return figures[static_cast<size_t>(figure)]; }
};

struct Table {
  struct Place {
    double weight = 0;
    uint64_t key = 0;
  };
  std::vector<Place> order;        // all rows
  std::vector<TableRow> modules;   // if the rows are modules
  std::vector<std::string> names;  // their paths
  uint64_t hidden = 0;             // excluded by the filter
  uint64_t unnamed = 0;            // stacks not filtered yet, since their names are missing
  // Sum of the stacks of system libraries' memory, as far as they are named, if that is the last one of the rows.
  std::optional<TableRow> libraries;
  uint64_t of_libraries = 0;         // number of these stacks, which have no rows
  std::vector<uint64_t> names_next;  // stacks to request names for next
  // Of the rows, and of those in a sum.
  [[nodiscard]] uint64_t stack_count() const { return order.size() + of_libraries - (libraries ? 1 : 0); }
};

Table make_table(const History& history, const NameBook& names, const State& state);
TableRow row_of(const History& history, const Table& table, const State& state, uint64_t key);

// Figures of a grouping's rows, in the order of their columns.
std::vector<Figure> figures_of(Grouping grouping, bool has_leaks);

// Adjusts cursor and first visible row, so that the cursor is visible.
State settled(State state, const Table& table, size_t page_rows);

// Whether a stack's names pass a filter: a substring, case-insensitive unless it has capitals.
bool passes(const std::string& searched, const std::string& filter);

}  // namespace heaptap::top
