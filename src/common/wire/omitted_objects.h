// Objects whose calls are not recorded (--omit), as listed in a log's header. Freestanding.
#pragma once
#include <stddef.h>

#include "common/wire/log.h"

namespace heaptap::wire {

// A name matches the object's file name, or its start up to a dot ("libfoo" is libfoo.so.1); a path matches the path.
// The list lies in memory that the program can overwrite.
inline bool is_omitted(const LogHeader& log, const char* path) {
  const char* name = path;
  for (const char* at = path; *at != '\0'; ++at) {
    if (*at == '/') name = at + 1;
  }
  const char* at = log.omitted_objects;
  const char* const end = at + sizeof(log.omitted_objects) - 1;
  while (at < end && *at != '\0') {
    size_t length = 0;
    while (at + length < end && at[length] != '\n' && at[length] != '\0') ++length;
    bool same_name = true;
    bool same_path = true;
    for (size_t i = 0; i < length; ++i) {
      if (same_name && name[i] != at[i]) same_name = false;
      if (same_path && path[i] != at[i]) same_path = false;
      if (!same_name && !same_path) break;
    }
    if (length > 0 && same_name && (name[length] == '\0' || name[length] == '.')) return true;
    if (length > 0 && same_path && path[length] == '\0') return true;
    at += length;
    if (at < end && *at == '\n') ++at;
  }
  return false;
}

}  // namespace heaptap::wire
