// Loader scopes: which objects the loader searches for a name referenced by an object, and in which order. Read from the loader's own
// data: first the program's scope, to which dlopen adds with RTLD_GLOBAL, then the scope of what the object was loaded with.
#pragma once
#include <link.h>
#include <stdint.h>

namespace heaptap::agent {

// glibc's struct r_scope_elem.
struct Scope {
  const link_map* const* objects;
  uint32_t count;
};

// Finds the offset of the scope list in link_map. Call once, before there are threads.
void find_scopes(const char* libc_version);

// Null-terminated; null: unknown. Call inside read_scopes().
const Scope* const* scopes_of(const link_map& object);

// The program's scope; null: unknown.
const Scope* program_scope();

// Whether this is the agent's own object, which is skipped.
bool is_agent(const link_map& object);

// Calls read(context) while no scope, list or object that it can reach is freed: the thread is marked as one in which the
// loader searches, which dlopen and dlclose wait for. Where that mark isn't known, under the lock of the object list.
void read_scopes(void (*read)(void*), void* context);

}  // namespace heaptap::agent
