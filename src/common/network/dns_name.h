// DNS names: labels of any bytes (RFC 1035, 3.1), compared case-insensitively for ASCII letters.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace heaptap::network {

inline constexpr size_t kMaxLabelBytes = 63;
inline constexpr size_t kMaxNameBytes = 255;  // including length bytes of labels, and the root

class Name {
 public:
  Name() = default;  // the root
  // From our own labels, which are short enough.
  Name(std::initializer_list<std::string_view> labels);
  // A label below another name; both short enough.
  Name(std::string_view label, const Name& parent);

  // Appends a label. False: the label is empty or too long, or the name would be too long.
  [[nodiscard]] bool append(std::string_view label);

  // Wire format without compression and without the root's 0: length, label, length, label, …
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // Empty for the root.
  [[nodiscard]] std::string_view first_label() const;
  // Whether it is that name with one label prepended.
  [[nodiscard]] bool is_child_of(const Name& parent) const;
  // Canonical form: the same for all equal names.
  [[nodiscard]] std::string folded() const;
  // "board-heaptap.local": dots and backslashes in labels are escaped with a backslash. May contain any bytes.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Name& one, const Name& other);

 private:
  std::string bytes_;
};

}  // namespace heaptap::network
