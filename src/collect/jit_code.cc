#include "collect/jit_code.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "model/code_name.h"

namespace heaptap::collect {
namespace {

// A number in hex at the beginning, with the blank behind it, which are taken off.
std::optional<uint64_t> take_hex(std::string_view& line) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  const auto digits = static_cast<size_t>(end - line.data());
  if (error != std::errc() || digits == line.size() || line[digits] != ' ') return std::nullopt;
  line.remove_prefix(digits + 1);
  return number;
}

template <typename T>
T number_at(std::string_view bytes, size_t at) {
  T number{};
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof(T));
  return number;
}

}  // namespace

void JitCode::add(uint64_t begin, uint64_t bytes, std::string_view name) {
  const uint64_t end = begin + bytes;
  if (bytes == 0 || end < begin || name.empty()) return;
  name = name.substr(0, model::kMaxCodeNameBytes);
  auto place = ranges_.lower_bound(begin);
  if (place != ranges_.begin() && std::prev(place)->second.end > begin) std::prev(place)->second.end = begin;
  while (place != ranges_.end() && place->first < end) {
    if (place->second.end > end) {
      ranges_.emplace(end, Range{place->second.end, place->second.name});
    }
    place = ranges_.erase(place);
  }
  if (ranges_.size() < kMaxRanges) ranges_.insert_or_assign(begin, Range{end, std::string(name)});
}

void JitCode::move(uint64_t from, uint64_t to, uint64_t bytes) {
  const auto place = ranges_.find(from);
  if (place == ranges_.end()) return;
  const std::string name = std::move(place->second.name);
  ranges_.erase(place);
  add(to, bytes, name);
}

const std::string* JitCode::name_at(uint64_t address) const {
  const auto behind = ranges_.upper_bound(address);
  if (behind == ranges_.begin() || address >= std::prev(behind)->second.end) return nullptr;
  return &std::prev(behind)->second.name;
}

size_t read_perf_map(std::string_view text, JitCode& code) {
  size_t done = 0;
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', done)) {
    std::string_view line = text.substr(done, end - done);
    done = end + 1;
    const auto begin = take_hex(line);
    const auto bytes = begin ? take_hex(line) : std::nullopt;
    if (bytes) code.add(*begin, *bytes, line);
  }
  return done;
}

// Head: magic 4, version 4, bytes of the head 4, machine 4, padding 4, pid 4, time 8, flags 8.
size_t jitdump_head_bytes(std::string_view bytes) {
  constexpr uint32_t kMagic = 0x4A695444;
  constexpr size_t kLeastBytes = 40;
  constexpr uint32_t kMaxBytes = 4096;
  const auto head_bytes = number_at<uint32_t>(bytes, 8);
  const bool is_one = bytes.size() >= kLeastBytes && number_at<uint32_t>(bytes, 0) == kMagic &&
                      head_bytes >= kLeastBytes && head_bytes <= kMaxBytes;
  return is_one ? head_bytes : 0;
}

// A record: kind 4, bytes in all 4, time 8; of code that was loaded (0): pid 4, thread 4, address 8, address of the code 8, bytes of
// it 8, number 8, name and zero, the code; of code that was moved (1): pid 4, thread 4, address 8, from 8, to 8, bytes 8, number 8.
size_t read_jitdump(std::string_view bytes, JitCode& code) {
  constexpr size_t kRecordBytes = 16;
  constexpr size_t kLoadBytes = 56;
  constexpr size_t kMoveBytes = 64;
  size_t done = 0;
  while (bytes.size() - done >= kRecordBytes) {
    const auto kind = number_at<uint32_t>(bytes, done);
    const auto record_bytes = number_at<uint32_t>(bytes, done + 4);
    if (record_bytes < kRecordBytes || record_bytes > bytes.size() - done) break;
    const std::string_view record = bytes.substr(done, record_bytes);
    done += record_bytes;
    if (kind == 0 && record.size() > kLoadBytes) {
      const std::string_view name = record.substr(kLoadBytes);
      code.add(number_at<uint64_t>(record, 32), number_at<uint64_t>(record, 40), name.substr(0, name.find('\0')));
    } else if (kind == 1 && record.size() >= kMoveBytes) {
      code.move(number_at<uint64_t>(record, 32), number_at<uint64_t>(record, 40), number_at<uint64_t>(record, 48));
    }
  }
  return done;
}

}  // namespace heaptap::collect
