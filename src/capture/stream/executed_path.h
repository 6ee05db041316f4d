// Name of a process's program: the path that was executed, where the kernel tells the file behind it alone.
#pragma once
#include <sys/types.h>

#include <string>

namespace heaptap::stream {

// The path that was passed to exec: of a script, the script's. A relative one is completed with the current working directory. Empty:
// unknown. `word_bytes`: of the process.
std::string executed_path(pid_t process, unsigned word_bytes);

// A program with several names is often one file with links to it, "/usr/bin/redis-server" to "/usr/bin/redis-check-rdb": the program
// is known by the executed one. Returns that if it leads to `file`, the target of all links, under another file name, and stays
// valid; else `file`.
std::string program_path(pid_t process, const std::string& file, const std::string& executed);

}  // namespace heaptap::stream
