#include "common/base/status_file.h"

#include <gtest/gtest.h>

namespace {

using heaptap::base::status_field;
using heaptap::base::status_number;

constexpr const char* kStatus =
    "Name:\tTracerPid:\\n5\nUmask:\t0022\nTracerPid:\t0\nUid:\t1000\t0\t0\t0\nVmHWM:\t    1234 "
    "kB\nSigBlk:\t8000000000010000\n"
    "Groups:\t\nThreads:\t99999999999999999999\nNoNewPrivs:\t1";

TEST(StatusFile, HasFieldsByName) {
  EXPECT_EQ(status_field(kStatus, "Uid"), "1000\t0\t0\t0");
  EXPECT_EQ(status_field(kStatus, "VmHWM"), "1234 kB");
  EXPECT_EQ(status_field(kStatus, "NoNewPrivs"), "1") << "the last line";
  EXPECT_EQ(status_field(kStatus, "Groups"), "");
  EXPECT_EQ(status_field(kStatus, "NoNew"), "") << "a name's beginning is none";
  EXPECT_EQ(status_field("", "Uid"), "");
  EXPECT_EQ(status_field("Uid", "Uid"), "");
}

TEST(StatusFile, HasNumbers) {
  EXPECT_EQ(status_number(kStatus, "TracerPid"), 0u) << "a program's name is no field";
  EXPECT_EQ(status_number(kStatus, "Umask", 8), 18u);
  EXPECT_EQ(status_number(kStatus, "SigBlk", 16), 0x8000000000010000u);
  EXPECT_EQ(status_number(kStatus, "VmHWM"), 1234u);
  EXPECT_EQ(status_number(kStatus, "Groups"), std::nullopt);
  EXPECT_EQ(status_number(kStatus, "Threads"), std::nullopt) << "it doesn't fit";
  EXPECT_EQ(status_number(kStatus, "Gone"), std::nullopt);
}

}  // namespace
