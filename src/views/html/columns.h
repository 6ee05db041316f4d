// Column-wise JSON of tables: one array per column.
#pragma once
#include <string_view>

#include "views/json/json_writer.h"

namespace heaptap::html {

// One value for each entry.
template <typename Entries, typename ValueOf>
void write_column(json::JsonWriter& json, std::string_view name, const Entries& entries, ValueOf value_of) {
  json.key(name).begin_array();
  for (const auto& entry : entries) json.value(value_of(entry));
  json.end_array();
}

}  // namespace heaptap::html
