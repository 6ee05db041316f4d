// Contents of one screen, as data: made from the history (history.h) and the state (state.h), drawn by draw.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "views/top/grid.h"
#include "views/top/history.h"
#include "views/top/name_book.h"
#include "views/top/state.h"
#include "views/top/table.h"

namespace heaptap::top {

struct StyledText {
  std::string text;
  Style style = Style::kPlain;
};

struct PictureGauge {
  std::string name;
  std::string value;  // "-": unknown
  History::Series series;
  double most = 0;  // value of a full bar; 0: maximum of the series
};

struct PictureColumn {
  Figure figure = Figure::kLive;
  std::string title;
  size_t width = 0;
  bool chosen = false;  // sort column
};

struct PictureRow {
  uint64_t key = 0;
  std::vector<StyledText> cells = {};           // by column
  std::string name = {};                        // last column
  std::vector<std::string> shorter_names = {};  // if it doesn't fit, longest first
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
  std::vector<PictureRow> rows;    // visible ones
  std::optional<size_t> selected;  // of `rows`
  std::string no_rows;             // reason if there are none
  std::vector<StyledText> lines;   // in place of rows: a stack's page or the help, from the first visible line
  size_t first_line = 0;           // number of the first of `lines`
  std::string prompt;              // input line, in place of the keys
  std::vector<KeyHint> keys;
};

// Division of the screen's lines.
struct Layout {
  size_t width = 0;
  size_t height = 0;
  size_t gauge_lines = 0;  // 3: full; 1: short; 0: none
  bool has_status = false;
  bool has_keys = true;
  [[nodiscard]] size_t head_line() const { return 1 + gauge_lines + (has_status ? 1 : 0); }
  [[nodiscard]] size_t page_rows() const {
    const size_t others = head_line() + 1 + (has_keys ? 1 : 0);
    return height > others ? height - others : 0;
  }
};
// `has_keys`: with a last line of key hints.
Layout layout_of(size_t width, size_t height, bool has_keys = true);

// Input of a picture besides the layout.
struct PictureInput {
  const History& history;
  const NameBook& names;
  const Table& table;
  const State& state;               // settled for the layout
  const StackPage* page = nullptr;  // of the opened stack; null: not there yet
  std::string message = {};         // last event
  bool is_trouble = false;          // the message is an error
  bool has_ended = false;           // no further samples
};
Picture make_picture(const PictureInput& input, const Layout& layout);

}  // namespace heaptap::top
