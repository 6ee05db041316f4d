#include "common/network/dns_name.h"

#include <algorithm>
#include <cstdint>

#include "common/base/check.h"

namespace heaptap::network {
namespace {

char folded_letter(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// A label's length is at most 63, and so not a letter.
bool is_equal(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, folded_letter, folded_letter);
}

size_t length_at(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

}  // namespace

Name::Name(std::initializer_list<std::string_view> labels) {
  for (const std::string_view label : labels) HEAPTAP_CHECK(append(label));
}

Name::Name(std::string_view label, const Name& parent) {
  HEAPTAP_CHECK(append(label) && bytes_.size() + parent.bytes_.size() < kMaxNameBytes);
  bytes_ += parent.bytes_;
}

bool Name::append(std::string_view label) {
  if (label.empty() || label.size() > kMaxLabelBytes) return false;
  if (bytes_.size() + 1 + label.size() >= kMaxNameBytes) return false;  // the root's length as well
  bytes_ += static_cast<char>(label.size());
  bytes_ += label;
  return true;
}

std::string_view Name::first_label() const {
  if (bytes_.empty()) return {};
  return std::string_view(bytes_).substr(1, length_at(bytes_, 0));
}

bool Name::is_child_of(const Name& parent) const {
  if (bytes_.empty()) return false;
  return is_equal(std::string_view(bytes_).substr(1 + length_at(bytes_, 0)), parent.bytes_);
}

std::string Name::folded() const {
  std::string folded = bytes_;
  std::ranges::transform(folded, folded.begin(), folded_letter);
  return folded;
}

std::string Name::text() const {
  std::string text;
  for (size_t at = 0; at < bytes_.size(); at += 1 + length_at(bytes_, at)) {
    if (at > 0) text += '.';
    for (const char letter : std::string_view(bytes_).substr(at + 1, length_at(bytes_, at))) {
      if (letter == '.' || letter == '\\') text += '\\';
      text += letter;
    }
  }
  return text;
}

bool operator==(const Name& one, const Name& other) { return is_equal(one.bytes_, other.bytes_); }

}  // namespace heaptap::network
