// Loaded objects as listed by the loader, read without its locks where these may never be released again.
#pragma once
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/code_extent.h"

namespace heaptap::agent {

// The first object of the program's namespace; the others follow by l_next, in search order as long as none was loaded
// later. Null: the agent isn't relocated yet. Follow the list only while it can't be changed.
const link_map* first_object();

// libc's own dl_iterate_phdr, bypassing interposers: a sanitizer's isn't ready when the first hook runs, and a program's may
// allocate. Takes a lock of the loader: call only at load, or where is_first_process() or loader_takes_lock() permits it.
void for_each_object(int (*visit)(dl_phdr_info*, size_t, void*), void* context);

// Call once, while there is one thread. Before that each process counts as a forked child.
void mark_first_process();

// Whether the owners of the loader's locks exist. A forked child may have copies that are never released.
bool is_first_process();

// The same during the loader's own call, in which it adds or removes objects: it takes this lock itself then, so waiting for it
// forever would happen without the agent as well. Called now and then, first in forked children as they begin.
bool loader_takes_lock();

// Whether the loader is adding or removing objects right now, in any thread.
bool loader_is_at_work();

// Whether it is removing objects.
bool loader_removes();

bool is_loader(const dl_phdr_info& object);
bool holds(const dl_phdr_info& object, uintptr_t address);
CodeExtent extent_of(const dl_phdr_info& object);

}  // namespace heaptap::agent
