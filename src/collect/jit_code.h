// Code that a program made itself, by the names that it wrote down for profilers: lines of a perf map (/tmp/perf-PID.map), or a
// jitdump (jit-PID.dump). Both are files that grow; what is in them is the program's to choose.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace heaptap::collect {

class JitCode {
 public:
  // Of what overlaps the later one counts: code is thrown away, and its place used again.
  void add(uint64_t begin, uint64_t bytes, std::string_view name);
  // Code moved.
  void move(uint64_t from, uint64_t to, uint64_t bytes);
  // Null: nothing is known of this address.
  [[nodiscard]] const std::string* name_at(uint64_t address) const;
  [[nodiscard]] size_t count() const { return ranges_.size(); }

  static constexpr size_t kMaxRanges = size_t{1} << 20;

 private:
  struct Range {
    uint64_t end;
    std::string name;
  };
  std::map<uint64_t, Range> ranges_;  // by beginning; none overlaps another
};

// "START BYTES NAME", the numbers in hex. Returns how much of the text that was: up to the last whole line.
size_t read_perf_map(std::string_view text, JitCode& code);

// Records behind the file's head, as a program of this machine's byte order writes them. Returns how much of it that was: up to the
// last whole one; 0 beside a first one that makes no sense.
size_t read_jitdump(std::string_view bytes, JitCode& code);
// Of its head; 0: it isn't one.
size_t jitdump_head_bytes(std::string_view bytes);

}  // namespace heaptap::collect
