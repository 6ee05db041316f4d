// Recursive-descent parser of one v0 name. Grammar: Rust RFC 2603 and the rustc book, "Symbol Mangling v0". Depth and output length
// are bounded against hostile names. Private to symbols/.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heaptap::symbols {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

class RustV0 {
 public:
  // `text` is the name after "_R", without a vendor suffix. It must outlive this.
  explicit RustV0(std::string_view text) : text_(text) {}

  std::optional<std::string> demangle();

 private:
  struct Identifier {
    uint64_t disambiguator = 0;
    std::string_view name;
    bool punycode = false;
  };
  class Nested;

  void path(bool is_value);
  void nested_path(bool is_value);
  void impl_path();
  void generic_arguments(bool is_value);
  void generic_argument();
  void type();
  void compound_type(char tag);
  void tuple();
  void function_signature();
  void dyn_bounds();
  void dyn_trait();
  bool open_path_with_generics();
  void constant();
  void constant_number(bool is_signed);
  void constant_character();
  void lifetime(uint64_t index);
  uint64_t binder();
  // Follows a "B" reference (its tag is already consumed) and parses its destination with `read`.
  template <typename Read>
  void back_reference(Read read);

  [[nodiscard]] char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool take(char expected);
  char take_any();
  uint64_t base62();
  uint64_t optional_base62(char tag);  // 0 if the tag is missing
  uint64_t decimal();
  std::string_view hex_digits();
  Identifier identifier();
  Identifier plain_identifier();
  void print(const Identifier& identifier);
  void print(std::string_view text);
  void give_up() { failed_ = true; }

  std::string_view text_;
  size_t position_ = 0;
  std::string out_;
  uint64_t bound_lifetimes_ = 0;
  uint32_t depth_ = 0;
  uint32_t steps_ = 0;
  bool silent_ = false;
  bool failed_ = false;
};

}  // namespace heaptap::symbols
