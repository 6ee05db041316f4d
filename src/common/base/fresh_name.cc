#include "common/base/fresh_name.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include "common/base/clock.h"

namespace heaptap::base {
namespace {

constexpr int kTries = 100;

// Different at each call and in each process: SplitMix64 (https://prng.di.unimi.it/splitmix64.c) with a unique start.
void fill_without_kernel(std::span<uint8_t> bytes) {
  static std::atomic<uint64_t> calls;
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  uint64_t state = clock_ns(CLOCK_MONOTONIC) ^ static_cast<uint64_t>(getpid()) << 40 ^ ++calls << 56;
  for (uint8_t& byte : bytes) {
    uint64_t mixed = state += kStep;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    byte = static_cast<uint8_t>(mixed ^ (mixed >> 31));
  }
}

// Predictable names do no harm (existing files aren't used), but another process could take all of them.
std::string new_letters(RandomSource source) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
  std::array<uint8_t, 10> bytes{};
  if (!source(bytes)) fill_without_kernel(bytes);
  std::string letters;
  for (const uint8_t byte : bytes) letters += kLetters[byte % kLetters.size()];
  return letters;
}

// make(name) returns the result of the system call; repeated with further names as long as the name exists.
template <typename Make>
int make_fresh(std::string& name, RandomSource source, const Make& make) {
  const std::string beginning = name;
  for (int i = 0; i < kTries; ++i) {
    name = beginning + new_letters(source);
    const int made = make(name.c_str());
    if (made >= 0 || errno != EEXIST) return made;
  }
  return -1;
}

}  // namespace

bool kernel_random(std::span<uint8_t> bytes) {
  const auto is_whole = [&](ssize_t got) { return got == static_cast<ssize_t>(bytes.size()); };
  return is_whole(getrandom(bytes.data(), bytes.size(), GRND_NONBLOCK)) ||
         is_whole(getrandom(bytes.data(), bytes.size(), GRND_INSECURE));
}

UniqueFd make_fresh_file(std::string& name, RandomSource source) {
  return UniqueFd(make_fresh(name, source, [](const char* path) {
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  }));
}

bool make_fresh_directory(std::string& name, RandomSource source) {
  return make_fresh(name, source, [](const char* path) { return mkdir(path, S_IRWXU); }) == 0;
}

}  // namespace heaptap::base
