// Codes of a program that no file of a module names, and what the program calls them in the files that it writes for profilers. These
// files may be large, and are the program's to choose: they go by record by record, as often as it needs, and nothing of them is kept
// but the names of the codes that are sought. Bounded in memory, whatever is in them, and in time for each record.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/code_name.h"

namespace heaptap::collect {

struct SoughtCodeLimits {
  size_t codes;       // further ones are left out
  size_t name_bytes;  // of one search; more come with the next one
};

class SoughtCode {
 public:
  explicit SoughtCode(SoughtCodeLimits limits) : limits_(limits) {}

  // Takes part from the next search on.
  void add(model::CodeId code, uint64_t address);
  [[nodiscard]] bool is_empty() const { return sought_.empty() && added_.empty(); }
  // The next search has to read the files from their beginnings: there are codes that they weren't looked through for.
  [[nodiscard]] bool needs_all() const { return !added_.empty() || is_incomplete_; }

  // A search: what the files say, in order, between these two.
  void begin();
  // Of what overlaps the later one counts: code is thrown away, and its place used again. Without a name: it isn't known.
  void add_range(uint64_t begin, uint64_t bytes, std::string_view name);
  // Those that were found, which are sought no more.
  std::vector<model::CodeName> end();

 private:
  struct Code {
    uint64_t address;
    model::CodeId number;
  };
  struct Named {
    size_t end;
    std::string name;
  };
  [[nodiscard]] size_t first_from(uint64_t address) const;
  [[nodiscard]] bool has_room(std::string_view name);
  void cut(size_t begin, size_t end);

  const SoughtCodeLimits limits_;
  std::vector<Code> sought_;  // by address
  std::vector<Code> added_;
  std::map<size_t, Named> named_;  // by the first one's place among those that are sought; none overlaps another
  size_t name_bytes_ = 0;          // in these
  bool is_incomplete_ = false;     // names were left out
};

// Lines "START BYTES NAME" of a perf map (/tmp/perf-PID.map), the numbers in hex. Returns how much of the text that was: up to the
// last whole line.
size_t read_perf_map(std::string_view text, SoughtCode& code);

// Records of a jitdump (jit-PID.dump), behind the file's head, as a program of this machine's byte order writes them. There are so many
// bytes of the file from here on. Returns how far the next record is that isn't read, which may be beyond these bytes; 0: the first one
// isn't whole, or makes no sense.
uint64_t read_jitdump(std::string_view bytes, uint64_t file_bytes, SoughtCode& code);
// All that is read of a record: behind that comes the code.
inline constexpr size_t kMaxReadOfRecord = 56 + model::kMaxCodeNameBytes + 1;
// Of its head; 0: it isn't one.
size_t jitdump_head_bytes(std::string_view bytes);

}  // namespace heaptap::collect
