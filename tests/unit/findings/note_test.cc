// Notes as bytes, and what they are called and say.
#include "common/model/note.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/findings/note_text.h"
#include "common/model/note_code.h"

namespace heaptap::findings {
namespace {

using model::Note;
using model::NoteKind;

constexpr NoteKind kKinds[] = {
#define HEAPTAP_NOTE(number, enumerator, name, counts) NoteKind::enumerator,
#include "common/model/notes.def"
#undef HEAPTAP_NOTE
};
constexpr auto kLaterKind = static_cast<NoteKind>(4'000'000);

Note note_with_all(NoteKind kind) {
  return {.kind = kind, .numbers = {3, uint64_t{1} << 63, 0}, .module = "/usr/lib/libodd.so", .name = "calloc"};
}

TEST(Note, IsReadBackAsItWasWritten) {
  for (const NoteKind kind : kKinds) {
    for (const Note& note : {Note{.kind = kind}, note_with_all(kind)})
      EXPECT_EQ(model::decode_note(encode(note)), note);
  }
}

TEST(Note, OfALaterVersionIsKeptWithAllThatItBrings) {
  const Note note = note_with_all(kLaterKind);
  EXPECT_EQ(model::decode_note(encode(note) + "what came later"), note);
}

TEST(Note, ThatIsCutAnywhereIsNone) {
  const std::string bytes = encode(note_with_all(NoteKind::kReturnsNotSeen));
  for (size_t kept = 0; kept < bytes.size(); ++kept) {
    EXPECT_FALSE(model::decode_note(std::string_view(bytes).substr(0, kept))) << kept;
  }
}

TEST(Note, ClaimsNoMoreNumbersThanItsBytesCanHold) {
  std::string bytes(1, '\5');
  bytes += "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1";  // 2^64 - 1 numbers
  EXPECT_FALSE(model::decode_note(bytes + std::string(100, '\0')));
}

TEST(Note, OfEachKindHasANameAndASentenceOfItsOwn) {
  std::set<std::string> names;
  std::set<std::string> sentences;
  std::set<NoteKind> kinds;
  for (const NoteKind kind : kKinds) {
    EXPECT_TRUE(kinds.insert(kind).second) << static_cast<uint32_t>(kind);
    EXPECT_TRUE(names.insert(name_of(kind)).second) << name_of(kind);
    if (kind == NoteKind::kText || kind == NoteKind::kFailure) continue;  // their name is the sentence
    const std::string sentence = sentence_of(note_with_all(kind));
    EXPECT_TRUE(sentences.insert(sentence).second) << sentence;
    EXPECT_EQ(sentence.find_first_of("{}"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("a newer heaptap"), std::string::npos) << name_of(kind);
  }
}

TEST(Note, SaysItsNumbersItsModuleAndItsName) {
  EXPECT_EQ(sentence_of({.kind = NoteKind::kText, .name = "as it was {0} said"}), "as it was {0} said");
  EXPECT_EQ(sentence_of({.kind = NoteKind::kEntryNotWritable, .module = "/lib/libc.so.6", .name = "calloc"}),
            "calloc in /lib/libc.so.6 is not intercepted: its memory can't be written");
  EXPECT_EQ(sentence_of({.kind = NoteKind::kScanCutOff, .numbers = {2, 5, 9}}),
            "leak scan 2 can't be used: the trace has 5 of its 9 frames (the recording was cut off there)");
}

TEST(Note, OfAStaticProgramSaysWhatBecameOfAskingAHost) {
  const auto stripped = [](std::vector<uint64_t> what_became_of_asking) {
    return sentence_of({.kind = NoteKind::kStaticAndStripped, .numbers = std::move(what_became_of_asking)});
  };
  EXPECT_EQ(stripped({}), stripped({0})) << "an older trace's";
  EXPECT_EQ(stripped({0}).find("--symbols"), std::string::npos);
  EXPECT_NE(stripped({1}).find("pass --symbols DIR or --sysroot DIR"), std::string::npos);
  EXPECT_NE(stripped({2}).find("no unwind table"), std::string::npos);
}

TEST(Note, SpeaksOfOneAndOfSeveral) {
  const auto says = [](const Note& note, const char* beginning) { return sentence_of(note).starts_with(beginning); };
  EXPECT_TRUE(says({.kind = NoteKind::kNotAnswered}, "nothing was recorded: heaptap didn't answer in time"));
  EXPECT_TRUE(says({.kind = NoteKind::kChildrenUnreached, .numbers = {1}}, "1 forked child was not recorded"));
  EXPECT_TRUE(says({.kind = NoteKind::kChildrenUnreached, .numbers = {2}}, "2 forked children were not recorded"));
  EXPECT_TRUE(says({.kind = NoteKind::kChildExecNotRecorded, .numbers = {1, 2}}, "a child executed a program"));
  EXPECT_TRUE(says({.kind = NoteKind::kChildExecNotRecorded, .numbers = {2, 2}}, "2 children executed a program"));
}

TEST(Note, OfThreadsThatWereNotJoinedSaysWhatTheyKeep) {
  const auto says = [](std::vector<uint64_t> numbers) {
    return sentence_of({.kind = NoteKind::kThreadsNotJoined, .numbers = std::move(numbers)});
  };
  EXPECT_EQ(
      says({30, uint64_t{240} << 20, 360 << 10}),
      "30 threads ended and were not joined (pthread_join or pthread_detach): their stacks keep 240.0 MiB mapped, "
      "360.0 KiB of them resident");
  EXPECT_EQ(says({1, 8 << 20}),
            "1 thread ended and was not joined (pthread_join or pthread_detach): its stack keeps 8.0 MiB mapped");
}

// A trace may come from anywhere: a note may lack what its kind has.
TEST(Note, WithoutWhatItsKindBringsIsStillSaid) {
  for (const NoteKind kind : kKinds) (void)sentence_of({.kind = kind});
  EXPECT_EQ(sentence_of({.kind = NoteKind::kMemoryNotRead}), "0 bytes of memory could not be read");
}

TEST(Note, OfALaterVersionIsShownWithAllThatItBrings) {
  EXPECT_EQ(name_of(kLaterKind), "kind_4000000");
  EXPECT_EQ(sentence_of(note_with_all(kLaterKind)),
            "a note that only a newer heaptap can show (note 4000000; 3, 9223372036854775808, 0; /usr/lib/libodd.so; "
            "calloc)");
}

TEST(Note, CountsWhatItsKindCounts) {
  EXPECT_EQ(count_of({.kind = NoteKind::kBlocksNotKept, .numbers = {12}}), 12u);
  EXPECT_EQ(count_of({.kind = NoteKind::kThreadInKernel, .numbers = {4711}}), 1u);  // its number
  EXPECT_EQ(count_of({.kind = NoteKind::kStackTableFull}), 1u);
  EXPECT_EQ(count_of(note_with_all(kLaterKind)), 1u);
}

}  // namespace
}  // namespace heaptap::findings
