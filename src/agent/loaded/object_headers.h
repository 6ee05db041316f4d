// Facts of a loaded object, from its program headers as they are mapped. Reads no file, and asks no loader for anything but what glibc gives
// without a lock.
#pragma once
#include <link.h>
#include <stdint.h>

#include "agent/core/platform.h"

namespace heaptap::agent {

// Adds what the headers say: range, unwind tables, build-id, entry point, and whether the Go tools made it.
void read_headers(const dl_phdr_info& object, ModuleFacts& facts);

// _dl_find_object, of glibc from 2.35 on: without a lock, in any thread and signal handler.
using FindObject = int(void*, dl_find_object*);

// The object that contains this address, whose headers are in its first page. False: there is none.
bool find_object_at(FindObject* find, uintptr_t address, dl_phdr_info& object);

}  // namespace heaptap::agent
