// Hashing with keys that are random in each run of heaptap: who makes a trace can't choose contents that collide. Private to analysis/.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace heaptap::query {

// Both halves of the product.
inline uint64_t fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

using HashKeys = std::array<uint64_t, 4>;

// The same ones all over the process.
inline const HashKeys& hash_keys() {
  static const HashKeys keys = [] {
    std::random_device random;
    HashKeys made;
    for (uint64_t& key : made) key = uint64_t{random()} << 32 | random();
    return made;
  }();
  return keys;
}

// Hash of a content's parts, one after the other.
class FieldsHash {
 public:
  FieldsHash& add(uint64_t number) {
    value_ = fold(value_ ^ keys_[0], number ^ keys_[1]);
    return *this;
  }
  FieldsHash& add(std::string_view text) {
    add(text.size());
    for (; text.size() > sizeof(uint64_t); text.remove_prefix(sizeof(uint64_t))) add(word_of(text));
    return text.empty() ? *this : add(word_of(text));
  }
  [[nodiscard]] uint64_t value() const { return value_; }

 private:
  // Its first bytes.
  static uint64_t word_of(std::string_view text) {
    uint64_t word = 0;
    std::memcpy(&word, text.data(), text.size() < sizeof word ? text.size() : sizeof word);
    return word;
  }

  const HashKeys& keys_ = hash_keys();
  uint64_t value_ = keys_[2];
};

}  // namespace heaptap::query
