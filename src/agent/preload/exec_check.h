// Check whether the agent may be handed on to a program about to be executed. It may where it does no harm to that
// program: the program's loader must be a glibc like this one's and accept the agent silently.
#pragma once
#include "common/wire/log.h"

namespace heaptap::agent {

// File argument of execve and its variants.
struct ExecFile {
  int directory;  // directory that `path` is relative to; with an empty path it is the file itself
  const char* path;
  bool searched;   // searched along $PATH where it has no slash, and run by the shell if it is no program
  bool elsewhere;  // in a working directory that isn't known yet
};

// kHandedOn: the agent may be handed on. Makes system calls; changes nothing.
wire::ExecOutcome check_exec(const ExecFile& file, char* const* environment);

// According to the kernel.
bool has_one_thread();

}  // namespace heaptap::agent
