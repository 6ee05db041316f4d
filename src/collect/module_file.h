// Opens the file of a module that a recorded process has mapped, while the process lives or where its file still is.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "model/tables.h"

namespace heaptap::collect {

// The very file: a regular one whose build-id is the module's. None: it can't be had, or the module has no build-id. Of one that a program
// serves it is a copy (base/served_files.h).
base::UniqueFd open_module_file(pid_t process, const model::Module& module);

// Where the links in a module's path lead, as the process sees it; empty: nowhere else, or it can't be told.
std::string file_behind(pid_t process, const std::string& path);

// "/proc/self/fd/4" and the like lead elsewhere as soon as the descriptor is closed, and for everybody else: the name that the kernel
// has for the mapped file then ("/memfd:plugin"). Any other path is what it was.
std::string lasting_path(pid_t process, const model::Module& module);

// As much as there is of it from there on, at most `most_bytes`.
std::string read_piece(const base::UniqueFd& file, uint64_t offset, size_t most_bytes);

}  // namespace heaptap::collect
