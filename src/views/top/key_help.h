// Key bindings, for the help screen and `heaptap help top`. The man page has the same keys (tests/e2e/man_test.py).
#pragma once
#include <array>
#include <string_view>

namespace heaptap::top {

struct KeyHelp {
  std::string_view keys;  // separated by blanks
  std::string_view what;
};

inline constexpr std::array kKeyHelp{
    KeyHelp{"↑ ↓ PgUp PgDn Home End", "choose a row; so do a click and the wheel"},
    KeyHelp{"< >", "sort by the column to the left or right; so does a click on its title"},
    KeyHelp{"r", "the smallest first, or the largest"},
    KeyHelp{"Enter", "a stack's frames, threads, sizes; after a scan what points to it"},
    KeyHelp{"/", "show only what has this text in a function or a module; Esc ends that"},
    KeyHelp{"k t o", "stacks, threads, modules (objects)"},
    KeyHelp{"m", "set a mark: growth counts from there"},
    KeyHelp{"s", "scan for leaks; the process is paused during the scan"},
    KeyHelp{"p", "freeze the picture, or continue"},
    KeyHelp{"Tab", "next process, where several are recorded"},
    KeyHelp{"i", "next program of the process, where it executed several"},
    KeyHelp{"Esc", "back"},
    KeyHelp{"h ?", "help"},
    KeyHelp{"q", "quit; back from this help"},
};

}  // namespace heaptap::top
