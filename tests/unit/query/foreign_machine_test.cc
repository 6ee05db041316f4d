// Traces of machines that aren't like this one: a reader goes by the trace's words, pages and byte order, or says why it doesn't read
// the trace.
#include <gtest/gtest.h>

#include "scan_script.h"

#include "analysis/report/view.h"
#include "views/json/render_json.h"
#include "views/text/render_text.h"

namespace heaptap::query {
namespace {

constexpr uint32_t kPowerPc = 20;  // EM_PPC

class ForeignMachine : public test::ScanScript {
 protected:
  // As a program of 32-bit PowerPC would be, on a kernel with large pages.
  void SetUp() override {
    capture_.architecture = "ppc";
    capture_.elf_machine = kPowerPc;
    capture_.word_bytes = 4;
    capture_.page_bytes = 65536;
    capture_.big_endian = true;
  }

  // What opening the trace fails with; empty: it doesn't.
  std::string refusal() {
    start_again();
    script_.allocate(1);
    const auto made = analyzed({});
    return made ? "" : made.error().message;
  }
};

TEST_F(ForeignMachine, UnmapsWholePagesOfTheTrace) {
  script_.map(0x100000, 0x30000);
  script_.unmap(0x100000, 1);        // one page of the trace
  script_.unmap(0x110000, 0x10001);  // two, with a part of the second
  EXPECT_EQ(report({}).totals.mapped_live_bytes, 0u);
}

TEST_F(ForeignMachine, UnmapsNoMoreThanThePagesOfTheTrace) {
  capture_.page_bytes = 1024;
  script_.map(0x100000, 0x3000);
  script_.unmap(0x100000, 1);
  EXPECT_EQ(report({}).totals.mapped_live_bytes, 0x3000u - 1024);
}

TEST_F(ForeignMachine, KnowsTheByteOrderOfPowerPc) {
  capture_.architecture = "powerpc";
  EXPECT_EQ(refusal(), "");
  capture_.big_endian = false;
  EXPECT_NE(refusal().find("little-endian words of powerpc"), std::string::npos) << refusal();
}

TEST_F(ForeignMachine, CountsOffsetsInWordsOfTheTrace) {
  for (const uint32_t word_bytes : {4u, 8u}) {
    start_again();
    capture_.word_bytes = word_bytes;
    block(100, {0x10, 0x20});
    block(50, {0x11, 0x20});
    scan({{0, 1}}, {{0}});
    scans_[0].pointers[0].offset = 3;
    Query query;
    query.leaks.why = *parse_block_question("#b2");
    const report::Report made = report(query);
    ASSERT_TRUE(made.holders && made.holders->held);
    ASSERT_EQ(made.holders->held->steps.size(), 1u);
    EXPECT_EQ(made.holders->held->steps[0].offset, 3 * word_bytes);
  }
}

TEST_F(ForeignMachine, IsNamedAsTheTraceNamesIt) {
  script_.allocate(100);
  const report::Report made = report({});
  EXPECT_NE(json::render_json(made, report::View::kSummary).find(R"("arch":"ppc")"), std::string::npos);
  EXPECT_NE(text::render_text(made, report::View::kSummary, {}).find("ppc"), std::string::npos);
}

TEST_F(ForeignMachine, IsReadWhereNothingIsKnownOfIt) {
  capture_.architecture = "a CPU of next year";
  capture_.elf_machine = 9999;
  capture_.word_bytes = 8;
  EXPECT_EQ(refusal(), "");
  capture_.architecture = "";
  capture_.elf_machine = 0;
  EXPECT_EQ(refusal(), "");
}

TEST_F(ForeignMachine, IsRefusedWithWordsThatNobodyHas) {
  for (const uint32_t word_bytes : {0u, 1u, 2u, 3u, 5u, 16u, 0xffffffffu}) {
    capture_.word_bytes = word_bytes;
    EXPECT_NE(refusal().find("words of " + std::to_string(word_bytes) + " bytes"), std::string::npos) << refusal();
  }
}

TEST_F(ForeignMachine, IsRefusedWithPagesThatNobodyHas) {
  for (const uint32_t page_bytes : {0u, 1u, 128u, 4095u, 4097u, 12288u, 1u << 31}) {
    capture_.page_bytes = page_bytes;
    EXPECT_NE(refusal().find("pages of " + std::to_string(page_bytes) + " bytes"), std::string::npos) << refusal();
  }
  for (const uint32_t page_bytes : {256u, 4096u, 16384u, 65536u, 1u << 30}) {
    capture_.page_bytes = page_bytes;
    EXPECT_EQ(refusal(), "");
  }
}

TEST_F(ForeignMachine, IsRefusedWhereItDoesNotAgreeWithItself) {
  capture_.architecture = "x86_64";
  capture_.word_bytes = 8;
  capture_.elf_machine = kPowerPc;
  capture_.big_endian = false;
  EXPECT_NE(refusal().find("ELF machine 20"), std::string::npos) << refusal();
  capture_.elf_machine = 62;
  EXPECT_EQ(refusal(), "");
  capture_.big_endian = true;
  EXPECT_NE(refusal().find("big-endian"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace heaptap::query
