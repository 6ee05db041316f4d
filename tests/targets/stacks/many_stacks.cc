// many_stacks STACKS: as many distinct call stacks as are asked for (at most 4,194,304), 96 frames deep, with a block allocated at each; one
// block in four stays until the end. At each of the eleven levels next to the work one of four functions calls on, so stacks share their
// outer frames as those of an interpreter or of a recursive compiler do. tests/e2e/many_stacks_test.py and bench/many_stacks run it.
// TRACE none
// COMPILE -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-builtin
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kDepth = 94;  // levels; with main and the work 96
constexpr int kVarying = 11;
constexpr uint64_t kMaxStacks = uint64_t{1} << 2 * kVarying;

struct Work {
  uint64_t path = 0;  // bits 2n and 2n + 1: which function leads on at level n
  std::vector<void*> kept;
};

void keep(void* pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

// Each number below kMaxStacks once, without a visible pattern.
uint64_t mix(uint64_t number) {
  number = number * 2654435761u % kMaxStacks;
  return (number ^ number >> 9) % kMaxStacks;
}

[[gnu::noinline]] void allocate(Work& work) {
  void* const block = malloc(16 + work.path % 240);
  keep(block);
  if (work.path % 4 == 0) {
    work.kept.push_back(block);
  } else {
    free(block);
  }
}

template <int kLevel, int kWay>
[[gnu::noinline]] void level(Work& work) {
  char frame[8 + 8 * ((kLevel + kWay) % 5)];
  keep(frame);
  if constexpr (kLevel == 0) {
    allocate(work);
  } else if constexpr (kLevel > kVarying) {
    level<kLevel - 1, 0>(work);
  } else {
    switch (work.path >> 2 * (kLevel - 1) & 3) {
      case 0:
        level<kLevel - 1, 0>(work);
        break;
      case 1:
        level<kLevel - 1, 1>(work);
        break;
      case 2:
        level<kLevel - 1, 2>(work);
        break;
      default:
        level<kLevel - 1, 3>(work);
    }
  }
  keep(frame);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t stacks = argc == 2 ? strtoull(argv[1], nullptr, 10) : 0;
  if (stacks == 0 || stacks > kMaxStacks) {
    fprintf(stderr, "usage: %s STACKS   (1 to %llu)\n", argv[0], static_cast<unsigned long long>(kMaxStacks));
    return 2;
  }
  static Work work;
  for (uint64_t i = 0; i < stacks; ++i) {
    work.path = mix(i);
    level<kDepth - 1, 0>(work);
  }
  printf("%zu\n", work.kept.size());
  return 0;
}
