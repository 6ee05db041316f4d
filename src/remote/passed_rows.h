// Rows for unwinding on their way from one process of this machine to another one: in a file without a name that nobody can change
// any more. So they are whole or not there, whenever who made them dies.
#pragma once
#include <optional>

#include "base/unique_fd.h"
#include "model/row_table.h"

namespace heaptap::remote {

// None: the system makes no such file.
base::UniqueFd file_of(const model::RowTable& rows);

// None: it isn't such a file, or what is in it makes no sense.
std::optional<model::RowTable> rows_in(const base::UniqueFd& file);

}  // namespace heaptap::remote
