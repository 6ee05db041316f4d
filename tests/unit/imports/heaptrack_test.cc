// Data files of heaptrack: what is counted of them, and what isn't concluded from.
#include "imported_file.h"

namespace heaptap::imports {
namespace {

using test::Counted;
using test::ImportedFile;

// main calls work, into which `inner` is inlined.
constexpr std::string_view kHead =
    "v 10400 3\n"
    "X ./app --flag\n"
    "I 1000 abc\n"
    "s 4 /app\n"
    "s 4 main\n"
    "s 5 a b.c\n"
    "s 4 work\n"
    "s 5 inner\n"
    "i 1000 1 2 3 a\n"
    "t 1 0\n"
    "i 2000 1 5 3 b 4 3 c\n"
    "t 2 1\n"
    "a 64 2\n"
    "a 10 1\n"
    "a 8 0\n";

std::string file_of(std::string_view events) { return std::string(kHead) + std::string(events); }

TEST(Heaptrack, CountsByStack) {
  const ImportedFile file(file_of("+ 0\n+ 0\nc 5\n- 0\n+ 1\n+ 2\n- 2\n"));
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  const ledger::Totals& totals = counted.ledger.totals();
  EXPECT_EQ(totals.allocations, 4U);
  EXPECT_EQ(totals.releases, 2U);
  EXPECT_EQ(totals.live_bytes, 0x74U);
  EXPECT_EQ(totals.peak_live_bytes, 0xc8U);
  const std::map<std::string, uint64_t> live{{"inner<work<main", 0x64}, {"main", 0x10}};
  EXPECT_EQ(counted.bytes(source->tables()), live);
  const std::map<std::string, uint64_t> peak{{"inner<work<main", 0xc8}};
  EXPECT_EQ(counted.bytes(source->tables(), true), peak);
}

TEST(Heaptrack, NamesComeFromTheFile) {
  const ImportedFile file(file_of("+ 0\n"));
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  const std::vector<model::Frame> frames = source->tables().names->frames_of(1);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].function, "inner");
  EXPECT_TRUE(frames[0].inlined);
  EXPECT_FALSE(frames[1].inlined);
  EXPECT_EQ(frames[1].function, "work");
  EXPECT_EQ(frames[1].file, "a b.c");
  EXPECT_EQ(frames[1].line, 12U);
  EXPECT_EQ(frames[1].module, "/app");
}

TEST(Heaptrack, AFunctionMayHaveNoFile) {
  const ImportedFile file("v 10400 3\ns 4 /app\ns 6 _start\ni 1 1 2\nt 1 0\na 5 1\n+ 0\n");
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  const std::map<std::string, uint64_t> live{{"_start", 5}};
  EXPECT_EQ(counted.bytes(source->tables()), live);
}

TEST(Heaptrack, FactsAreKnownBeforeAReplay) {
  const ImportedFile file(file_of("+ 0\n"));
  const auto source = test::opened(file);
  const std::vector<std::string> command{"./app", "--flag"};
  EXPECT_EQ(source->capture().command, command);
  EXPECT_EQ(source->capture().page_bytes, 4096U);
  EXPECT_EQ(source->capture().import.tool, "heaptrack");
}

// As heaptrack counts them: released by the very next event.
TEST(Heaptrack, TemporaryIsWhatTheNextEventReleases) {
  const ImportedFile file(file_of("+ 0\n- 0\n+ 1\n+ 0\n- 1\n- 0\n"));
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_EQ(counted.ledger.totals().temporary_allocations, 1U);
}

TEST(Heaptrack, AFileIsReadAgainFromItsBeginning) {
  const ImportedFile file(file_of("+ 0\n- 0\n+ 1\n"));
  auto source = test::opened(file);
  for (int i = 0; i < 2; ++i) {
    Counted counted;
    ASSERT_TRUE(source->replay(counted, {}));
    EXPECT_EQ(counted.ledger.totals().allocations, 2U);
    EXPECT_EQ(source->capture().event_count, 3U);
    EXPECT_EQ(source->tables().sites.size(), 4U);
  }
}

TEST(Heaptrack, TimesAreMilliseconds) {
  const ImportedFile file(file_of("c 5\n+ 0\nc 7d0\n"));
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_EQ(counted.ledger.totals().peak_time_ns, 5'000'000U);
  EXPECT_EQ(source->capture().duration_ns, 2'000'000'000U);
}

TEST(Heaptrack, AReleaseOfNoBlockThatIsKnownIsSaidSo) {
  const ImportedFile file(file_of("A\n- 0\n+ 0\n- 0\n- 0\n"));
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_FALSE(source->capture().from_start);
  EXPECT_EQ(counted.ledger.totals().unknown_releases, 2U);
  EXPECT_EQ(counted.ledger.totals().releases, 1U);
  EXPECT_EQ(counted.ledger.totals().live_bytes, 0U);
}

TEST(Heaptrack, ResidentPagesAreOfTheirTimes) {
  const ImportedFile file("v 10400 3\nI 4000 10\nR 1\nc 5\nR 12\nR\nR fffffffffffffff\nc 6\nR 2\n");
  auto source = test::opened(file);
  for (int replays = 0; replays < 2; ++replays) {
    Counted counted;
    ASSERT_TRUE(source->replay(counted, {}));
    const std::vector<model::ResidentSample>& samples = source->resident();
    ASSERT_EQ(samples.size(), 3U);
    EXPECT_EQ(samples[0].resident_bytes(), 0x4000U);
    EXPECT_EQ(samples[1].resident_bytes(), 0x12 * 0x4000U);
    EXPECT_EQ(samples[1].time_ns, 5'000'000U);
    EXPECT_EQ(samples[2].time_ns, 6'000'000U);
    EXPECT_FALSE(samples[2].has_kinds);
    EXPECT_EQ(source->capture().notes.back().number(0), 2U);  // lines that are none
  }
}

TEST(Heaptrack, LinesThatAreNoneAreLeftOutAndCounted) {
  const ImportedFile file(file_of("+ 0\nnonsense\n+ 9\n+ zz\n- ffffffffffffffffffff\nR 12\n# a comment\n\n"));
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_EQ(counted.ledger.totals().allocations, 1U);
  EXPECT_EQ(source->capture().lost_events, 3U);
  ASSERT_TRUE(test::has_note(source->capture(), model::NoteKind::kImportedLinesSkipped));
  EXPECT_EQ(source->capture().notes.back().number(0), 4U);
  EXPECT_FALSE(source->capture().truncated);
}

TEST(Heaptrack, AWrongEntryOfATableEndsWhatCanBeRead) {
  for (const char* const wrong : {"i 1 99\n", "i 1 1 99 0 0\n", "i 1 1 2 3\n", "i 1\n", "t 9 0\n", "t 1 77\n",
                                  "t 0 0\n", "a 5 99\n", "a zz 1\n", "s ffff short\n", "a ffffffffffffffff 1\n"}) {
    const ImportedFile file(file_of("+ 0\n" + std::string(wrong) + "+ 0\n"));
    auto source = test::opened(file);
    Counted counted;
    ASSERT_TRUE(source->replay(counted, {}));
    EXPECT_EQ(counted.ledger.totals().allocations, 1U) << wrong;
    EXPECT_TRUE(source->capture().truncated) << wrong;
    EXPECT_NE(source->capture().damage.find("line 17"), std::string::npos) << source->capture().damage;
    EXPECT_FALSE(source->capture().ended);
  }
}

TEST(Heaptrack, OfAFileThatIsCutOffWhatIsWholeIsRead) {
  const std::string whole = file_of("+ 0\n+ 1\n- 1\n+ 0\n");
  for (const std::string& cut : {whole.substr(0, whole.size() - 1), test::gzipped(whole).substr(0, 100)}) {
    const ImportedFile file(cut);
    auto source = imports::open_import(file.path());
    if (!source) continue;  // nothing of it could be decompressed
    Counted counted;
    ASSERT_TRUE((*source)->replay(counted, {}));
    EXPECT_TRUE((*source)->capture().truncated);
    EXPECT_LT(counted.ledger.totals().allocations, 3U);
  }
}

TEST(Heaptrack, StringsOfOlderFilesHaveNoLength) {
  const ImportedFile file("v 10300 2\ns /app\ns two words\ni 1 1 2 0 0\nt 1 0\na 5 1\n+ 0\n");
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  const std::map<std::string, uint64_t> live{{"two words", 5}};
  EXPECT_EQ(counted.bytes(source->tables()), live);
}

TEST(Heaptrack, OtherVersionsAreRefusedWithTheirCure) {
  EXPECT_NE(test::refusal_of("v 10900 4\n").find("newer heaptrack (file format 4"), std::string::npos);
  EXPECT_NE(test::refusal_of("v 10000\n").find("before 1.0"), std::string::npos);
  EXPECT_NE(test::refusal_of("").find("not a data file of heaptrack"), std::string::npos);
}

TEST(Heaptrack, RawDataIsRefusedWithItsCure) {
  EXPECT_NE(test::refusal_of("v 10400 3\nx 4 /app\nX ./app\nm 1 -\n").find("heaptrack_interpret"), std::string::npos);
}

TEST(Heaptrack, IsKnownByItsContent) {
  EXPECT_TRUE(is_import(ImportedFile(file_of("")).path()));
  EXPECT_TRUE(is_import(ImportedFile(test::gzipped(file_of(""))).path()));
  EXPECT_FALSE(is_import(ImportedFile("hello\n").path()));
  EXPECT_FALSE(is_import(ImportedFile("").path()));
  EXPECT_FALSE(is_import("/nowhere"));
}

// A long name that a few bytes name again and again.
TEST(Heaptrack, NamesHaveABound) {
  std::string text = "v 10400 3\ns 80000 " + std::string(0x80000, 'n') + "\n";
  for (int i = 1; i < 8192; ++i) text += "i " + std::to_string(i) + " 1 1 1 1\n";
  const ImportedFile file(text);
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_TRUE(source->capture().truncated);
  EXPECT_LT(source->tables().codes.size(), 2048U);
}

}  // namespace
}  // namespace heaptap::imports
