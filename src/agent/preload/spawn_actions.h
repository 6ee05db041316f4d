// File actions of posix_spawn as glibc keeps them (posix_spawn_file_actions_t; its posix/spawn_int.h): an array of 32
// bytes each, tagged. Only the tags are read: a relative file name means another file after a change of directory.
#pragma once

#include "agent/preload/handover.h"

namespace heaptap::agent {

struct SpawnAction {
  int tag;
  int rest[7];
};

struct SpawnActions {
  int allocated;
  int used;
  const SpawnAction* first;
};

// Whether the action leaves the child's working directory as it is: close, dup2, open; closefrom, tcsetpgrp since glibc
// 2.34 and 2.35. Between them lie chdir and fchdir; higher ones are of a later version.
constexpr bool keeps_directory(int tag) { return (tag >= 0 && tag <= 2) || tag == 5 || tag == 6; }

// Whether the child executes its file in the parent's working directory. False: unknown, too.
inline bool keep_directory(const void* file_actions, ReadablePages& pages) {
  if (file_actions == nullptr) return true;
  const auto* const actions = static_cast<const SpawnActions*>(file_actions);
  if (!pages.has(actions) || !pages.has(static_cast<const void*>(&actions->first))) return false;
  // Another C library may keep a list there, with the two numbers unused.
  if (actions->used == 0) return actions->first == nullptr || actions->allocated > 0;
  if (actions->used < 0 || actions->used > actions->allocated || actions->first == nullptr) return false;
  for (int i = 0; i < actions->used; ++i) {
    const int* const tag = &actions->first[i].tag;
    if (!pages.has(tag) || !keeps_directory(*tag)) return false;
  }
  return true;
}

}  // namespace heaptap::agent
