#include "analysis/symbols/known_frames.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "analysis/symbols/file_pool.h"
#include "analysis/symbols/resolver.h"

namespace heaptap::symbols {
namespace {

FileFrames named(const char* function) {
  FileFrames found;
  found.frames.emplace_back().function = function;
  return found;
}

// Asks, and says whether the address had to be looked up.
bool looks_up(KnownFrames::OfFile& file, uint64_t address, const char* function = "f") {
  bool is_asked = false;
  const FileFrames found = file.at(address, [&] {
    is_asked = true;
    return named(function);
  });
  EXPECT_EQ(found.frames.at(0).function, function);
  return is_asked;
}

TEST(KnownFrames, AnAddressIsLookedUpOnce) {
  KnownFrames known;
  KnownFrames::OfFile& file = known.of_file("/bin/a", "id");
  EXPECT_TRUE(looks_up(file, 1));
  EXPECT_FALSE(looks_up(file, 1));
  EXPECT_TRUE(looks_up(file, 2));
  EXPECT_FALSE(looks_up(known.of_file("/bin/a", "id"), 2));
}

TEST(KnownFrames, AnotherFileHasOtherNames) {
  KnownFrames known;
  EXPECT_TRUE(looks_up(known.of_file("/bin/a", "id"), 1, "f"));
  EXPECT_TRUE(looks_up(known.of_file("/bin/a", "other"), 1, "g"));
  EXPECT_TRUE(looks_up(known.of_file("/bin/b", "id"), 1, "h"));
}

TEST(KnownFrames, WhatDoesntFitIsLookedUpEachTime) {
  KnownFrames known(/*max_addresses=*/2);
  EXPECT_TRUE(looks_up(known.of_file("/bin/a", ""), 1));
  EXPECT_TRUE(looks_up(known.of_file("/bin/b", ""), 1));
  EXPECT_TRUE(looks_up(known.of_file("/bin/b", ""), 2));
  EXPECT_TRUE(looks_up(known.of_file("/bin/b", ""), 2));
  EXPECT_FALSE(looks_up(known.of_file("/bin/b", ""), 1));
}

TEST(KnownFrames, ResolversOfAPoolShareNamesAndHaveAddressesOfTheirOwn) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const auto pool = std::make_shared<FilePool>();
  ResolverOptions options;
  options.files = pool;
  constexpr uint64_t kOffset = 0x100;
  FileFrames told = named("of another process");
  EXPECT_EQ(pool->known_frames().of_file(self, "").at(kOffset - 1, [&] { return told; }).frames.size(), 1U);
  for (const uint64_t bias : {uint64_t{0x10000}, uint64_t{0x20000}}) {
    model::Tables tables;
    model::Module& module = tables.modules.emplace_back();
    module.path = self;
    module.bias = module.start = bias;
    module.end = bias + 0x1000;
    Resolver resolver(options);
    const model::Frame& frame =
        resolver.resolve(tables, {.address = bias + kOffset, .generation = 0, .exact = false}).at(0);
    EXPECT_EQ(frame.function, "of another process");
    EXPECT_EQ(frame.module, self);
    EXPECT_EQ(frame.offset, kOffset);
    EXPECT_EQ(frame.address, bias + kOffset);
  }
}

}  // namespace
}  // namespace heaptap::symbols
