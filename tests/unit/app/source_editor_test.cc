#include "apps/heaptap/commands/source_editor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace heaptap::app {
namespace {

using Words = std::vector<std::string>;

const SourceLine kPlace{.path = "/src/a b.cc", .line = 12, .column = 7};

Words arguments(const std::string& editor, const SourceLine& place = kPlace) {
  const auto words = editor_arguments(editor, place);
  return words ? *words : Words{"failed: " + words.error().message};
}

TEST(SourceEditor, TheLineIsGivenAsTheEditorTakesIt) {
  EXPECT_EQ(arguments("vim"), (Words{"vim", "+12", "/src/a b.cc"}));
  EXPECT_EQ(arguments("/usr/bin/nano"), (Words{"/usr/bin/nano", "+12", "/src/a b.cc"}));
  EXPECT_EQ(arguments("code --wait"), (Words{"code", "--wait", "--goto", "/src/a b.cc:12:7"}));
  EXPECT_EQ(arguments("'/opt/my editor/subl' -w"), (Words{"/opt/my editor/subl", "-w", "/src/a b.cc:12:7"}));
  EXPECT_EQ(arguments("unknown"), (Words{"unknown", "/src/a b.cc"}));
  EXPECT_EQ(arguments("code", {.path = "/a.c", .line = 3}), (Words{"code", "--goto", "/a.c:3"}));
}

TEST(SourceEditor, NoShellReadsItsWords) {
  EXPECT_EQ(arguments("vim $(touch x); `y`"), (Words{"vim", "$(touch", "x);", "`y`", "+12", "/src/a b.cc"}));
  EXPECT_TRUE(arguments("'vim").front().starts_with("failed: --open: the editor ''vim'"));
}

TEST(SourceEditor, TheDesktopGetsSourcesAlone) {
  EXPECT_EQ(arguments("", {.path = "/a/b.CC", .line = 1}), (Words{"xdg-open", "/a/b.CC"}));
  for (const char* const path : {"/a/b.desktop", "/a/b", "/a.c/b", "/a/b.sh", "/a/b.c.exe", "/a/b."})
    EXPECT_TRUE(arguments("", {.path = path, .line = 1}).front().starts_with("failed: ")) << path;
}

}  // namespace
}  // namespace heaptap::app
