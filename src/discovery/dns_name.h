// Names of the DNS: labels of any bytes (RFC 1035, 3.1), compared without regard to the case of ASCII letters.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace heaptap::discovery {

inline constexpr size_t kMaxLabelBytes = 63;
inline constexpr size_t kMaxNameBytes = 255;  // with the lengths of its labels, and the root

class Name {
 public:
  Name() = default;  // the root
  // Of labels of our own, which are short enough.
  Name(std::initializer_list<std::string_view> labels);
  // This label below another name; both are short enough.
  Name(std::string_view label, const Name& parent);

  // Puts a label behind the others. False: it is empty or too long, or the name would be.
  [[nodiscard]] bool append(std::string_view label);

  // As in a message, without compression and without the root's 0: length, label, length, label, …
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // Empty of the root.
  [[nodiscard]] std::string_view first_label() const;
  // Whether this is that name with one label in front.
  [[nodiscard]] bool is_child_of(const Name& parent) const;
  // The same for all names that are equal.
  [[nodiscard]] std::string folded() const;
  // "board-heaptap.local": a dot or a backslash in a label has a backslash before it. Any bytes are in it.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Name& one, const Name& other);

 private:
  std::string bytes_;
};

}  // namespace heaptap::discovery
