// String table of a report file: each string once, referred to by number.
#pragma once
#include <boost/unordered/unordered_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heaptap::html {

class Strings {
 public:
  // Strings of the target can have any length: they are cut at `max_bytes`.
  explicit Strings(size_t max_bytes) : max_bytes_(max_bytes) { number_of(""); }  // 0

  uint32_t number_of(std::string_view text);
  [[nodiscard]] const std::vector<const std::string*>& list() const { return list_; }  // by number
  [[nodiscard]] uint64_t cut() const { return cut_; }                                  // number of cut strings

 private:
  size_t max_bytes_;
  uint64_t cut_ = 0;
  boost::unordered_map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> list_;  // keys of `numbers_`, whose addresses are stable
};

}  // namespace heaptap::html
