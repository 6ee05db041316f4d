// Files of massif: what was alive at the moments of its snapshots.
#include "analysis/imports/massif.h"
#include "imported_file.h"

namespace heaptap::imports {
namespace {

using test::Counted;
using test::ImportedFile;

std::string snapshot(int number, uint64_t time, uint64_t bytes, std::string_view tree = "heap_tree=empty\n") {
  return "#-----------\nsnapshot=" + std::to_string(number) + "\n#-----------\ntime=" + std::to_string(time) +
         "\nmem_heap_B=" + std::to_string(bytes) + "\nmem_heap_extra_B=16\nmem_stacks_B=0\n" + std::string(tree);
}

constexpr std::string_view kPeakTree =
    "heap_tree=peak\n"
    "n3: 600 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
    " n2: 400 0x1000: inner(int, char (*)()) (a.cc:7)\n"
    "  n1: 300 0x1000: outer (a.cc:9)\n"
    "   n0: 300 0x2000: main (a.cc:20)\n"
    "  n0: 100 0x3000: ??? (in /lib/libx.so)\n"
    " n0: 150 0x4000: other (in /lib/libx.so)\n"
    " n0: 50 in 3 places, all below massif's threshold (1.00%)\n";

std::string file_of(std::string_view snapshots, std::string_view unit = "ms") {
  return "desc: --massif-out-file=x\ncmd: ./app --flag\ntime_unit: " + std::string(unit) + "\n" +
         std::string(snapshots);
}

std::string whole() {
  return file_of(snapshot(0, 0, 0) + snapshot(1, 10, 200) + snapshot(2, 20, 600, kPeakTree) + snapshot(3, 30, 250));
}

TEST(Massif, ThePeaksStacksAreThoseOfItsSnapshot) {
  const ImportedFile file(whole());
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_EQ(counted.ledger.totals().peak_live_bytes, 600U);
  EXPECT_EQ(counted.ledger.totals().peak_time_ns, 20'000'000U);
  const std::map<std::string, uint64_t> peak{{"inner(int, char (*)())<outer<main", 300},
                                             {"inner(int, char (*)())<?", 100},
                                             {"other", 150},
                                             {std::string(kBelowThreshold), 50}};
  EXPECT_EQ(counted.bytes(source->tables(), true), peak);
}

TEST(Massif, WhatASnapshotWithoutATreeHoldsIsOfNoStackThatIsKnown) {
  const ImportedFile file(whole());
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  const std::map<std::string, uint64_t> live{{std::string(kNotDetailed), 250}};
  EXPECT_EQ(counted.bytes(source->tables()), live);
  EXPECT_EQ(counted.ledger.totals().live_bytes, 250U);
}

TEST(Massif, EveryMomentHasItsSum) {
  const ImportedFile file(whole());
  auto source = test::opened(file);
  for (const auto& [to_ms, bytes] : std::map<uint64_t, uint64_t>{{5, 0}, {10, 200}, {25, 600}, {30, 250}}) {
    Counted counted(to_ms * 1'000'000);
    ASSERT_TRUE(source->replay(counted, {}));
    EXPECT_EQ(counted.ledger.totals().live_bytes, bytes);
  }
}

TEST(Massif, FramesHaveNamesFilesAndModules) {
  const ImportedFile file(whole());
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  std::map<std::string, model::Frame> frames;
  for (model::CodeId code = 0; code < source->tables().codes.size(); ++code) {
    const model::Frame frame = source->tables().names->frames_of(code).front();
    frames.emplace(frame.function, frame);
  }
  EXPECT_EQ(frames["inner(int, char (*)())"].file, "a.cc");
  EXPECT_EQ(frames["inner(int, char (*)())"].line, 7U);
  EXPECT_EQ(frames["inner(int, char (*)())"].address, 0x1000U);
  EXPECT_FALSE(frames["inner(int, char (*)())"].inlined) << "it has another caller too";
  EXPECT_EQ(frames["other"].module, "/lib/libx.so");
  EXPECT_EQ(frames[""].module, "/lib/libx.so");
}

TEST(Massif, AFunctionWithItsCallersAddressIsInlined) {
  const ImportedFile file(
      file_of(snapshot(0, 1, 10,
                       "heap_tree=detailed\nn1: 10 (heap allocation functions) x\n n1: 10 0x1: in (a:1)\n"
                       "  n1: 10 0x1: out (a:2)\n   n0: 10 0x1: out (a:2)\n")));
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_TRUE(source->tables().names->frames_of(0).front().inlined);
  EXPECT_FALSE(source->tables().names->frames_of(1).front().inlined) << "a recursion";
}

TEST(Massif, AHigherSnapshotWithoutStacksDoesNotHideThePeaks) {
  const ImportedFile file(
      file_of(snapshot(0, 0, 0) + snapshot(1, 10, 603) + snapshot(2, 20, 600, kPeakTree) + snapshot(3, 30, 0)));
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_EQ(counted.ledger.totals().peak_live_bytes, 600U);
  EXPECT_TRUE(test::has_note(source->capture(), model::NoteKind::kImportedPeak));
}

TEST(Massif, AMuchHigherSnapshotIsThePeak) {
  const ImportedFile file(file_of(snapshot(1, 10, 900) + snapshot(2, 20, 600, kPeakTree)));
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_EQ(counted.ledger.totals().peak_live_bytes, 900U);
}

TEST(Massif, InstructionsAreNoTime) {
  const ImportedFile file(file_of(snapshot(0, 123456, 10), "i"));
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_EQ(source->capture().import.unit, model::TimeUnit::kInstructions);
  EXPECT_EQ(counted.ledger.totals().peak_time_ns, 123456U);
}

TEST(Massif, WhatElseItCountsIsSaid) {
  const ImportedFile file(whole());
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_TRUE(test::has_note(source->capture(), model::NoteKind::kImportedExtra));
  EXPECT_FALSE(test::has_note(source->capture(), model::NoteKind::kImportedStacks));
  EXPECT_FALSE(source->capture().import.tells(model::kNotRecordedCounts));
  EXPECT_TRUE(source->capture().ended);
}

TEST(Massif, OfATreeThatIsCutOffTheSumRemains) {
  std::string text = whole();
  text.resize(text.find(" n0: 150"));
  const ImportedFile file(text);
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_TRUE(source->capture().truncated);
  const std::map<std::string, uint64_t> live{{std::string(kNotDetailed), 600}};
  EXPECT_EQ(counted.bytes(source->tables()), live);
}

TEST(Massif, ATreeWithWrongSumsIsNotBelieved) {
  std::string text = whole();
  text.replace(text.find("n0: 300"), 7, "n0: 999");
  const ImportedFile file(text);
  auto source = test::opened(file);
  Counted counted;
  ASSERT_TRUE(source->replay(counted, {}));
  EXPECT_TRUE(test::has_note(source->capture(), model::NoteKind::kImportedTrees));
  EXPECT_EQ(counted.ledger.totals().peak_live_bytes, 600U);
}

TEST(Massif, FilesThatAreNoneAreRefused) {
  EXPECT_NE(test::refusal_of(file_of("")).find("no snapshot of massif"), std::string::npos);
  EXPECT_NE(test::refusal_of(file_of(snapshot(0, 1, 2), "moons")).find("'moons'"), std::string::npos);
  EXPECT_FALSE(is_import(ImportedFile("desc: I1 cache: 32768 B\ncmd: ./app\nevents: Ir\n").path()));
}

}  // namespace
}  // namespace heaptap::imports
