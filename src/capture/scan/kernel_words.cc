#include "capture/scan/kernel_words.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "capture/process/open_files.h"
#include "capture/process/process_status.h"
#include "common/base/pages.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"

namespace heaptap::scan {
namespace {

// Calls `line` with each line that begins so, without that beginning.
template <typename Line>
void each_line(std::string_view text, std::string_view beginning, Line line) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view whole = text.substr(begin, end - begin);
    if (whole.starts_with(beginning)) line(whole.substr(beginning.size()));
    begin = end + 1;
  }
}

void add_hexadecimal(std::string_view text, std::vector<uint64_t>& words) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t word = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word, 16);
  if (error == std::errc() && word >= base::page_bytes()) words.push_back(word);
}

// Calls `take` with the number of each descriptor that leads there.
template <typename Take>
void each_descriptor(pid_t thread, std::string_view what, Take take) {
  process::any_open(thread, [&](const char* number, std::string_view target) {
    if (target == what) take(number);
    return false;
  });
}

}  // namespace

// "tfd:        4 events:       19 data:     55d1c2a0b2a0  pos:0 ino:7 sdev:9"
void parse_epoll_words(std::string_view text, std::vector<uint64_t>& words) {
  each_line(text, "tfd:", [&](std::string_view line) {
    constexpr std::string_view kName = "data:";
    if (const size_t at = line.find(kName); at != line.npos) add_hexadecimal(line.substr(at + kName.size()), words);
  });
}

// "signal: 60/00007fff86e452a8"
void parse_timer_words(std::string_view text, std::vector<uint64_t>& words) {
  each_line(text, "signal:", [&](std::string_view line) {
    if (const size_t at = line.find('/'); at != line.npos) add_hexadecimal(line.substr(at + 1), words);
  });
}

std::vector<uint64_t> find_kernel_words(pid_t thread) {
  std::vector<uint64_t> words;
  parse_timer_words(base::read_small_file(base::process_file(thread, "timers")), words);
  each_descriptor(thread, "anon_inode:[eventpoll]", [&](const char* number) {
    parse_epoll_words(base::read_small_file(base::process_file(thread, std::string("fdinfo/") + number)), words);
  });
  return words;
}

size_t count_rings(pid_t thread) {
  size_t count = 0;
  each_descriptor(thread, "anon_inode:[io_uring]", [&count](const char*) { ++count; });
  return count;
}

KernelFacts read_kernel_facts(pid_t thread) {
  return {.rings = count_rings(thread),
          .words = find_kernel_words(thread),
          .first_stack_pointer = process::read_first_stack_pointer(thread)};
}

}  // namespace heaptap::scan
