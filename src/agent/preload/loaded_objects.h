// What the loader says of the objects that it loaded, asked without its locks where they may never be free again.
#pragma once
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/code_extent.h"

namespace heaptap::agent {

// The first object of the program's namespace; the others follow by l_next, in the order of search as long as none was loaded
// later. Null: the agent isn't relocated yet. The list may only be followed while nobody changes it.
const link_map* first_object();

// libc's own dl_iterate_phdr, past all that stands in front of it: that of a sanitizer isn't ready when the first hook runs,
// and that of a program may allocate. It waits for a lock of the loader: only at load, or where one of these two says so.
void for_each_object(int (*visit)(dl_phdr_info*, size_t, void*), void* context);

// To be called once, while there is one thread. Until then each process is taken for a forked child.
void mark_first_process();

// Whether the owners of the loader's locks live. A forked child may have copies that are held for ever.
bool is_first_process();

// The same for a call of the loader's, in which it adds or removes objects: then it takes this lock itself, so that who waits for
// it for ever would do so without the agent. Called now and then, in the children first of all as they begin.
bool loader_takes_lock();

// Whether the loader is adding or removing objects right now, in any thread.
bool loader_is_at_work();

// Whether it is removing some.
bool loader_removes();

bool is_loader(const dl_phdr_info& object);
bool holds(const dl_phdr_info& object, uintptr_t address);
CodeExtent extent_of(const dl_phdr_info& object);

}  // namespace heaptap::agent
