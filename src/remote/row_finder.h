// What files on the host tell of objects on the target: rows for unwinding, and where functions are. They are read in a thread of its
// own, since large files take their time.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "model/row_table.h"
#include "remote/function_codec.h"

namespace heaptap::remote {

struct RowRequest {
  std::string build_id;
  std::string path;                 // as the target has it
  std::optional<uint64_t> address;  // link-time, without a row, or kNoRowAnywhere; none: nothing was missed so far
};

struct FoundRows {
  std::string build_id;
  model::RowTable rows;  // empty: there are none
};

class RowFinder {
 public:
  RowFinder() = default;
  RowFinder(const RowFinder&) = delete;
  RowFinder& operator=(const RowFinder&) = delete;
  virtual ~RowFinder() = default;

  using Request = std::variant<RowRequest, FunctionRequest>;
  using Found = std::variant<FoundRows, FoundFunctions>;
  virtual void find(Request request) = 0;
  virtual std::optional<Found> next_found() = 0;
  // Readable when there is one.
  [[nodiscard]] virtual int descriptor() const = 0;
};

}  // namespace heaptap::remote
