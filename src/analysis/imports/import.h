// Other tools' files, read as if they were heaptap traces. The format is detected by content, not by file name.
#pragma once
#include <memory>
#include <string>

#include "common/base/result.h"
#include "common/model/event_source.h"

namespace heaptap::imports {

// Whether the file starts like one of a supported format.
bool is_import(const std::string& path);

// Fails if the file can't be read or has an unknown version. A truncated file opens: what is readable is read, and after replay()
// capture().truncated and .damage describe the rest.
base::Result<std::unique_ptr<model::EventSource>> open_import(const std::string& path);

}  // namespace heaptap::imports
