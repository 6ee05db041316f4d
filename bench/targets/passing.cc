// passing THREADS COUNT: each thread allocates COUNT blocks of mixed sizes and keeps a window of them; of the blocks leaving the
// window it releases three in four and passes one to its neighbour, which releases it. Threads never wait for each other.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr size_t kWindow = 512;
constexpr uint64_t kRoundsBetweenVisits = 64;

// Lock-free list of blocks handed to a thread, linked through their first word.
class Mailbox {
 public:
  void put(void* block) {
    void* first = first_.load(std::memory_order_relaxed);
    do {
      *static_cast<void**>(block) = first;
    } while (!first_.compare_exchange_weak(first, block, std::memory_order_release, std::memory_order_relaxed));
  }
  [[gnu::noinline]] void empty() {
    for (void* block = first_.exchange(nullptr, std::memory_order_acquire); block != nullptr;) {  // pairs with put()
      void* next = *static_cast<void**>(block);
      free(block);
      block = next;
    }
  }

 private:
  alignas(64) std::atomic<void*> first_ = nullptr;
};

uint64_t next_random(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

// Most blocks are small, a few are of some KiB.
size_t size_of(uint64_t random) {
  const size_t least = size_t{16} << (random & 7);
  return least + (random >> 8) % least;
}

[[gnu::noinline]] void* make_block(uint64_t random) { return malloc(size_of(random)); }
[[gnu::noinline]] void* make_cleared_block(uint64_t random) { return calloc(1, size_of(random)); }

[[gnu::noinline]] void let_go(void* block, uint64_t random, Mailbox& neighbour) {
  if (block != nullptr && random % 4 == 0) {
    neighbour.put(block);
  } else {
    free(block);
  }
}

void run_thread(uint64_t count, uint64_t seed, Mailbox& own, Mailbox& neighbour) {
  std::vector<void*> window(kWindow);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t random = next_random(seed);
    void*& place = window[random >> 32 & (kWindow - 1)];
    let_go(place, random >> 48, neighbour);
    place = random % 8 == 7 ? make_cleared_block(random >> 3) : make_block(random >> 3);
    if (i % kRoundsBetweenVisits == 0) own.empty();
  }
  for (void* block : window) free(block);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t thread_count = argc == 3 ? strtoul(argv[1], nullptr, 10) : 0;
  if (thread_count < 1) {
    fprintf(stderr, "usage: %s THREADS COUNT\n", argv[0]);
    return 2;
  }
  const uint64_t count = strtoull(argv[2], nullptr, 10);
  const auto mailboxes = std::make_unique<Mailbox[]>(thread_count);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < thread_count; ++i) {
    threads.emplace_back(run_thread, count, 0x9e3779b97f4a7c15u * (i + 1), std::ref(mailboxes[i]),
                         std::ref(mailboxes[(i + 1) % thread_count]));
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < thread_count; ++i) mailboxes[i].empty();
  return 0;
}
