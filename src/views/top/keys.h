// Key handling: maps a key to a new state and a request. The caller, which owns the recording, executes requests.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "views/top/draw.h"
#include "views/top/state.h"
#include "views/top/table.h"

namespace heaptap::top {

struct Key {
  enum class Kind : uint8_t {
    kCharacter,
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kEnter,
    kEscape,
    kTab,
    kBackspace,
    kClick,
    kWheelUp,
    kWheelDown,
  };
  Kind kind = Kind::kCharacter;
  std::string character = {};  // in UTF-8
  size_t x = 0;                // of a click
  size_t y = 0;
};

struct Wish {
  enum class Kind : uint8_t { kNothing, kQuit, kMark, kScan, kOpen, kNextProcess, kNextImage, kRows };
  Kind kind = Kind::kNothing;
  std::string text = {};  // the mark's name
  uint64_t id = 0;        // the stack
  bool operator==(const Wish&) const = default;
};

// Visible contents when the key was pressed.
struct Seen {
  const Table& table;
  const Places& places;
  size_t page_rows = 0;
  bool has_leaks = false;
};

struct Step {
  State state;
  Wish wish;
};
Step press(State state, const Key& key, const Seen& seen);

}  // namespace heaptap::top
