// Lines of files, compressed or not, whole or not.
#include "analysis/imports/text_file.h"

#include <zstd.h>

#include <vector>

#include "imported_file.h"

namespace heaptap::imports {
namespace {

using Ending = TextFile::Ending;

std::string zstd_of(std::string_view text) {
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), 3));
  return bytes;
}

struct Read {
  std::vector<std::string> lines;
  Ending ending = Ending::kWhole;
};

Read read(std::string_view bytes) {
  const test::ImportedFile made(bytes);
  auto file = TextFile::open(made.path());
  EXPECT_TRUE(file);
  Read result;
  while (const auto line = file->next()) result.lines.emplace_back(*line);
  result.ending = file->ending();
  return result;
}

const std::vector<std::string> kTwo{"one", "two"};

TEST(TextFile, PlainGzipAndZstdHaveTheSameLines) {
  for (const std::string& bytes : {std::string("one\ntwo\n"), test::gzipped("one\ntwo\n"), zstd_of("one\ntwo\n")}) {
    const Read result = read(bytes);
    EXPECT_EQ(result.lines, kTwo);
    EXPECT_EQ(result.ending, Ending::kWhole);
  }
}

TEST(TextFile, PiecesOneBehindTheOtherAreOneText) {
  EXPECT_EQ(read(test::gzipped("one\n") + test::gzipped("two\n")).lines, kTwo);
  EXPECT_EQ(read(zstd_of("one\n") + zstd_of("two\n")).lines, kTwo);
}

TEST(TextFile, ALineWithoutAnEndIsCutOff) {
  const Read result = read("one\ntwo\nthr");
  EXPECT_EQ(result.lines, kTwo);
  EXPECT_EQ(result.ending, Ending::kCut);
}

TEST(TextFile, WhatIsCompressedCanBeCutOffAnywhere) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  for (const std::string& whole : {test::gzipped(text), zstd_of(text)}) {
    for (size_t size = 4; size < whole.size(); size += 97) EXPECT_EQ(read(whole.substr(0, size)).ending, Ending::kCut);
    EXPECT_EQ(read(whole).lines.size(), 1000U);
  }
}

TEST(TextFile, WhatIsNotCompressedDataIsDamage) {
  EXPECT_EQ(read("\x1f\x8b this is no gzip\n").ending, Ending::kDamaged);
  EXPECT_EQ(read("\x28\xb5\x2f\xfd this is no zstd, whatever it says\n").ending, Ending::kDamaged);
}

TEST(TextFile, ALineThatNeverEndsIsNotKept) {
  const Read result = read("one\n" + std::string(size_t{8} << 20, 'x') + "\n");
  EXPECT_EQ(result.lines, std::vector<std::string>{"one"});
  EXPECT_EQ(result.ending, Ending::kLongLine);
}

// 64 MiB of one line's letter in a few KiB: what is kept of it is bounded.
TEST(TextFile, ABombIsALongLine) {
  EXPECT_EQ(read(test::gzipped(std::string(size_t{64} << 20, 'x'))).ending, Ending::kLongLine);
}

TEST(TextFile, AnEmptyFileHasNoLines) {
  const Read result = read("");
  EXPECT_TRUE(result.lines.empty());
  EXPECT_EQ(result.ending, Ending::kWhole);
}

TEST(TextFile, OnlyRegularFilesAreOpened) { EXPECT_FALSE(TextFile::open("/dev/null")); }

}  // namespace
}  // namespace heaptap::imports
