// Pointers to the end of a block, right behind its last byte: a program may have no other one. They are no pointers into the block,
// and something else may begin there, so they count only where nothing else points to the block. For the rules see
// docs/decisions/0119-pointers-to-ends.md. Private to scan/.
#pragma once
#include <cstdint>
#include <vector>

#include "capture/scan/added_pointers.h"
#include "capture/scan/header_pointers.h"
#include "capture/scan/root_names.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Words with the address of a block's end, where no other block begins.
struct EndPointers {
  struct Root {
    uint32_t thread_id;
    model::RootPointer root;
  };
  std::vector<BlockWord> words;  // ascending by block and offset
  std::vector<Root> roots;
};

// Whether such words of roots count: on stacks and in registers the ends of loops are left.
constexpr bool may_keep_ends(wire::RootKind kind) {
  return kind == wire::RootKind::kGlobal || kind == wire::RootKind::kMapping || kind == wire::RootKind::kThreadLocal;
}

// Adds those that count: as pointers behind headers where headers of the block's stack or call are as long as the block, else as
// pointers that may be chance. All other pointers must be present.
void add_end_pointers(model::HeapScan& scan, EndPointers ends, const Headers& headers, const RootNames& names);

}  // namespace heaptap::scan
