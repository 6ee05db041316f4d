// Common parts of tests of rendered reports: made-up frames, and golden files. HEAPTAP_UPDATE_GOLDEN=1 rewrites the files.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "common/model/frame.h"

namespace heaptap::test {

inline model::Frame frame(const std::string& function, const std::string& file = "", uint32_t line = 0) {
  model::Frame made;
  made.function = function;
  made.module = "/opt/shop/bin/shop";
  made.offset = 0x1000 + line;
  made.address = 0x555500001000 + line;
  made.file = file;
  made.line = line;
  return made;
}

inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(HEAPTAP_GOLDEN_DIRECTORY) + "/" + name;
  if (std::getenv("HEAPTAP_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
  }
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

}  // namespace heaptap::test
