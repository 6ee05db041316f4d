// The strings of a report file: each once, named by number.
#pragma once
#include <boost/unordered/unordered_map.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heaptap::html {

class Strings {
 public:
  // Names of the target's may be of any length: what is beyond so many bytes is left out.
  explicit Strings(size_t max_bytes) : max_bytes_(max_bytes) { number_of(""); }  // 0

  uint32_t number_of(std::string_view text);
  [[nodiscard]] const std::vector<const std::string*>& list() const { return list_; }  // in the order of their numbers
  [[nodiscard]] uint64_t cut() const { return cut_; }                                  // how many are not whole

 private:
  size_t max_bytes_;
  uint64_t cut_ = 0;
  boost::unordered_map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> list_;  // keys of `numbers_`, which stay where they are
};

}  // namespace heaptap::html
