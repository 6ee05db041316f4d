// Choice between memory of allocation functions and what the program mapped itself, for views that add up both alike.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "analysis/report/report.h"

namespace heaptap::report {

enum class Memory : uint8_t { kMalloc, kMmap, kBoth };

// "malloc", "mmap", "both"; none: another word.
std::optional<Memory> memory_named(std::string_view name);

// Both, if the program mapped more at one time than it allocated.
Memory first_memory(const Report& report);

// Leaves stacks of this memory alone. Mappings count as blocks of the program's own memory: without reserved addresses and files.
void choose_memory(Report& report, Memory memory);

}  // namespace heaptap::report
