// Rendering of a picture to screen cells of any size: for the terminal, and for `--once` as text.
#pragma once
#include <vector>

#include "views/top/grid.h"
#include "views/top/picture.h"

namespace heaptap::top {

// Positions of clickable elements.
struct Places {
  size_t head_line = 0;
  size_t first_row = 0;  // screen line
  size_t row_count = 0;
  struct Column {
    Figure figure = Figure::kLive;
    size_t begin = 0;
    size_t end = 0;
  };
  std::vector<Column> columns;
};

struct Drawn {
  Grid grid;
  Places places;
};
// `ascii`: for a terminal limited to ASCII.
Drawn draw(const Picture& picture, const Layout& layout, bool ascii);

}  // namespace heaptap::top
