// Number that may be unknown. Its reader says what is wanted: the number if it is known, or what was counted in any case. For a number
// that means nothing where it is unknown std::optional is enough.
#pragma once
#include <algorithm>
#include <optional>

namespace heaptap::base {

template <typename Number>
class Known {
 public:
  constexpr Known() = default;
  constexpr Known(Number number) : counted_(number) {}  // NOLINT(google-explicit-constructor): a plain number is known
  constexpr Known(Number counted, bool is_known) : counted_(counted), is_known_(is_known) {}

  [[nodiscard]] constexpr bool is_known() const { return is_known_; }
  [[nodiscard]] constexpr std::optional<Number> if_known() const {
    return is_known_ ? std::optional(counted_) : std::nullopt;
  }
  // Known or not: to order, to add up, to say "at least".
  [[nodiscard]] constexpr Number counted() const { return counted_; }

  // Whether it exceeds a limit. Empty where it is unknown: then the limit neither holds nor is exceeded.
  [[nodiscard]] constexpr std::optional<bool> exceeds(Number limit) const {
    return is_known_ ? std::optional(counted_ > limit) : std::nullopt;
  }

  // False: it is known to be 0.
  [[nodiscard]] constexpr bool may_be_nonzero() const { return !is_known_ || counted_ != Number{}; }

  // The number is unknown from now on; a sum with it as well.
  constexpr void set_unknown() { is_known_ = false; }

  constexpr Known& operator+=(const Known& other) {
    counted_ += other.counted_;
    is_known_ = is_known_ && other.is_known_;
    return *this;
  }
  // The larger of both, unknown if one is.
  constexpr Known& raise_to(const Known& other) {
    counted_ = std::max(counted_, other.counted_);
    is_known_ = is_known_ && other.is_known_;
    return *this;
  }
  // Equal numbers, both known or both unknown. Neither order nor inequality: of an unknown number they would say nothing.
  friend constexpr bool operator==(const Known&, const Known&) = default;
  friend constexpr bool operator!=(const Known&, const Known&) = delete;

 private:
  Number counted_{};
  bool is_known_ = true;
};

// Sets several numbers unknown.
template <typename... Numbers>
constexpr void set_unknown(Known<Numbers>&... numbers) {
  (numbers.set_unknown(), ...);
}

}  // namespace heaptap::base
