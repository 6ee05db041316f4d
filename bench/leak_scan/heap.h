// Synthetic heap for leak scans: blocks of mixed sizes in trees that globals hold, one in a hundred lost. Half of each block is
// numbers, as in real programs. Identical in each run.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace heaptap::bench {

struct Node {
  Node* children[2];
  uint64_t payload[1];
};

struct BlockNote {
  uint64_t address;
  uint64_t size_bytes;
};

inline constexpr size_t kTrees = 64;
inline Node* trees[kTrees];

inline uint64_t next_random(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

// Inserts a node: down the tree, left or right by the bits of `way`, at the first free place.
inline void hang_in(Node*& tree, Node* node, uint64_t way) {
  Node** place = &tree;
  for (; *place != nullptr; way >>= 1) place = &(*place)->children[way & 1];
  *place = node;
}

// Calls `note` for each block.
template <typename Note>
void build_heap(uint64_t blocks, uint64_t average_bytes, Note note) {
  constexpr uint64_t kLeastBytes = sizeof(Node);
  const uint64_t spread = 2 * (average_bytes - kLeastBytes) + 1;
  uint64_t random = 88172645463325252;
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t size = kLeastBytes + next_random(random) % spread;
    auto* node = static_cast<Node*>(std::malloc(size));
    if (node == nullptr) std::abort();
    node->children[0] = node->children[1] = nullptr;
    for (uint64_t word = 0; word < (size - 16) / 8; ++word) node->payload[word] = word % 2 == 0 ? word : ~random * word;
    note(BlockNote{reinterpret_cast<uint64_t>(node), size});
    if (i % 100 != 0) hang_in(trees[next_random(random) % kTrees], node, next_random(random));
  }
}

}  // namespace heaptap::bench
