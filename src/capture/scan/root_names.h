// Owners of roots: thread, frame, thread-local variable. Private to scan/.
#pragma once
#include <cstdint>
#include <vector>

#include "capture/scan/scan_input.h"

namespace heaptap::scan {

class RootNames {
 public:
  RootNames() = default;
  RootNames(std::vector<wire::StackFrame> frames, std::vector<ThreadLocalSegment> segments,
            std::vector<ThreadNumber> threads);

  // Adds the known facts to a root at root.address.
  void complete(uint32_t thread_id, model::RootPointer& root) const;

 private:
  [[nodiscard]] model::ThreadId thread_number(uint32_t kernel_id) const;
  [[nodiscard]] uint64_t frame_code(uint32_t thread_id, uint64_t address) const;
  void add_variable(model::RootPointer& root) const;

  std::vector<wire::StackFrame> frames_;      // by thread, then by CFA
  std::vector<ThreadLocalSegment> segments_;  // by address
  std::vector<ThreadNumber> threads_;         // by kernel_id
};

}  // namespace heaptap::scan
