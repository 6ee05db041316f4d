// CPython's objects, made by hand: chains of frames of each version, texts, tables of lines.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "agent/python/line_table.h"
#include "agent/python/objects.h"
#include "agent/python/versions.h"
#include "common/arch/aarch64/jumps.h"
#include "common/arch/x86_64/jumps.h"

namespace heaptap::agent::python {
namespace {

using Memory = std::vector<uint64_t>;

template <typename T>
void put(Memory& memory, size_t at, T value) {
  std::memcpy(reinterpret_cast<uint8_t*>(memory.data()) + at, &value, sizeof(value));
}
uintptr_t address_of(const Memory& memory) { return reinterpret_cast<uintptr_t>(memory.data()); }

// Frames of an interpreter of that version, outermost first; the thread's state is in `state`.
struct Chain {
  const Layout& layout;
  std::vector<Memory> frames = {};
  Memory state = Memory(32);
  Memory holder = Memory(8);

  void push(uintptr_t code, uint64_t position, uint8_t mark) {
    Memory frame(32);
    put(frame, layout.frame_code, code);
    put(frame, layout.frame_previous, frames.empty() ? uintptr_t{0} : address_of(frames.back()));
    if (layout.bytes_per_index != 0)
      put(frame, layout.frame_position, static_cast<int32_t>(position));
    else
      put(frame, layout.frame_position, position);
    if (layout.frame_mark != 0) put(frame, layout.frame_mark, mark);
    frames.push_back(std::move(frame));
    put(holder, layout.holder_frame, address_of(frames.back()));
    put(state, layout.state_frame, layout.has_holder ? address_of(holder) : address_of(frames.back()));
  }

  // "f4096" for a frame, "|" where a call of the evaluation function begins.
  [[nodiscard]] std::string steps() const {
    std::string text;
    Frames walk(layout, address_of(state));
    for (Step step = walk.next(); step.kind != Step::Kind::kEnd; step = walk.next()) {
      text += step.kind == Step::Kind::kEntry
                  ? "|"
                  : "f" + std::to_string(step.code) + "@" + std::to_string(static_cast<int>(step.position));
    }
    return text;
  }
};

TEST(PythonFrames, EachFrameIsACallBefore3_11) {
  for (const Layout& layout : {k3_9, k3_10}) {
    Chain chain{layout};
    chain.push(1, static_cast<uint64_t>(-1), 0);
    chain.push(2, 7, 0);
    EXPECT_EQ(chain.steps(), "f2@7|f1@-1|");
  }
}

TEST(PythonFrames, AFlagMarksTheFirstFrameOfACallIn3_11) {
  Chain chain{k3_11};
  chain.push(1, 10, 1);
  chain.push(2, 20, 0);
  chain.push(3, 30, 1);
  EXPECT_EQ(chain.steps(), "f3@30|f2@20f1@10|");
}

TEST(PythonFrames, AFrameOfTheEvaluationFunctionIsBehindThemFrom3_12On) {
  Chain chain{k3_12};
  chain.push(99, 0, kOwnedByEvaluation);
  chain.push(1, 10, 0);
  chain.push(2, 20, 1);
  chain.push(98, 0, kOwnedByEvaluation);
  chain.push(3, 30, 2);
  EXPECT_EQ(chain.steps(), "f3@30|f2@20f1@10|");
}

TEST(PythonFrames, ThereAreNoneWhereNoneRuns) {
  Chain direct{k3_9};
  EXPECT_EQ(direct.steps(), "");
  Chain held{k3_11};
  EXPECT_EQ(held.steps(), "");
  put(held.state, k3_11.state_frame, address_of(held.holder));
  EXPECT_EQ(held.steps(), "");
}

TEST(PythonFrames, AChainWithoutAnEndIsLeft) {
  Chain chain{k3_9};
  chain.push(1, 0, 0);
  put(chain.frames[0], k3_9.frame_previous, address_of(chain.frames[0]));
  Frames walk(k3_9, address_of(chain.state));
  uint64_t steps = 0;
  while (walk.next().kind != Step::Kind::kEnd) ++steps;
  EXPECT_EQ(steps, 2 * kMaxChain) << "with the beginning of a call for each";
  EXPECT_TRUE(walk.is_cut());
}

TEST(PythonFrames, OffsetsThatTheInterpreterPublishesAreTaken) {
  Memory state(128);
  state[kCookie] = 0x7970677562656478;
  state[kVersion] = 0x030d02f0;
  state[kThreadFrame] = 72;
  state[kFrameOwner] = 70;
  state[kTextAscii] = 40;
  Layout layout{};
  EXPECT_TRUE(read_published(address_of(state), 0x030d03f0, layout));
  EXPECT_EQ(layout.state_frame, 72);
  EXPECT_EQ(layout.frame_mark, 70);
  EXPECT_EQ(layout.text_other, 56);
  EXPECT_FALSE(read_published(address_of(state), 0x030e00f0, layout));
  EXPECT_FALSE(read_published(0, 0x030d03f0, layout));
  state[kIsFreeThreaded] = 1;
  EXPECT_FALSE(read_published(address_of(state), 0x030d03f0, layout));
  state[kIsFreeThreaded] = 0;
  state[kCookie] = 0;
  EXPECT_FALSE(read_published(address_of(state), 0x030d03f0, layout));
}

TEST(PythonFrames, ObjectsWithOtherHeadsAreNotRead) {
  Memory type(16);
  type[4] = 16;
  EXPECT_TRUE(has_usual_heads(address_of(type)));
  type[4] = 32;
  EXPECT_FALSE(has_usual_heads(address_of(type)));
  EXPECT_FALSE(has_usual_heads(0));
}

TEST(PythonFrames, VersionsAreToldByWhatTheyExport) {
  uint64_t number = 0;
  const auto version_with = [&](const std::vector<std::string>& exported) {
    return find_version([&](const char* name) -> uintptr_t {
      for (const std::string& each : exported) {
        if (each == name) return reinterpret_cast<uintptr_t>(&number);
      }
      return 0;
    });
  };
  EXPECT_EQ(version_with({"PyFrame_GetCode"}).number, 0x03090000u);
  EXPECT_EQ(version_with({"PyFrame_GetCode", "Py_NewRef"}).layout.line_table, LineTable::kRanges);
  EXPECT_FALSE(version_with({}).has_layout);
  number = 0x030b02f0;
  EXPECT_TRUE(version_with({"Py_Version"}).has_layout);
  EXPECT_EQ(version_with({"Py_Version"}).layout.entry_mark, EntryMark::kFlag);
  number = 0x030d02f0;
  EXPECT_FALSE(version_with({"Py_Version"}).has_layout);
  number = 0x030e00f0;
  EXPECT_FALSE(version_with({"Py_Version"}).has_layout);
  EXPECT_EQ(version_with({"Py_Version"}).number, 0x030e00f0u);
}

// Type objects, as far as they are read.
const char* const kTextName = "str";
const char* const kOtherName = "bytes";
const uintptr_t kTextType[4] = {0, 0, 0, reinterpret_cast<uintptr_t>(kTextName)};
const uintptr_t kOtherType[4] = {0, 0, 0, reinterpret_cast<uintptr_t>(kOtherName)};

Memory text_object(const Layout& layout, const uintptr_t (&type)[4], unsigned width, bool is_ascii,
                   const std::u32string& characters) {
  Memory memory(16 + characters.size() * width / 8 + 1);
  put(memory, kType, reinterpret_cast<uintptr_t>(&type));
  put(memory, kLength, uint64_t{characters.size()});
  put(memory, 32, static_cast<uint32_t>(1u | width << 2 | 1u << 5 | (is_ascii ? 1u << 6 : 0)));
  const size_t data = is_ascii ? layout.text_ascii : layout.text_other;
  for (size_t i = 0; i < characters.size(); ++i) {
    if (width == 1) put(memory, data + i, static_cast<uint8_t>(characters[i]));
    if (width == 2) put(memory, data + 2 * i, static_cast<uint16_t>(characters[i]));
    if (width == 4) put(memory, data + 4 * i, static_cast<uint32_t>(characters[i]));
  }
  return memory;
}

std::string read_in_pieces(Text text, size_t room) {
  std::string whole;
  std::vector<char> piece(room);
  while (!text.is_empty()) {
    text.copy_next(piece.data(), room);
    if (piece[0] == '\0') return whole + "<stuck>";
    whole += piece.data();
  }
  return whole;
}

TEST(PythonText, IsUtf8InPieces) {
  for (const Layout& layout : {k3_9, k3_11, k3_12}) {
    const auto read = [&](unsigned width, bool is_ascii, const std::u32string& characters) {
      const Memory object = text_object(layout, kTextType, width, is_ascii, characters);
      BuiltinType type;
      return read_in_pieces(Text(layout, address_of(object), type), 6);
    };
    EXPECT_EQ(read(1, true, U"a path/of some.py"), "a path/of some.py");
    EXPECT_EQ(read(1, false, U"gr\u00f6\u00dfe"), "gr\u00f6\u00dfe");
    EXPECT_EQ(read(2, false, U"\u4e2d\u6587.py"), "\u4e2d\u6587.py");
    EXPECT_EQ(read(4, false, U"\U0001f40d\u00e9"), "\U0001f40d\u00e9");
    EXPECT_EQ(read(2, false, {0xd800, 'x'}), "?x");
    EXPECT_EQ(read(1, true, {'a', 0, 'b'}), "a?b");
    EXPECT_EQ(read(3, false, U"a"), "");
  }
}

TEST(PythonText, WhatIsNoTextIsNotThere) {
  BuiltinType type;
  const auto is_there = [&type](uintptr_t object) { return Text(k3_11, object, type).is_there(); };
  Memory object = text_object(k3_11, kOtherType, 1, true, U"a");
  EXPECT_FALSE(is_there(address_of(object)));
  EXPECT_FALSE(is_there(0));
  EXPECT_FALSE(is_there(0x10001));
  EXPECT_FALSE(is_there(uintptr_t{1} << 46));
  object = text_object(k3_11, kTextType, 1, true, U"");
  EXPECT_TRUE(is_there(address_of(object))) << "an empty one is";
  put(object, kLength, uint64_t{1} << 40);
  EXPECT_FALSE(is_there(address_of(object)));
}

struct Lines {
  int64_t begin;
  int64_t end;
  uint32_t line;
};

TEST(PythonLines, Of3_11AreAsItsOwnReaderSays) {
  // A function with a loop, an expression over two lines and an exception, as Python 3.11 compiled it; co_lines() of it.
  const std::vector<uint8_t> table = {
      128, 0,   216, 12,  13, 128, 69, 221, 13,  18,  144, 49,  137, 88, 140, 88,  240, 0,   6,   5,   25,
      240, 0,   6,   5,   25, 136, 1,  216, 11,  12,  136, 113, 137, 53, 240, 0,   5,   9,   25,  216, 12,
      17,  144, 81,  137, 74, 136, 69, 136, 69,  240, 6,   0,   13,  18, 144, 97,  216, 22,  23,  241, 3,
      1,   23,  24,  241, 0,  1,   13, 25,  136, 69,  136, 69,  240, 4,  3,   5,   13,  216, 8,   13,  144,
      1,   137, 9,   136, 9,  136, 9,  248, 221, 11,  28,  240, 0,   1,  5,   13,  240, 0,   1,   5,   13,
      240, 0,   1,   5,   13, 216, 8,  12,  136, 4,   240, 3,   1,   5,  13,  248, 248, 248, 240, 4,   1,
      12,  26,  240, 0,   1,  12,  26, 221, 12,  17,  144, 37,  137, 76, 140, 76,  240, 3,   1,   12,  26,
      241, 0,   1,   12,  26, 244, 0,  1,   12,  26,  240, 0,   1,   5,  26};
  const Lines lines[] = {{0, 2, 1},      {2, 6, 2},      {6, 40, 3},     {40, 50, 4},   {50, 62, 5},   {62, 66, 8},
                         {66, 68, 9},    {68, 80, 8},    {80, 82, 10},   {82, 94, 11},  {96, 114, 12}, {114, 118, 13},
                         {118, 120, 12}, {126, 130, 14}, {130, 158, 15}, {158, 176, 14}};
  for (const Lines& each : lines) {
    for (int64_t at = each.begin; at < each.end; at += 2) {
      EXPECT_EQ(line_of(LineTable::kLocations, table.data(), table.size(), 1, at), each.line) << at;
    }
  }
  EXPECT_EQ(line_of(LineTable::kLocations, table.data(), table.size(), 5, -2), 5u);
}

TEST(PythonLines, Of3_10AreRanges) {
  const std::vector<uint8_t> table = {6, 1, 4, 0x80, 2, 2, 8, 0xff};
  const auto line = [&](int64_t at) { return line_of(LineTable::kRanges, table.data(), table.size(), 10, at); };
  EXPECT_EQ(line(0), 11u);
  EXPECT_EQ(line(5), 11u);
  EXPECT_EQ(line(8), 11u);  // without a line of its own
  EXPECT_EQ(line(10), 13u);
  EXPECT_EQ(line(12), 12u);
}

TEST(PythonLines, Of3_9AreIncrements) {
  const std::vector<uint8_t> table = {0, 1, 6, 1, 50, 127, 0, 20, 4, 0xfe};
  const auto line = [&](int64_t at) { return line_of(LineTable::kIncrements, table.data(), table.size(), 10, at); };
  EXPECT_EQ(line(0), 11u);
  EXPECT_EQ(line(6), 12u);
  EXPECT_EQ(line(56), 159u);
  EXPECT_EQ(line(60), 157u);
}

TEST(PythonLines, NothingOutsideOfADamagedTableIsRead) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> table(random() % 24);
    for (uint8_t& byte : table) byte = static_cast<uint8_t>(random());
    for (const LineTable kind : {LineTable::kIncrements, LineTable::kRanges, LineTable::kLocations}) {
      (void)line_of(kind, table.data(), table.size(), 1, static_cast<int64_t>(random() % 300));
    }
  }
}

TEST(NamedCode, KeepsLabelAndLine) {
  const uint64_t entry = wire::make_named_code(0xfffff, 123'456);
  EXPECT_TRUE(wire::is_named_code(entry));
  EXPECT_EQ(wire::named_label(entry), 0xfffffu);
  EXPECT_EQ(wire::named_line(entry), 123'456u);
  EXPECT_EQ(wire::named_line(wire::make_named_code(1, UINT32_MAX)), wire::kMaxNamedLine);
  EXPECT_FALSE(wire::is_named_code(wire::kCodeExact | 0x7ffff7dd1234));
  EXPECT_FALSE(wire::is_named_code(wire::with_generation(wire::kCodeExact | 0x7ffff7dd1234, wire::kGenerationMask)));
}

TEST(Jumps, LeadToTheirTargets) {
  const uint8_t near[] = {0xe9, 0xfb, 0xff, 0xff, 0xff, 0};
  EXPECT_EQ(arch::x86_64::jump_target(near, 0x1000), 0x1000u);
  const uint8_t conditional[] = {0x0f, 0x84, 0x00, 0x10, 0, 0};
  EXPECT_EQ(arch::x86_64::jump_target(conditional, 0x1000), 0x2006u);
  const uint8_t call[] = {0xe8, 0, 0, 0, 0, 0};
  EXPECT_EQ(arch::x86_64::jump_target(call, 0x1000), 0u);
  const uint8_t branch[] = {0xff, 0xff, 0xff, 0x17};
  EXPECT_EQ(arch::aarch64::jump_target(branch, 0x1000), 0xffcu);
  const uint8_t branch_if[] = {0x40, 0x00, 0x00, 0x54};
  EXPECT_EQ(arch::aarch64::jump_target(branch_if, 0x1000), 0x1008u);
  const uint8_t other[] = {0x1f, 0x20, 0x03, 0xd5};
  EXPECT_EQ(arch::aarch64::jump_target(other, 0x1000), 0u);
}

}  // namespace
}  // namespace heaptap::agent::python
