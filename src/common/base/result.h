// Result<T>: return type of operations that can fail in expected ways. An Error says what was tried, on what, the
// system's reason, and what the user can do; its text is ready to be printed after "heaptap: ".
#pragma once
#include <fmt/format.h>

#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace heaptap::base {

// Exit status that a failure leads to (see common/base/exit_status.h).
enum class ErrorKind { kFailed, kUsage, kNotFound, kNotExecutable };

struct Error {
  std::string message;
  ErrorKind kind = ErrorKind::kFailed;
};

template <typename T = void>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

template <typename... Args>
Error make_error(fmt::format_string<Args...> format, Args&&... args) {
  return {fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
std::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(make_error(format, std::forward<Args>(args)...));
}

template <typename... Args>
std::unexpected<Error> fail_as(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{fmt::format(format, std::forward<Args>(args)...), kind});
}

// The text of an errno value.
inline std::string reason_of(int error_number) { return std::generic_category().message(error_number); }

}  // namespace heaptap::base

// Returns from the calling function with the error of `expression`, if it has one.
#define HEAPTAP_TRY(expression)                                      \
  do {                                                               \
    if (auto heaptap_try = (expression); !heaptap_try.has_value()) { \
      return std::unexpected(std::move(heaptap_try).error());        \
    }                                                                \
  } while (false)
