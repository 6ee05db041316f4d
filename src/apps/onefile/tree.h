// A tree of files as an archive has them: written, compared, removed. Below an open directory, so that what is renamed above it doesn't
// lead elsewhere.
#pragma once
#include <string>
#include <vector>

#include "apps/onefile/archive.h"
#include "common/base/result.h"

namespace heaptap::onefile {

// Whether all entries are there, belong to this user, and have these permissions and bytes. What is there besides doesn't matter.
bool is_intact(int directory, const std::vector<Entry>& entries);

// Into an empty directory.
base::Result<> write_tree(int directory, const std::vector<Entry>& entries);

// The file or directory of that name in `directory`, with all that is in it; links are removed, not followed. As far as possible.
void remove_tree(int directory, const std::string& name);

}  // namespace heaptap::onefile
