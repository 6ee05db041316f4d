#include "common/base/signal_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

namespace heaptap::base {
namespace {

struct NamedSignal {
  std::string_view name;
  int number;
};
#ifdef SIGSTKFLT
constexpr NamedSignal kOfItsCpu{"STKFLT", SIGSTKFLT};
#else
constexpr NamedSignal kOfItsCpu{"EMT", SIGEMT};
#endif
// The first name of a number is the one shown.
constexpr std::array kSignals{
    NamedSignal{"HUP", SIGHUP},   NamedSignal{"INT", SIGINT},     NamedSignal{"QUIT", SIGQUIT},
    NamedSignal{"ILL", SIGILL},   NamedSignal{"TRAP", SIGTRAP},   NamedSignal{"ABRT", SIGABRT},
    NamedSignal{"IOT", SIGABRT},  NamedSignal{"BUS", SIGBUS},     NamedSignal{"FPE", SIGFPE},
    NamedSignal{"KILL", SIGKILL}, NamedSignal{"USR1", SIGUSR1},   NamedSignal{"SEGV", SIGSEGV},
    NamedSignal{"USR2", SIGUSR2}, NamedSignal{"PIPE", SIGPIPE},   NamedSignal{"ALRM", SIGALRM},
    NamedSignal{"TERM", SIGTERM}, NamedSignal{kOfItsCpu},         NamedSignal{"CHLD", SIGCHLD},
    NamedSignal{"CONT", SIGCONT}, NamedSignal{"STOP", SIGSTOP},   NamedSignal{"TSTP", SIGTSTP},
    NamedSignal{"TTIN", SIGTTIN}, NamedSignal{"TTOU", SIGTTOU},   NamedSignal{"URG", SIGURG},
    NamedSignal{"XCPU", SIGXCPU}, NamedSignal{"XFSZ", SIGXFSZ},   NamedSignal{"VTALRM", SIGVTALRM},
    NamedSignal{"PROF", SIGPROF}, NamedSignal{"WINCH", SIGWINCH}, NamedSignal{"IO", SIGIO},
    NamedSignal{"POLL", SIGIO},   NamedSignal{"PWR", SIGPWR},     NamedSignal{"SYS", SIGSYS}};

// The whole word, in decimal digits.
std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && text.front() != '-';
  return is_number ? std::optional(number) : std::nullopt;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char letter) {
    return letter >= 'a' && letter <= 'z' ? char(letter - 'a' + 'A') : letter;
  });
  return result;
}

// The offset after RTMIN or RTMAX.
std::optional<int> real_time(std::string_view rest, int base, char sign) {
  if (rest.empty()) return base;
  if (rest.front() != sign) return std::nullopt;
  const auto distance = number_in(rest.substr(1));
  if (!distance) return std::nullopt;
  if (*distance > SIGRTMAX - SIGRTMIN) return std::nullopt;
  return sign == '+' ? base + *distance : base - *distance;
}

}  // namespace

std::optional<int> signal_number(std::string_view name) {
  const std::string text = upper(name);
  std::string_view word = text;
  if (const auto number = number_in(word)) {
    return *number >= 1 && *number <= SIGRTMAX ? number : std::nullopt;
  }
  if (word.starts_with("SIG")) word.remove_prefix(3);
  constexpr std::string_view kFirst = "RTMIN";
  constexpr std::string_view kLast = "RTMAX";
  if (word.starts_with(kFirst)) return real_time(word.substr(kFirst.size()), SIGRTMIN, '+');
  if (word.starts_with(kLast)) return real_time(word.substr(kLast.size()), SIGRTMAX, '-');
  const auto* const found = std::ranges::find(kSignals, word, &NamedSignal::name);
  return found == kSignals.end() ? std::nullopt : std::optional(found->number);
}

std::string signal_name(int number) {
  const auto* const found = std::ranges::find(kSignals, number, &NamedSignal::number);
  if (found != kSignals.end()) return std::string(found->name);
  if (number == SIGRTMIN) return "RTMIN";
  if (number > SIGRTMIN && number <= SIGRTMAX) return "RTMIN+" + std::to_string(number - SIGRTMIN);
  return std::to_string(number);
}

}  // namespace heaptap::base
