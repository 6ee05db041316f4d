#include "views/top/keys.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace heaptap::top {
namespace {

constexpr size_t kMaxTyped = 200;
constexpr size_t kWheelRows = 3;
constexpr size_t kMaxLines = 10'000;

void move_cursor(State& state, const Seen& seen, size_t to) {
  const size_t count = seen.table.order.size();
  state.cursor = count == 0 ? 0 : std::min(to, count - 1);
  state.followed = 0;
}

// The wheel scrolls, and moves the cursor along if it would go out of sight.
void scroll_rows(State& state, const Seen& seen, bool down) {
  const size_t count = seen.table.order.size();
  const size_t page = std::max<size_t>(seen.page_rows, 1);
  const size_t last_first = count > page ? count - page : 0;
  state.first = down ? std::min(state.first + kWheelRows, last_first) : state.first - std::min(state.first, kWheelRows);
  const size_t cursor = std::clamp(state.cursor, state.first, state.first + page - 1);
  if (cursor != state.cursor) move_cursor(state, seen, cursor);
}

void sort_by(State& state, Figure figure) {
  state.reversed = state.sort() == figure && !state.reversed;
  state.sorts[static_cast<size_t>(state.grouping)] = figure;
  state.select_first_row();
}

// The visible columns; those without room are skipped.
void sort_beside(State& state, const Seen& seen, bool right) {
  const std::vector<Figure> all = figures_of(state.grouping, seen.has_leaks);
  const auto found = std::ranges::find(all, state.sort());
  const size_t place = found == all.end() ? 0 : static_cast<size_t>(found - all.begin());
  const size_t next = right ? std::min(place + 1, all.size() - 1) : place - std::min<size_t>(place, 1);
  if (all[next] == state.sort()) return;
  state.reversed = false;
  sort_by(state, all[next]);
}

Wish group_by(State& state, Grouping grouping) {
  if (state.grouping == grouping) return {};
  state.grouping = grouping;
  state.select_first_row();
  state.reversed = false;
  return {.kind = Wish::Kind::kRows};
}

Wish open_selected(State& state, const Seen& seen) {
  if (state.grouping != Grouping::kStacks || state.cursor >= seen.table.order.size()) return {};
  if (seen.table.order[state.cursor].key == kLibrariesKey) {
    state.sums_up_libraries = false;
    state.select_first_row();
    return {};
  }
  state.mode = Mode::kStack;
  state.opened = seen.table.order[state.cursor].key;
  state.scrolled = 0;
  return {.kind = Wish::Kind::kOpen, .id = state.opened};
}

Wish click(State& state, const Key& key, const Seen& seen) {
  const Places& places = seen.places;
  if (key.y >= places.first_row && key.y < places.first_row + places.row_count) {
    const size_t row = state.first + key.y - places.first_row;
    if (row == state.cursor && row != 0) return open_selected(state, seen);
    move_cursor(state, seen, row);
    return {};
  }
  if (key.y != places.head_line) return {};
  for (const Places::Column& column : places.columns) {
    if (key.x >= column.begin && key.x < column.end) sort_by(state, column.figure);
  }
  return {};
}

void begin_filter(State& state) {
  state.mode = Mode::kFilter;
  state.kept_filter = state.filter;
}

void remove_filter(State& state) {
  state.filter.clear();
  state.sums_up_libraries = true;
  state.select_first_row();
}

Wish press_letter(State& state, char letter, const Seen& seen) {
  switch (letter) {
    case 'q':
      return {.kind = Wish::Kind::kQuit};
    case 'h':
    case '?':
      state.mode = Mode::kHelp;
      state.scrolled = 0;
      return {};
    case '<':
    case '>':
      sort_beside(state, seen, letter == '>');
      return {};
    case 'r':
      state.reversed = !state.reversed;
      return {};
    case '/':
      begin_filter(state);
      return {};
    case 'm':
      state.mode = Mode::kMark;
      state.input.clear();
      return {};
    case 's':
      return {.kind = Wish::Kind::kScan};
    case 'p':
      state.frozen = !state.frozen;
      return {};
    case 'i':
      return {.kind = Wish::Kind::kNextImage};
    case 'k':
      return group_by(state, Grouping::kStacks);
    case 't':
      return group_by(state, Grouping::kThreads);
    case 'o':
      return group_by(state, Grouping::kModules);
    default:
      return {};
  }
}

Wish press_in_rows(State& state, const Key& key, const Seen& seen) {
  const size_t page = std::max<size_t>(seen.page_rows, 1);
  switch (key.kind) {
    case Key::Kind::kCharacter:
      return key.character.size() == 1 ? press_letter(state, key.character.front(), seen) : Wish{};
    case Key::Kind::kUp:
      move_cursor(state, seen, state.cursor - std::min<size_t>(state.cursor, 1));
      return {};
    case Key::Kind::kDown:
      move_cursor(state, seen, state.cursor + 1);
      return {};
    case Key::Kind::kPageUp:
      move_cursor(state, seen, state.cursor - std::min(state.cursor, page));
      return {};
    case Key::Kind::kPageDown:
      move_cursor(state, seen, state.cursor + page);
      return {};
    case Key::Kind::kHome:
      move_cursor(state, seen, 0);
      return {};
    case Key::Kind::kEnd:
      move_cursor(state, seen, seen.table.order.size());
      return {};
    case Key::Kind::kEnter:
      return open_selected(state, seen);
    case Key::Kind::kEscape:
      remove_filter(state);
      return {};
    case Key::Kind::kTab:
      return {.kind = Wish::Kind::kNextProcess};
    case Key::Kind::kClick:
      return click(state, key, seen);
    case Key::Kind::kWheelUp:
    case Key::Kind::kWheelDown:
      scroll_rows(state, seen, key.kind == Key::Kind::kWheelDown);
      return {};
    case Key::Kind::kBackspace:
      return {};
  }
  return {};
}

// Bounded by the drawing: there are never so many lines.
Wish press_in_page(State& state, const Key& key, const Seen& seen) {
  const size_t page = std::max<size_t>(seen.page_rows, 1);
  const auto scroll = [&state](size_t lines, bool down) {
    state.scrolled =
        down ? std::min(state.scrolled + lines, kMaxLines) : state.scrolled - std::min(state.scrolled, lines);
  };
  switch (key.kind) {
    case Key::Kind::kUp:
    case Key::Kind::kDown:
      scroll(1, key.kind == Key::Kind::kDown);
      return {};
    case Key::Kind::kPageUp:
    case Key::Kind::kPageDown:
      scroll(page, key.kind == Key::Kind::kPageDown);
      return {};
    case Key::Kind::kWheelUp:
    case Key::Kind::kWheelDown:
      scroll(kWheelRows, key.kind == Key::Kind::kWheelDown);
      return {};
    case Key::Kind::kHome:
      state.scrolled = 0;
      return {};
    case Key::Kind::kCharacter:
      if (key.character == "q" && state.mode != Mode::kHelp) return {.kind = Wish::Kind::kQuit};
      if (key.character == "s" && state.mode == Mode::kStack) return {.kind = Wish::Kind::kScan};
      if (key.character == "h" || key.character == "?" || key.character == "q") state.mode = Mode::kRows;
      return {};
    case Key::Kind::kEscape:
    case Key::Kind::kEnter:
    case Key::Kind::kBackspace:
      state.mode = Mode::kRows;
      return {};
    default:
      return {};
  }
}

void erase_last(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

Wish press_in_prompt(State& state, const Key& key) {
  const bool is_filter = state.mode == Mode::kFilter;
  std::string& typed = is_filter ? state.filter : state.input;
  switch (key.kind) {
    case Key::Kind::kCharacter:
      if (typed.size() + key.character.size() <= kMaxTyped) typed += key.character;
      break;
    case Key::Kind::kBackspace:
      erase_last(typed);
      break;
    case Key::Kind::kEnter:
      state.mode = Mode::kRows;
      if (!is_filter && !state.input.empty()) return {.kind = Wish::Kind::kMark, .text = state.input};
      break;
    case Key::Kind::kEscape:
      state.mode = Mode::kRows;
      if (is_filter) state.filter = state.kept_filter;
      break;
    default:
      return {};
  }
  if (is_filter) state.select_first_row();
  return {};
}

}  // namespace

Step press(State state, const Key& key, const Seen& seen) {
  Wish wish;
  switch (state.mode) {
    case Mode::kRows:
      wish = press_in_rows(state, key, seen);
      break;
    case Mode::kStack:
    case Mode::kHelp:
      wish = press_in_page(state, key, seen);
      break;
    case Mode::kFilter:
    case Mode::kMark:
      wish = press_in_prompt(state, key);
      break;
  }
  return {std::move(state), std::move(wish)};
}

}  // namespace heaptap::top
