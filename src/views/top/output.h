// `heaptap top` without a screen: text pictures, or one JSON object per sample (docs/json.md).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "views/client/recording.h"
#include "views/top/history.h"
#include "views/top/name_book.h"
#include "views/top/session.h"

namespace heaptap::top {

// Waits that long; false: end requested.
using Wait = std::function<bool(uint64_t nanoseconds)>;

// One picture of `width` columns, without keys, with as many rows as the settings say. With `wait`: after two samples with the delay
// between them, which give rates; nothing if the end was requested. Without: of now.
base::Result<std::string> picture_as_text(client::Recording& recording, const TopSettings& settings, size_t width,
                                          const Wait& wait = {});

// Writes one object per line to `write`, which returns whether to continue.
using WriteLine = std::function<base::Result<bool>(std::string_view line)>;
base::Result<> write_json_lines(client::Recording& recording, const TopSettings& settings, const WriteLine& write,
                                const Wait& wait);

// JSON of the history's current state; rows are named if their names are known.
std::string json_line(const History& history, const NameBook& names, const State& state, size_t rows);

// Words of --sort, and their figures.
std::vector<std::string> figure_words();
std::optional<Figure> figure_of(std::string_view word);

}  // namespace heaptap::top
