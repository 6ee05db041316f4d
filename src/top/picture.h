// All that one screen says, as data: made of what is known (history.h) and what was chosen (state.h), drawn by draw.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "top/grid.h"
#include "top/history.h"
#include "top/name_book.h"
#include "top/state.h"
#include "top/table.h"

namespace heaptap::top {

struct StyledText {
  std::string text;
  Style style = Style::kPlain;
};

struct PictureGauge {
  std::string name;
  std::string value;  // "-": not known
  History::Series series;
  double most = 0;  // what a full bar stands for; 0: the largest of the series
};

struct PictureColumn {
  Figure figure = Figure::kLive;
  std::string title;
  size_t width = 0;
  bool chosen = false;  // it is sorted by
};

struct PictureRow {
  uint64_t key = 0;
  std::vector<StyledText> cells = {};           // by column
  std::string name = {};                        // and the last one
  std::vector<std::string> shorter_names = {};  // where that has no room, the longest first
  bool named = true;
};

struct KeyHint {
  std::string key;
  std::string meaning;
};

struct Picture {
  std::string title;  // the program
  std::string title_end;
  std::vector<StyledText> state;  // of the recording: "recording", "frozen", …
  std::vector<PictureGauge> gauges;
  std::vector<StyledText> status;
  Mode mode = Mode::kRows;
  std::string name_title;  // of the last column
  std::vector<PictureColumn> columns;
  std::vector<PictureRow> rows;    // those in sight
  std::optional<size_t> selected;  // of `rows`
  std::string no_rows;             // why there are none
  std::vector<StyledText> lines;   // in place of rows: of a stack's page, of the help; from the first in sight on
  size_t first_line = 0;           // the number of the first of them
  std::string prompt;              // what is typed, in place of the keys
  std::vector<KeyHint> keys;
};

// How the lines of a screen are divided.
struct Layout {
  size_t width = 0;
  size_t height = 0;
  size_t gauge_lines = 0;  // 3: all; 1: in few words; 0: none
  bool has_status = false;
  bool has_keys = true;
  [[nodiscard]] size_t head_line() const { return 1 + gauge_lines + (has_status ? 1 : 0); }
  [[nodiscard]] size_t page_rows() const {
    const size_t others = head_line() + 1 + (has_keys ? 1 : 0);
    return height > others ? height - others : 0;
  }
};
// `has_keys`: with a last line for them.
Layout layout_of(size_t width, size_t height, bool has_keys = true);

// What is shown beside what was measured.
struct PictureInput {
  const History& history;
  const NameBook& names;
  const Table& table;
  const State& state;               // settled for the layout
  const StackPage* page = nullptr;  // of the opened stack; null: not there yet
  std::string message = {};         // what happened last
  bool is_trouble = false;          // and it is none that one hopes for
  bool has_ended = false;           // nothing comes any more
};
Picture make_picture(const PictureInput& input, const Layout& layout);

}  // namespace heaptap::top
