#include "capture/stream/missing_scan.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptap::stream {
namespace {

using model::Note;
using model::NoteKind;

TEST(MissingScan, AProcessThatTheTracerKeptWasKilledOrExecutedAnotherProgram) {
  EXPECT_EQ(kind_of_missing_traced_scan({}), NoteKind::kNoTracedScanAtEnd);
  const std::vector<Note> others{{NoteKind::kLogFull}, {NoteKind::kExecNotFollowed}};
  EXPECT_EQ(kind_of_missing_traced_scan(others), NoteKind::kNoTracedScanAtEnd);
}

TEST(MissingScan, AProcessThatTheTracerLeftIsNotCalledKilled) {
  for (const NoteKind left :
       {NoteKind::kTracerDetached, NoteKind::kTracerEnded, NoteKind::kTracerOutOfTime, NoteKind::kTracerBrokeOff,
        NoteKind::kTracedPageMissing, NoteKind::kHandedOver, NoteKind::kHandedToMaker}) {
    const std::vector<Note> notes{{NoteKind::kLogFull}, {left}};
    EXPECT_EQ(kind_of_missing_traced_scan(notes), NoteKind::kNoScanTracerLeft) << static_cast<int>(left);
  }
}

}  // namespace
}  // namespace heaptap::stream
