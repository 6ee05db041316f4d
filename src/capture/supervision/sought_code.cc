#include "capture/supervision/sought_code.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

namespace heaptap::supervision {
namespace {

// Removes a hexadecimal number at the beginning, and the blank after it.
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

void SoughtCode::add(model::CodeId code, uint64_t address) {
  if (sought_.size() + added_.size() < limits_.codes) added_.push_back({address, code});
}

void SoughtCode::begin() {
  sought_.insert(sought_.end(), added_.begin(), added_.end());
  std::ranges::sort(sought_, {}, &Code::address);
  added_.clear();
  named_.clear();
  name_bytes_ = 0;
  is_incomplete_ = false;
}

size_t SoughtCode::first_from(uint64_t address) const {
  return static_cast<size_t>(std::ranges::lower_bound(sought_, address, {}, &Code::address) - sought_.begin());
}

bool SoughtCode::has_room(std::string_view name) {
  const bool has = name_bytes_ + name.size() <= limits_.name_bytes;
  is_incomplete_ |= !has;
  return has;
}

// Their names are unknown from here on.
void SoughtCode::cut(size_t begin, size_t end) {
  auto place = named_.lower_bound(begin);
  if (place != named_.begin() && std::prev(place)->second.end > begin) {
    Named& before = std::prev(place)->second;
    if (before.end > end && has_room(before.name)) {
      named_.emplace(end, Named{before.end, before.name});
      name_bytes_ += before.name.size();
    }
    before.end = begin;
    return cut(begin, end);
  }
  while (place != named_.end() && place->first < end) {
    if (place->second.end > end) {
      auto node = named_.extract(place);
      node.key() = end;
      named_.insert(std::move(node));
      return;
    }
    name_bytes_ -= place->second.name.size();
    place = named_.erase(place);
  }
}

void SoughtCode::add_range(uint64_t begin, uint64_t bytes, std::string_view name) {
  const uint64_t end = begin + bytes;
  if (bytes == 0 || end < begin) return;
  const size_t first = first_from(begin);
  const size_t last = first_from(end);
  if (first == last) return;
  cut(first, last);
  if (name.empty()) return;
  name = name.substr(0, model::kMaxCodeNameBytes);
  if (!has_room(name)) return;
  name_bytes_ += name.size();
  named_.emplace(first, Named{last, std::string(name)});
}

std::vector<model::CodeName> SoughtCode::end() {
  std::vector<model::CodeName> names;
  size_t bytes = 0;
  std::vector<Code> rest;
  size_t at = 0;
  for (const auto& [first, named] : named_) {
    rest.insert(rest.end(), sought_.begin() + static_cast<std::ptrdiff_t>(at),
                sought_.begin() + static_cast<std::ptrdiff_t>(first));
    for (at = first; at < named.end; ++at) {
      if (bytes + named.name.size() > limits_.name_bytes) {
        is_incomplete_ = true;
        rest.push_back(sought_[at]);
      } else {
        bytes += named.name.size();
        names.push_back({sought_[at].number, named.name});
      }
    }
  }
  if (!names.empty()) {
    rest.insert(rest.end(), sought_.begin() + static_cast<std::ptrdiff_t>(at), sought_.end());
    sought_ = std::move(rest);
  }
  named_.clear();
  return names;
}

size_t read_perf_map(std::string_view text, SoughtCode& code) {
  size_t done = 0;
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', done)) {
    std::string_view line = text.substr(done, end - done);
    done = end + 1;
    const auto begin = take_hex(line);
    const auto bytes = begin ? take_hex(line) : std::nullopt;
    if (bytes && !line.empty()) code.add_range(*begin, *bytes, line);
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
// What lies where code was moved to has no name then: what it was before isn't kept, and no runtime that is known moves any.
uint64_t read_jitdump(std::string_view bytes, uint64_t file_bytes, SoughtCode& code) {
  constexpr size_t kRecordBytes = 16;
  constexpr size_t kLoadBytes = 56;
  constexpr size_t kMoveBytes = 64;
  size_t done = 0;
  while (done < bytes.size() && bytes.size() - done >= kRecordBytes) {
    const auto kind = number_at<uint32_t>(bytes, done);
    const auto record_bytes = number_at<uint32_t>(bytes, done + 4);
    if (record_bytes < kRecordBytes || record_bytes > file_bytes - done) break;
    const std::string_view record = bytes.substr(done, record_bytes);
    if (record.size() < std::min<size_t>(record_bytes, kMaxReadOfRecord)) break;
    done += record_bytes;
    if (kind == 0 && record.size() > kLoadBytes) {
      const std::string_view name = record.substr(kLoadBytes);
      code.add_range(number_at<uint64_t>(record, 32), number_at<uint64_t>(record, 40), name.substr(0, name.find('\0')));
    } else if (kind == 1 && record.size() >= kMoveBytes) {
      code.add_range(number_at<uint64_t>(record, 40), number_at<uint64_t>(record, 48), {});
    }
  }
  return done;
}

}  // namespace heaptap::supervision
