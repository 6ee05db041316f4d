// In which objects the loader searches for a name that an object refers to, and in which order. As the loader keeps it: the
// program's own scope, to which dlopen adds with RTLD_GLOBAL, then that of what the object was loaded with.
#pragma once
#include <link.h>
#include <stdint.h>

namespace heaptap::agent {

// glibc's struct r_scope_elem.
struct Scope {
  const link_map* const* objects;
  uint32_t count;
};

// To be called once, before there are threads: finds where link_map has its list of scopes.
void find_scopes(const char* libc_version);

// Ends with a null; null: not known. While ReadsScopes lives.
const Scope* const* scopes_of(const link_map& object);

// The program's; null: not known.
const Scope* program_scope();

// The agent's own object, which is passed over.
bool is_agent(const link_map& object);

// Calls read(context) where no scope, list or object that it can come to is given back meanwhile: marked as a thread in which the
// loader itself searches, which dlopen and dlclose wait for. Where that mark isn't known, under the lock of the list.
void read_scopes(void (*read)(void*), void* context);

}  // namespace heaptap::agent
