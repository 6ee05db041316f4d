// Replacements for glibc's streams, locales and translated messages. This program outputs with write(), but in a static
// glibc program a dozen unneeded functions (the output of assert(), malloc_stats(), strtol() for all locales) pull in
// all of these: printf() with wide characters and floating point, the loaders of iconv modules and of shared libraries,
// message catalogues. That is 350 KB, saved only if every one of these references is cut: those from other rooms by not
// calling such functions (common/base/fresh_name.h, common/base/ip_text.h, common/base/check.h), those within glibc here. A symbol defined
// here isn't taken from libc.a. If something does call printf() or similar, or a later glibc has other internal names,
// everything works as without this file (the definitions are weak, and glibc's own replace them), and tools.target_size
// reports that the program is too large: `-Wl,-Map=FILE` shows at its beginning which object needs what (decision 83).
//
// Linked only into a static heaptap-target. Excluded from link-time optimization (src/CMakeLists.txt): the compiler
// treats these names specially.
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <limits>

namespace {

struct Number {
  unsigned long amount = 0;
  const char* end = nullptr;  // after its last digit; the text's beginning if there is none
  bool is_negative = false;
  bool is_too_large = false;
};

constexpr int digit_of(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  const char small = static_cast<char>(letter | 0x20);
  return small >= 'a' && small <= 'z' ? small - 'a' + 10 : std::numeric_limits<int>::max();
}

constexpr bool is_space(char letter) { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }

// strtol() and strtoul() of the C standard, in the "C" locale: spaces, sign, 0x or 0 if the base allows it, digits.
constexpr Number read_number(const char* text, int base) {
  Number number{.end = text};
  const char* at = text;
  while (is_space(*at)) ++at;
  if (*at == '+' || *at == '-') number.is_negative = *at++ == '-';
  if ((base == 0 || base == 16) && at[0] == '0' && (at[1] | 0x20) == 'x' && digit_of(at[2]) < 16) {
    at += 2;
    base = 16;
  } else if (base == 0) {
    base = *at == '0' ? 8 : 10;
  }
  for (; digit_of(*at) < base; number.end = ++at) {
    const auto digit = static_cast<unsigned long>(digit_of(*at));
    number.is_too_large |= __builtin_mul_overflow(number.amount, static_cast<unsigned long>(base), &number.amount) ||
                           __builtin_add_overflow(number.amount, digit, &number.amount);
  }
  return number;
}

constexpr bool reads(const char* text, int base, unsigned long amount, size_t length) {
  const Number number = read_number(text, base);
  return number.amount == amount && number.end == text + length && !number.is_negative && !number.is_too_large;
}
static_assert(reads("17 kB", 10, 17, 2) && reads(" \t+0017x", 10, 17, 7) && reads("fFz", 16, 255, 2));
static_assert(reads("0x1fg", 0, 31, 4) && reads("0x1f", 16, 31, 4) && reads("017", 0, 15, 3) && reads("10", 0, 10, 2));
static_assert(reads("0xg", 0, 0, 1) && reads("", 10, 0, 0) && reads("x", 10, 0, 0) && reads("  ", 10, 0, 0));
static_assert(reads("18446744073709551615", 10, std::numeric_limits<unsigned long>::max(), 20) || sizeof(long) == 4);
static_assert(read_number("99999999999999999999999", 10).is_too_large && read_number("-5", 10).is_negative);

void set_end(char** end, const Number& number) {
  if (end != nullptr) *end = const_cast<char*>(number.end);
}

iovec piece(const char* text) { return {const_cast<char*>(text), strlen(text)}; }

}  // namespace

extern "C" {

// --- Numbers, without locales. sysconf() reads its files with them, and malloc() the number of CPUs.

[[gnu::weak]] long strtol(const char* text, char** end, int base) noexcept {
  const Number number = read_number(text, base);
  set_end(end, number);
  constexpr auto kMax = static_cast<unsigned long>(std::numeric_limits<long>::max());
  if (number.is_too_large || number.amount > kMax + (number.is_negative ? 1 : 0)) {
    errno = ERANGE;
    return number.is_negative ? std::numeric_limits<long>::min() : std::numeric_limits<long>::max();
  }
  return static_cast<long>(number.is_negative ? 0 - number.amount : number.amount);
}

[[gnu::weak]] unsigned long strtoul(const char* text, char** end, int base) noexcept {
  const Number number = read_number(text, base);
  set_end(end, number);
  if (!number.is_too_large) return number.is_negative ? 0 - number.amount : number.amount;
  errno = ERANGE;
  return std::numeric_limits<unsigned long>::max();
}

// --- Texts are not translated. libstdc++ asks for those of its exceptions.

[[gnu::weak]] char* gettext(const char* text) noexcept { return const_cast<char*>(text); }

// --- No tables of letters. Each thread begins with a look into those of its locale, where there would be none: isalpha() and its
// like may not be called here (tools/layers.txt), and would end the program before main().

[[gnu::weak]] void __ctype_init() {}

// --- The texts of errors, and without a number where it is unknown.

[[gnu::weak]] char* strerror(int error_number) noexcept {
  const char* const text = strerrordesc_np(error_number);
  return const_cast<char*>(text != nullptr ? text : "Unknown error");
}

// glibc's internal name of strerror_r(), for messages about libraries that can't be loaded.
[[gnu::weak]] char* __strerror_r(int error_number, char*, size_t) { return strerror(error_number); }

// --- A broken promise of glibc's own.

[[gnu::weak]] void __assert_fail(const char* assertion, const char* file, unsigned line,
                                 const char* function) noexcept {
  char digits[std::numeric_limits<unsigned>::digits10 + 2] = {};
  char* first = digits + sizeof(digits) - 1;
  do {
    *--first = static_cast<char>('0' + line % 10);
    line /= 10;
  } while (line != 0);
  const iovec words[] = {piece("heaptap-target: "),
                         piece(file),
                         piece(":"),
                         piece(first),
                         piece(": "),
                         piece(function != nullptr ? function : "?"),
                         piece(": Assertion "),
                         piece(assertion),
                         piece(" failed\n")};
  if (writev(STDERR_FILENO, words, sizeof(words) / sizeof(words[0])) < 0) abort();
  abort();
}

// The same of an index that is too large for what fork() keeps, in glibc's name for it.
[[gnu::weak]] void __libc_dynarray_at_failure(size_t, size_t) { abort(); }

// --- A broken bound: what the compiler has put behind arrays is not there any more. glibc would say it by its streams.

[[gnu::weak, noreturn]] void __stack_chk_fail() {
  static constexpr char kText[] = "heaptap-target: internal error: stack buffer overflow\n";
  if (write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) abort();
  abort();
}
[[gnu::weak, noreturn]] void __chk_fail() {
  static constexpr char kText[] = "heaptap-target: internal error: buffer overflow\n";
  if (write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) abort();
  abort();
}

// --- No resolver: numbers of hosts alone. pthread_create() keeps here where its state of a thread would be.

[[gnu::weak]] thread_local constinit void* __libc_resp = nullptr;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names within glibc
// --- No streams. malloc_stats() and malloc_info(), which nobody calls, are in one object with malloc().

[[gnu::weak]] FILE* stdin = nullptr;
[[gnu::weak]] FILE* stdout = nullptr;
[[gnu::weak]] FILE* stderr = nullptr;
[[gnu::weak]] int fprintf(FILE*, const char*, ...) { return -1; }
[[gnu::weak]] int __fprintf_chk(FILE*, int, const char*, ...) { return -1; }
[[gnu::weak]] size_t fwrite(const void*, size_t, size_t, FILE*) { return 0; }
[[gnu::weak]] int _IO_fputs(const char*, FILE*) { return EOF; }

// pthread_create() makes them lock from now on. fork() locks and resets those that there are: a list of none.
[[gnu::weak]] void _IO_enable_locks() {}
[[gnu::weak]] void* _IO_iter_begin() { return nullptr; }
[[gnu::weak]] void* _IO_iter_end() { return nullptr; }
[[gnu::weak]] void* _IO_iter_next(void*) { return nullptr; }
[[gnu::weak]] void* _IO_iter_file(void*) { return nullptr; }
[[gnu::weak]] void _IO_list_lock() {}
[[gnu::weak]] void _IO_list_unlock() {}
[[gnu::weak]] void _IO_list_resetlock() {}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}
