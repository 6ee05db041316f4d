// Host at the other end of a line, as asked by a recording: for unwind rows, and to fetch files. A file has none.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "capture/uplink/row_store.h"
#include "common/model/tables.h"

namespace heaptap::uplink {

class AskedHost {
 public:
  // Offers the files of a stream's modules, from this number on.
  virtual void offer_files(uint64_t stream, size_t first, pid_t process, std::span<const model::Module> modules) = 0;
  // Unwind rows received for objects without their own; kept across sessions.
  [[nodiscard]] virtual RowStore& rows() = 0;
  // Requests rows. `address`: a link-time address without a row, if known, or model::kNoRowAnywhere.
  virtual void want_rows(const std::string& build_id, std::string_view path, std::optional<uint64_t> address) = 0;

 protected:
  AskedHost() = default;
  AskedHost(const AskedHost&) = default;
  AskedHost(AskedHost&&) = default;
  AskedHost& operator=(const AskedHost&) = delete;
  AskedHost& operator=(AskedHost&&) = delete;
  ~AskedHost() = default;
};

}  // namespace heaptap::uplink
