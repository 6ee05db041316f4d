// Functions that execute programs, for real_functions.h.
#pragma once

// clang-format off
#define HEAPTAP_EXEC_FUNCTIONS(with)    \
  with(kExec, "execve")                 \
  with(kExecSearched, "execvpe")        \
  with(kExecDescriptor, "fexecve")      \
  with(kExecAt, "execveat")             \
  with(kSpawn, "posix_spawn")           \
  with(kSpawnSearched, "posix_spawnp")  \
  with(kSystem, "system")               \
  with(kPopen, "popen")
// clang-format on
