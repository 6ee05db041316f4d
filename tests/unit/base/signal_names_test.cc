#include "common/base/signal_names.h"

#include <gtest/gtest.h>

#include <csignal>

namespace heaptap::base {
namespace {

TEST(SignalNames, AreTakenInAllForms) {
  for (const char* name : {"USR1", "SIGUSR1", "usr1", "SigUsr1", "10"}) EXPECT_EQ(signal_number(name), SIGUSR1) << name;
  EXPECT_EQ(signal_number("RTMIN"), SIGRTMIN);
  EXPECT_EQ(signal_number("SIGRTMIN+3"), SIGRTMIN + 3);
  EXPECT_EQ(signal_number("RTMAX"), SIGRTMAX);
  EXPECT_EQ(signal_number("rtmax-2"), SIGRTMAX - 2);
  EXPECT_EQ(signal_number("64"), 64);
  EXPECT_EQ(signal_number("IOT"), SIGABRT);
}

TEST(SignalNames, OfNoSignalAreNone) {
  for (const char* name :
       {"",         "0",       "65",       "-1",     "-",           "SIG",     "USR",      "USR11",
        "USR1 ",    " USR1",   "+10",      "1e1",    "RTMIN+",      "RTMIN-1", "RTMIN+31", "RTMIN++1",
        "RTMIN+-1", "RTMAX+1", "RTMAX-31", "RTMINX", "99999999999", "10x"}) {
    EXPECT_EQ(signal_number(name), std::nullopt) << name;
  }
}

TEST(SignalNames, AreShownAsTheyAreTaken) {
  for (int number = 1; number <= SIGRTMAX; ++number) EXPECT_EQ(signal_number(signal_name(number)), number) << number;
  EXPECT_EQ(signal_name(SIGUSR2), "USR2");
  EXPECT_EQ(signal_name(SIGABRT), "ABRT");
  EXPECT_EQ(signal_name(SIGRTMIN + 3), "RTMIN+3");
}

}  // namespace
}  // namespace heaptap::base
