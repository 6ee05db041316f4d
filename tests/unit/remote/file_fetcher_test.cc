// Which files are asked for, in which pieces; and that a side that lies gets nothing kept, costs a bounded amount, and is told of.
#include "record/remote/file_fetcher.h"
#include "common/line/line_messages.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "capture/uplink/offered_files.h"

namespace heaptap::remote {
namespace {

using line::Field;
using line::Kind;
using message::Fields;

// Keeps files in memory. Of what is begun it takes any content but "bad".
class KeptFiles : public FileTaker {
 public:
  std::set<std::string> here;  // build-ids
  std::map<std::string, std::string> kept;
  std::string build_id;  // of the one that is being written; empty: none is
  std::string content;
  size_t drops = 0;
  bool is_full = false;

  bool lacks(const model::Module& module) override { return !here.contains(module.build_id); }
  base::Result<> begin(const std::string& id) override {
    EXPECT_TRUE(build_id.empty());
    build_id = id;
    content.clear();
    return {};
  }
  base::Result<> write(std::string_view bytes) override {
    EXPECT_FALSE(build_id.empty());
    if (is_full) return base::fail("no space");
    content += bytes;
    return {};
  }
  base::Result<> finish() override {
    if (content == "bad") return base::fail("it is another file");
    kept[std::exchange(build_id, {})] = content;
    return {};
  }
  void drop() override {
    ++drops;
    build_id.clear();
  }
};

model::Module module_of(const std::string& path, const std::string& build_id) {
  return {.path = path, .build_id = build_id, .bias = 0, .start = 1, .end = 2, .generation = 0, .flags = 0};
}

struct Piece {
  uint64_t module = 0;
  uint64_t offset = 0;
  uint64_t file_bytes = 0;
  std::string build_id = {};
  std::string bytes = {};
};

Fields fields_of(const Piece& piece) {
  Fields fields;
  fields.add(Field::kStream, uint64_t{7});
  fields.add(Field::kModule, piece.module);
  fields.add(Field::kOffset, piece.offset);
  fields.add(Field::kFileBytes, piece.file_bytes);
  fields.add(Field::kBuildId, piece.build_id);
  fields.add(Field::kBytes, piece.bytes);
  return fields;
}

class FileFetcherTest : public testing::Test {
 public:
  KeptFiles files;
  FileFetcher fetcher{files, {.file_bytes = 1'000'000, .all_bytes = 1'500'000}};

  void add(std::vector<model::Module> modules) { fetcher.add(7, 0, modules); }
  // The next request: which module, from where on.
  std::optional<std::pair<uint64_t, uint64_t>> asked() {
    while (auto message = fetcher.next_message()) {
      if (message->kind == Kind::kFileSettled) {
        settled.push_back(message->fields.number_or_0(Field::kModule));
        continue;
      }
      EXPECT_EQ(message->kind, Kind::kFileWanted);
      EXPECT_EQ(message->fields.number(Field::kStream), 7U);
      return std::pair(message->fields.number_or_0(Field::kModule), message->fields.number_or_0(Field::kOffset));
    }
    return std::nullopt;
  }
  // Begins one of 10 bytes, and takes the first 4.
  void begin_one() {
    add({module_of("/bin/a", "a")});
    (void)asked();
    fetcher.take(fields_of({.file_bytes = 10, .build_id = "a", .bytes = "0123"}));
    ASSERT_EQ(asked(), std::pair(uint64_t{0}, uint64_t{4}));
  }
  void expect_dropped(const std::string& why) {
    EXPECT_TRUE(files.kept.empty());
    EXPECT_TRUE(files.build_id.empty());
    EXPECT_TRUE(fetcher.is_done());
    ASSERT_EQ(fetcher.not_fetched().size(), 1U);
    EXPECT_NE(fetcher.not_fetched()[0].why.find(why), std::string::npos) << fetcher.not_fetched()[0].why;
    EXPECT_EQ(asked(), std::nullopt);
    EXPECT_EQ(settled, std::vector<uint64_t>{0});  // the other side may close it
  }

  std::vector<uint64_t> settled;
};

TEST_F(FileFetcherTest, AsksForWhatIsNotHereOnePieceAfterTheOther) {
  files.here = {"here"};
  add({module_of("/bin/a", "a"), module_of("/lib/here.so", "here"), module_of("/lib/b.so", "b"),
       module_of("/lib/none.so", "")});
  EXPECT_EQ(asked(), std::pair(uint64_t{0}, uint64_t{0}));
  EXPECT_EQ(asked(), std::nullopt);  // until it is answered
  fetcher.take(fields_of({.file_bytes = 6, .build_id = "a", .bytes = "0123"}));
  EXPECT_EQ(fetcher.path(), "/bin/a");
  EXPECT_EQ(fetcher.done_bytes(), 4U);
  EXPECT_EQ(fetcher.file_bytes(), 6U);
  EXPECT_EQ(asked(), std::pair(uint64_t{0}, uint64_t{4}));
  fetcher.take(fields_of({.offset = 4, .file_bytes = 6, .build_id = "a", .bytes = "45"}));
  EXPECT_EQ(asked(), std::pair(uint64_t{2}, uint64_t{0}));
  fetcher.take(fields_of({.module = 2, .file_bytes = 1, .build_id = "b", .bytes = "B"}));
  EXPECT_EQ(asked(), std::nullopt);
  EXPECT_TRUE(fetcher.is_done());
  EXPECT_EQ(files.kept, (std::map<std::string, std::string>{{"a", "012345"}, {"b", "B"}}));
  EXPECT_EQ(settled, (std::vector<uint64_t>{1, 0, 2}));
  EXPECT_TRUE(fetcher.not_fetched().empty());
}

TEST_F(FileFetcherTest, AsksOnceForAFileThatManyHave) {
  add({module_of("/bin/a", "a"), module_of("/copy/a", "a")});
  fetcher.add(8, 0, std::vector{module_of("/bin/a", "a")});
  EXPECT_EQ(asked(), std::pair(uint64_t{0}, uint64_t{0}));
  fetcher.take(fields_of({.file_bytes = 1, .build_id = "a", .bytes = "A"}));
  EXPECT_EQ(asked(), std::nullopt);
  EXPECT_TRUE(fetcher.is_done());
}

TEST_F(FileFetcherTest, TakesNothingThatWasNotAskedFor) {
  fetcher.take(fields_of({.file_bytes = 1, .build_id = "a", .bytes = "A"}));
  add({module_of("/bin/a", "a")});
  fetcher.take(fields_of({.file_bytes = 1, .build_id = "a", .bytes = "A"}));  // not yet
  EXPECT_TRUE(files.kept.empty());
  (void)asked();
  fetcher.take(fields_of({.module = 1, .file_bytes = 1, .build_id = "a", .bytes = "A"}));
  fetcher.take(fields_of({.offset = 1, .file_bytes = 1, .build_id = "a", .bytes = "A"}));
  EXPECT_TRUE(files.kept.empty());
  EXPECT_FALSE(fetcher.is_done());
}

TEST_F(FileFetcherTest, ARefusalIsToldAndTheNextFileIsAskedFor) {
  add({module_of("/bin/a", "a"), module_of("/lib/b.so", "b")});
  (void)asked();
  Fields refusal = fields_of({});
  refusal.add(Field::kText, "gone");
  fetcher.take(refusal);
  ASSERT_EQ(fetcher.not_fetched().size(), 1U);
  EXPECT_EQ(fetcher.not_fetched()[0].path, "/bin/a");
  EXPECT_EQ(fetcher.not_fetched()[0].why, "gone");
  EXPECT_EQ(asked(), std::pair(uint64_t{1}, uint64_t{0}));
}

TEST_F(FileFetcherTest, AnotherBuildIdIsRefusedBeforeItsBytesAreKept) {
  add({module_of("/bin/a", "a")});
  (void)asked();
  fetcher.take(fields_of({.file_bytes = 3, .build_id = "b", .bytes = "012"}));
  expect_dropped("different build-id");
  EXPECT_EQ(files.drops, 0U);
}

TEST_F(FileFetcherTest, WhatIsAnotherFileInTheEndIsDropped) {
  add({module_of("/bin/a", "a")});
  (void)asked();
  fetcher.take(fields_of({.file_bytes = 3, .build_id = "a", .bytes = "bad"}));
  expect_dropped("another file");
  EXPECT_EQ(files.drops, 1U);
}

TEST_F(FileFetcherTest, AFileThatIsTooLargeIsNotBegun) {
  add({module_of("/bin/a", "a")});
  (void)asked();
  fetcher.take(fields_of({.file_bytes = 1'000'001, .build_id = "a", .bytes = "0"}));
  expect_dropped("--fetch-limit");
  EXPECT_EQ(files.drops, 0U);
}

TEST_F(FileFetcherTest, AllFilesTogetherHaveALimit) {
  const std::vector modules{module_of("/bin/a", "a"), module_of("/bin/b", "b")};
  fetcher.add(7, 0, modules);
  while (const auto place = asked()) {
    const auto& [number, offset] = *place;
    fetcher.take(fields_of({.module = number,
                            .offset = offset,
                            .file_bytes = 1'000'000,
                            .build_id = modules[number].build_id,
                            .bytes = std::string(100'000, '.')}));
  }
  EXPECT_EQ(files.kept.size(), 1U);
  ASSERT_EQ(fetcher.not_fetched().size(), 1U);
  EXPECT_NE(fetcher.not_fetched()[0].why.find("--fetch-limit"), std::string::npos);
  EXPECT_EQ(fetcher.received_bytes(), 1'000'000U);
}

TEST_F(FileFetcherTest, AFileThatGrowsIsDropped) {
  begin_one();
  fetcher.take(fields_of({.offset = 4, .file_bytes = 11, .build_id = "a", .bytes = "4"}));
  expect_dropped("its size changed");
}

TEST_F(FileFetcherTest, AFileThatEndsBeforeItsEndIsDropped) {
  begin_one();
  fetcher.take(fields_of({.offset = 4, .file_bytes = 10, .build_id = "a"}));
  expect_dropped("shorter than announced");
}

TEST_F(FileFetcherTest, MoreThanTheFileHasIsDropped) {
  begin_one();
  fetcher.take(fields_of({.offset = 4, .file_bytes = 10, .build_id = "a", .bytes = "4567890"}));
  expect_dropped("more than requested");
}

TEST_F(FileFetcherTest, APieceThatIsTooLargeIsDropped) {
  add({module_of("/bin/a", "a")});
  (void)asked();
  fetcher.take(
      fields_of({.file_bytes = 500'000, .build_id = "a", .bytes = std::string(uplink::kFilePieceBytes + 1, '.')}));
  expect_dropped("more than requested");
}

TEST_F(FileFetcherTest, AFullDiskDropsTheFile) {
  files.is_full = true;
  add({module_of("/bin/a", "a")});
  (void)asked();
  fetcher.take(fields_of({.file_bytes = 3, .build_id = "a", .bytes = "0"}));
  expect_dropped("no space");
}

TEST_F(FileFetcherTest, GivingUpTellsOfAllThatIsMissing) {
  begin_one();
  add({module_of("/lib/b.so", "b"), module_of("/lib/c.so", "c")});
  fetcher.give_up("no line");
  EXPECT_TRUE(fetcher.is_done());
  EXPECT_TRUE(files.build_id.empty());
  EXPECT_EQ(fetcher.not_fetched_count(), 3U);
  fetcher.take(fields_of({.offset = 4, .file_bytes = 10, .build_id = "a", .bytes = "456789"}));  // comes too late
  EXPECT_TRUE(files.kept.empty());
}

TEST_F(FileFetcherTest, AsManyModulesAsSomebodyInventsCostABoundedAmount) {
  for (int i = 0; i < 20'000; ++i) add({module_of("/bin/x", std::to_string(i))});
  EXPECT_LE(fetcher.files_left(), 10'000U);
  add({module_of("/bin/long", std::string(1000, 'x'))});
  fetcher.give_up("no line");
  EXPECT_LE(fetcher.not_fetched().size(), 100U);
}

}  // namespace
}  // namespace heaptap::remote
