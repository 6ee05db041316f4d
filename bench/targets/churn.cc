// churn ROUNDS: everyday work of a C++ program (strings, vectors, maps) below 40 frames, on varying call paths: at each level one of two
// functions calls on. Levels near the work change often, those near main() rarely.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr int kDepth = 40;

struct Work {
  uint64_t round = 0;
  uint64_t path = 0;  // bit n: which function leads on at level n
  uint64_t checksum = 0;
  std::map<std::string, std::vector<int>> index;
};

void keep(void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

// The same numbers, in any order and without a visible pattern.
uint64_t mix(uint64_t number) {
  number = (number ^ number >> 31) * 0x9e3779b97f4a7c15u;
  return number ^ number >> 29;
}

// Names have eight different lengths.
std::string name_of(uint64_t number) {
  std::string name = "an entry, number " + std::to_string(number);
  name.resize(24 + 8 * (mix(number) >> 61), '.');
  return name;
}

[[gnu::noinline]] void make_words(Work& work) {
  std::vector<std::string> words;
  for (uint64_t i = mix(work.round) % 8; i < 8; ++i) words.push_back(name_of(work.round + i));
  for (const std::string& word : words) work.checksum += word.size();
}

[[gnu::noinline]] void update_index(Work& work) {
  std::vector<int>& entry = work.index[name_of(mix(work.round) % 512)];
  entry.push_back(static_cast<int>(work.round));
  if (entry.size() > 12) {
    work.checksum += entry.size();
    work.index.erase(name_of(mix(work.round) % 512));
  }
}

[[gnu::noinline]] void sort_numbers(Work& work) {
  std::map<uint32_t, uint32_t> numbers;
  uint32_t number = static_cast<uint32_t>(work.round) * 2654435761u;
  for (uint32_t i = 0; i < 8; ++i, number = number * 1664525u + 1013904223u) numbers.emplace(number, i);
  work.checksum += numbers.begin()->first;
}

template <int kLevel, bool kLeft>
[[gnu::noinline]] void level(Work& work) {
  char frame[8 + 8 * ((kLevel + kLeft) % 5)];
  keep(frame);
  if constexpr (kLevel > 0) {
    // Now and then a level allocates something that lives as long as its frame.
    if constexpr (kLevel % 8 == 0) {
      const std::string label = name_of(work.path);
      work.checksum += label.size();
      ((work.path >> kLevel & 1) != 0 ? level<kLevel - 1, true> : level<kLevel - 1, false>)(work);
    } else {
      ((work.path >> kLevel & 1) != 0 ? level<kLevel - 1, true> : level<kLevel - 1, false>)(work);
    }
  } else {
    make_words(work);
    update_index(work);
    sort_numbers(work);
  }
  keep(frame);
}

// The six levels next to the work change from round to round, the rest takes another of 16 ways each 64 rounds.
uint64_t path_of(uint64_t round) { return mix(round) % 64 | mix(round / 64 % 16 + 1) << 6; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s ROUNDS\n", argv[0]);
    return 2;
  }
  const uint64_t rounds = strtoull(argv[1], nullptr, 10);
  Work work;
  for (; work.round < rounds; ++work.round) {
    work.path = path_of(work.round);
    level<kDepth - 3, false>(work);  // with main, the lowest level and the work itself: 40
  }
  printf("%llu\n", static_cast<unsigned long long>(work.checksum));
  return 0;
}
