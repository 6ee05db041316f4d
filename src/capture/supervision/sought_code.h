// Search for names of a program's generated code, which is in no module's file, in its files for profilers. These files
// may be large and are not trusted: they are streamed record by record, as often as needed, and only the names of
// sought codes are kept. Bounded in memory, whatever the content, and in time per record.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/code_name.h"

namespace heaptap::supervision {

struct SoughtCodeLimits {
  size_t codes;       // further ones are ignored
  size_t name_bytes;  // of one search; more are found by the next one
};

class SoughtCode {
 public:
  explicit SoughtCode(SoughtCodeLimits limits) : limits_(limits) {}

  // Included from the next search on.
  void add(model::CodeId code, uint64_t address);
  [[nodiscard]] bool is_empty() const { return sought_.empty() && added_.empty(); }
  // Whether the next search must read the files from the beginning: some codes weren't searched for in all parts.
  [[nodiscard]] bool needs_all() const { return !added_.empty() || is_incomplete_; }

  // A search: pass the content of the files, in order, between begin() and end().
  void begin();
  // Later ranges replace earlier ones that they overlap: code memory is reused. An empty name: unknown.
  void add_range(uint64_t begin, uint64_t bytes, std::string_view name);
  // Found names; their codes are no longer sought.
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
  std::map<size_t, Named> named_;  // by index of the first sought code; no overlaps
  size_t name_bytes_ = 0;          // in these
  bool is_incomplete_ = false;     // names were dropped
};

// Reads lines "START BYTES NAME" of a perf map (/tmp/perf-PID.map), numbers in hex. Returns the number of bytes
// consumed: up to the last complete line.
size_t read_perf_map(std::string_view text, SoughtCode& code);

// Reads records of a jitdump (jit-PID.dump), after the file's head, in this machine's byte order. `file_bytes`: rest of
// the file from here. Returns the offset of the next unread record, which may be beyond these bytes; 0: the first one
// is incomplete or invalid.
uint64_t read_jitdump(std::string_view bytes, uint64_t file_bytes, SoughtCode& code);
// Maximum bytes read of a record: the code follows them.
inline constexpr size_t kMaxReadOfRecord = 56 + model::kMaxCodeNameBytes + 1;
// Length of its head; 0: no jitdump.
size_t jitdump_head_bytes(std::string_view bytes);

}  // namespace heaptap::supervision
