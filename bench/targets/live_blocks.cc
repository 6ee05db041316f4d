// live_blocks COUNT: allocates COUNT blocks of 24 to 87 bytes, replaces each of them twice in random order, and releases them all. Behind each
// of these steps it prints its name and waits for a line.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

uint64_t next_random(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

[[gnu::noinline]] void* allocate(uint64_t& state) { return malloc(24 + next_random(state) % 64); }

void tell(const char* step) {
  std::puts(step);
  std::fflush(stdout);
  std::getchar();
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t state = 88172645463325252u;
  std::vector<void*> blocks(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000);
  tell("start");
  for (void*& block : blocks) block = allocate(state);
  tell("built");
  for (size_t i = 0; i < 2 * blocks.size(); ++i) {
    void*& block = blocks[next_random(state) % blocks.size()];
    free(block);
    block = allocate(state);
  }
  tell("churned");
  for (void* block : blocks) free(block);
  tell("released");
}
