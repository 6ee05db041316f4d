// `heaptap mark`: named mark in a live recording.
#pragma once
#include <sys/types.h>

#include <string>

namespace heaptap::app {

struct MarkOptions {
  pid_t process = 0;
  std::string host;  // of its recording; empty: this machine
  std::string name;
};

// Returns heaptap's exit status.
int perform(const MarkOptions& options);

}  // namespace heaptap::app
