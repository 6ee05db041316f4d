// `heaptap top` without a screen: pictures as text, or an object of JSON for each sample (docs/json.md).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "live/recording.h"
#include "top/history.h"
#include "top/name_book.h"
#include "top/session.h"

namespace heaptap::top {

// One picture of `width` columns, without keys; as many rows as the settings say. Rates need two samples: of a recording that goes
// on there is a delay between them.
base::Result<std::string> picture_as_text(live::Recording& recording, const TopSettings& settings, size_t width);

// An object a line, each handed to `write`, which says whether it goes on.
using WriteLine = std::function<base::Result<bool>(std::string_view line)>;
// Waits for so long; false: somebody asks for the end.
using Wait = std::function<bool(uint64_t nanoseconds)>;
base::Result<> write_json_lines(live::Recording& recording, const TopSettings& settings, const WriteLine& write,
                                const Wait& wait);

// Of what a history knows now; the rows are named where their names are known.
std::string json_line(const History& history, const NameBook& names, const State& state, size_t rows);

// The words of --sort, and what they stand for.
std::vector<std::string> figure_words();
std::optional<Figure> figure_of(std::string_view word);

}  // namespace heaptap::top
