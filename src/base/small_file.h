// Files that are small and are read whole, those of /proc above all, whose size isn't told; and what a path says by itself.
// Without streams and <filesystem>: a static program has room for neither.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace heaptap::base {

// Empty: it can't be read (errno says why), or there is nothing in it.
std::string read_small_file(const std::string& path, size_t most_bytes = size_t{1} << 30);
// What the kernel calls a process (proc(5), comm); empty: there is none.
std::string name_of_process(pid_t process);
// Where a symbolic link leads; empty: there is none.
std::string read_link(const std::string& path);
// Whether there is something of that name, a link that leads nowhere too.
bool exists(const std::string& path);

// What is behind the last slash.
std::string_view file_name_of(std::string_view path);

// Without blanks and ends of lines around it.
std::string_view trimmed(std::string_view text);
// The words of a text, with any white space between them.
std::vector<std::string> words_of(std::string_view text);
// The parts of a text; empty ones too, but none behind a separator at its end.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace heaptap::base
