// Whether the agent may be handed on to a program that is about to be executed. It may where it does that program no harm: the
// loader of a glibc like this one's has to take it, without a word.
#pragma once
#include "wire/log.h"

namespace heaptap::agent {

// The file that execve and its kin were given.
struct ExecFile {
  int folder;  // relative to which `path` is; with an empty path it is the file itself
  const char* path;
  bool searched;   // where it has no slash: along $PATH, and run by the shell if it is no program
  bool elsewhere;  // in a working directory that isn't known yet
};

// kHandedOn: yes. Makes system calls; changes nothing.
wire::ExecOutcome check_exec(const ExecFile& file, char* const* environment);

// As far as the kernel says so.
bool has_one_thread();

}  // namespace heaptap::agent
