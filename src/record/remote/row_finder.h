// Lookup of unwind rows and function addresses in files on the host, for objects on the target. Reads in a thread of
// its own, since large files take long.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "common/line/function_codec.h"
#include "common/line/line_messages.h"
#include "common/model/row_table.h"

namespace heaptap::remote {

using line::RowRequest;

struct FoundRows {
  std::string build_id;
  model::RowTable rows;  // empty: none found
};

class RowFinder {
 public:
  RowFinder() = default;
  RowFinder(const RowFinder&) = delete;
  RowFinder& operator=(const RowFinder&) = delete;
  virtual ~RowFinder() = default;

  using Request = std::variant<RowRequest, line::FunctionRequest>;
  using Found = std::variant<FoundRows, line::FoundFunctions>;
  virtual void find(Request request) = 0;
  virtual std::optional<Found> next_found() = 0;
  // Readable when a result is available.
  [[nodiscard]] virtual int descriptor() const = 0;
};

}  // namespace heaptap::remote
