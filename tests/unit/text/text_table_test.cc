// Tables fit the terminal: names are cut, figures never.
#include "views/text/text_table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "analysis/findings/function_name.h"
#include "common/base/units.h"

namespace heaptap::text {
namespace {

const Ink kPlain(false);

size_t widest(const std::string& text) {
  std::istringstream lines(text);
  size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, findings::shown_width(line));
  return most;
}

TextTable table_of(size_t width, const std::string& name) {
  TextTable table({{"BYTES"}, {"CALLS"}, {"NAME", Align::kLeft}}, width);
  table.add({"123,456,789", "42", name});
  table.add({"1", "7", "short"});
  return table;
}

TEST(Table, IsAsWideAsItsCells) {
  EXPECT_EQ(table_of(80, "name").render(kPlain),
            "        BYTES  CALLS  NAME\n"
            "  123,456,789     42  name\n"
            "            1      7  short\n");
}

TEST(Table, CutsNamesInTheMiddle) {
  const std::string text = table_of(60, "begin" + std::string(40, 'x') + "end").render(kPlain);
  EXPECT_EQ(widest(text), 60u);
  EXPECT_NE(text.find("begin"), std::string::npos);
  EXPECT_NE(text.find("..."), std::string::npos);
  EXPECT_NE(text.find("end"), std::string::npos);
}

TEST(Table, PutsNamesBelowWhereTheirColumnIsTooNarrow) {
  const std::string text = table_of(40, std::string(60, 'x')).render(kPlain);
  EXPECT_LE(widest(text), 40u);
  EXPECT_NE(text.find("\n  123,456,789     42\n      xxxxx"), std::string::npos) << text;
  EXPECT_NE(text.find("\n            1      7\n      short\n"), std::string::npos) << text;
}

TEST(Table, NeverCutsFigures) {
  TextTable table({{"ONE"}, {"TWO"}, {"THREE"}}, 20);
  table.add({"111,111,111", "222,222,222", "333,333,333"});
  EXPECT_NE(table.render(kPlain).find("  111,111,111  222,222,222  333,333,333"), std::string::npos);
}

TEST(Table, HasAnyWidthWhereNoneIsGiven) { EXPECT_GT(widest(table_of(0, std::string(300, 'x')).render(kPlain)), 300u); }

TEST(Table, DrawsBarsInTheRoomThatIsLeft) {
  TextTable table({{"BYTES"}}, 40);
  table.name_bar_unit(base::format_count);
  table.add({"3,100"}, 3100);
  table.add({"1"}, 1);
  table.add({"0"}, 0);
  const std::string text = table.render(kPlain);
  EXPECT_EQ(text,
            "  BYTES  # = 100\n"
            "  3,100  " +
                std::string(31, '#') +
                "\n"
                "      1  .\n"
                "      0\n");
}

}  // namespace
}  // namespace heaptap::text
