// The loader's list, as it lies in the memory of a program that may have written anything there.
#include "capture/elf/loader_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <string>

namespace heaptap::elf {
namespace {

constexpr ElfForm kForm{.word_bytes = 8, .is_big_endian = std::endian::native == std::endian::big};
constexpr uint64_t kList = 0x1000;

class Memory final : public base::ByteSource {
 public:
  size_t read_some(uint64_t offset, void* to, size_t bytes) const override {
    const auto after = parts_.upper_bound(offset);
    if (after == parts_.begin()) return 0;
    const auto& [begin, content] = *std::prev(after);
    if (offset - begin >= content.size()) return 0;
    const size_t size = std::min<size_t>(bytes, content.size() - (offset - begin));
    std::memcpy(to, content.data() + (offset - begin), size);
    return size;
  }

  void put(uint64_t at, std::initializer_list<uint64_t> words) {
    std::string& content = parts_[at];
    for (const uint64_t word : words) {
      content.resize(content.size() + sizeof(word));
      std::memcpy(content.data() + content.size() - sizeof(word), &word, sizeof(word));
    }
  }
  void put_text(uint64_t at, const std::string& text) { parts_[at] = text + '\0'; }

 private:
  std::map<uint64_t, std::string> parts_;  // by address
};

// r_debug: version, first entry, r_brk, state.
Memory list_at(uint64_t first) {
  Memory memory;
  memory.put(kList, {std::endian::native == std::endian::big ? uint64_t{1} << 32 : 1, first, 0x77, 0});
  return memory;
}

TEST(LoaderList, EntriesHaveTheirPlacesAndNames) {
  Memory memory = list_at(0x2000);
  memory.put(0x2000, {0x500000, 0x9000, 0x500800, 0x3000});
  memory.put(0x3000, {0x700000, 0x9100, 0x700800, 0});
  memory.put_text(0x9000, "");
  memory.put_text(0x9100, "/lib/libc.so.6");
  const auto list = read_loader_list(memory, kForm, kList);
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->objects.size(), 2u);
  EXPECT_EQ(list->objects[1].name, "/lib/libc.so.6");
  EXPECT_EQ(list->objects[1].dynamic, 0x700800u);
  const auto unnamed = read_unnamed_objects(memory, kForm, kList);
  ASSERT_EQ(unnamed.size(), 2u);
  for (size_t i = 0; i < unnamed.size(); ++i) {
    EXPECT_EQ(unnamed[i].link_map, list->objects[i].link_map);
    EXPECT_EQ(unnamed[i].bias, list->objects[i].bias);
    EXPECT_EQ(unnamed[i].name, "");
  }
  EXPECT_EQ(unnamed[0].link_map, 0x2000u);
  EXPECT_EQ(unnamed[1].bias, 0x700000u);
}

TEST(LoaderList, ARingEnds) {
  Memory memory = list_at(0x2000);
  memory.put(0x2000, {0x500000, 0, 0, 0x2000});
  EXPECT_EQ(read_unnamed_objects(memory, kForm, kList).size(), 16384u);
}

TEST(LoaderList, WhatCannotBeReadEndsIt) {
  Memory memory = list_at(0x2000);
  memory.put(0x2000, {0x500000, 0, 0, 0xdead0000});
  EXPECT_EQ(read_unnamed_objects(memory, kForm, kList).size(), 1u);
  EXPECT_TRUE(read_unnamed_objects(list_at(0xdead0000), kForm, kList).empty());
  EXPECT_TRUE(read_unnamed_objects(list_at(0), kForm, kList).empty());
  EXPECT_TRUE(read_unnamed_objects(memory, kForm, 0).empty());
  EXPECT_TRUE(read_unnamed_objects(memory, kForm, 0xdead0000).empty());
}

}  // namespace
}  // namespace heaptap::elf
