// Transfer of unwind rows between local processes: in an anonymous sealed file, so that they are complete or absent
// even if the sender dies.
#pragma once
#include <optional>

#include "common/base/unique_fd.h"
#include "common/model/row_table.h"

namespace heaptap::uplink {

// None: not supported by the system.
base::UniqueFd file_of(const model::RowTable& rows);

// None: no such file, or invalid content.
std::optional<model::RowTable> rows_in(const base::UniqueFd& file);

}  // namespace heaptap::uplink
