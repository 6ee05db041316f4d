// Small files read whole, mainly those of /proc, whose size is unknown; and helpers for paths. Without streams and
// <filesystem>, which are too large for a static program.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace heaptap::base {

// Empty: unreadable (errno has the reason), or an empty file.
std::string read_small_file(const std::string& path, size_t max_bytes = size_t{1} << 30);
// The kernel's name of a process (proc(5), comm); empty: no such process.
std::string name_of_process(pid_t process);
// Target of a symbolic link; empty: no link.
std::string read_link(const std::string& path);
// Whether something of that name exists, including a dangling link.
bool exists(const std::string& path);

// The part after the last slash.
std::string_view file_name_of(std::string_view path);

// Without leading and trailing white space.
std::string_view trimmed(std::string_view text);
// Splits a text at white space.
std::vector<std::string> words_of(std::string_view text);
// Splits a text at separators; includes empty parts, except after a final separator.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace heaptap::base
