// Log written by parts of the tracer, and its contents as read by a test.
#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <utility>
#include <vector>

#include "capture/log/log_memory.h"
#include "capture/tracer/log_writer.h"

namespace heaptap::test {

class WrittenLog {
 public:
  explicit WrittenLog(const log::LogOptions& options = {}) : memory_(*log::LogMemory::create(options)) {}

  [[nodiscard]] wire::LogHeader& header() const { return memory_->header(); }
  [[nodiscard]] uint64_t bytes() const { return memory_->bytes(); }
  [[nodiscard]] const log::LogParts& parts() const { return memory_->parts(); }

  // New mapping for a writer, which takes ownership.
  [[nodiscard]] wire::LogHeader* map() const {
    void* log = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory_->descriptor(), 0);
    return log != MAP_FAILED ? static_cast<wire::LogHeader*>(log) : nullptr;
  }
  [[nodiscard]] std::unique_ptr<tracer::LogWriter> writer() const { return tracer::LogWriter::create(map(), bytes()); }

  template <typename T>
  const T* part(uint64_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const uint8_t*>(&header()) + offset);
  }

  struct Stack {
    std::vector<uint64_t> codes;  // innermost first
    wire::StackEnd end = wire::StackEnd::kComplete;
  };
  [[nodiscard]] Stack stack(uint32_t number) const {
    Stack stack;
    while (number >= wire::kRootCount) {
      const uint64_t node = part<wire::StackNode>(header().nodes_offset)[number].load();
      stack.codes.push_back(part<wire::CodeEntry>(header().codes_offset)[wire::node_code(node)].load());
      number = wire::node_parent(node);
    }
    stack.end = static_cast<wire::StackEnd>(number);
    return stack;
  }

 private:
  std::unique_ptr<log::LogMemory> memory_;
};

}  // namespace heaptap::test
