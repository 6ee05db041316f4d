// Data files of heaptrack, of versions 1 to 3 of its format, as a source of events.
//
//   v TOOL FORMAT                 versions                        X COMMAND, I PAGE_BYTES PAGES, A (attached), S …, # …, R …
//   s LENGTH TEXT                 a string (version 3; before: s TEXT)
//   i ADDRESS MODULE [FUNCTION [FILE LINE]]…   a code address, its functions innermost first; module and names are strings
//   t CODE CALLER                 a stack: an `i`, and the stack of its caller (0: none)
//   a SIZE STACK                  what is allocated
//   + ALLOCATED, - ALLOCATED      events, by number of an `a`
//   c MILLISECONDS                the time of what follows
// Numbers are hexadecimal. Strings, codes and stacks are numbered from 1 on, what is allocated from 0 on.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/event_source.h"

namespace heaptap::imports {

// Whether a file of this first line is one.
bool is_heaptrack(std::string_view first_line);

base::Result<std::unique_ptr<model::EventSource>> open_heaptrack(const std::string& path);

}  // namespace heaptap::imports
