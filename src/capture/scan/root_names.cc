#include "capture/scan/root_names.h"

#include <algorithm>
#include <tuple>

namespace heaptap::scan {
namespace {

auto by_thread_and_cfa(const wire::StackFrame& frame) { return std::tuple(frame.thread_id, frame.cfa); }

}  // namespace

RootNames::RootNames(std::vector<wire::StackFrame> frames, std::vector<ThreadLocalSegment> segments,
                     std::vector<ThreadNumber> threads)
    : frames_(std::move(frames)), segments_(std::move(segments)), threads_(std::move(threads)) {
  // Stable: of frames that share a CFA the innermost stays first.
  std::stable_sort(frames_.begin(), frames_.end(), [](const wire::StackFrame& a, const wire::StackFrame& b) {
    return by_thread_and_cfa(a) < by_thread_and_cfa(b);
  });
  std::sort(segments_.begin(), segments_.end(),
            [](const auto& a, const auto& b) { return a.memory.begin < b.memory.begin; });
  std::sort(threads_.begin(), threads_.end(), [](const auto& a, const auto& b) { return a.kernel_id < b.kernel_id; });
}

void RootNames::complete(uint32_t thread_id, model::RootPointer& root) const {
  root.thread = thread_number(thread_id);
  if (root.root == wire::RootKind::kStack || root.root == wire::RootKind::kAlternateStack) {
    root.frame_code = frame_code(thread_id, root.address);
  }
  if (root.root == wire::RootKind::kThreadLocal) add_variable(root);
}

model::ThreadId RootNames::thread_number(uint32_t kernel_id) const {
  const auto found = std::lower_bound(threads_.begin(), threads_.end(), kernel_id,
                                      [](const ThreadNumber& thread, uint32_t id) { return thread.kernel_id < id; });
  return found != threads_.end() && found->kernel_id == kernel_id ? found->number : 0;
}

uint64_t RootNames::frame_code(uint32_t thread_id, uint64_t address) const {
  const auto found =
      std::upper_bound(frames_.begin(), frames_.end(), std::tuple(thread_id, address),
                       [](const auto& at, const wire::StackFrame& frame) { return at < by_thread_and_cfa(frame); });
  return found != frames_.end() && found->thread_id == thread_id ? found->code : 0;
}

void RootNames::add_variable(model::RootPointer& root) const {
  const auto after =
      std::upper_bound(segments_.begin(), segments_.end(), root.address,
                       [](uint64_t at, const ThreadLocalSegment& segment) { return at < segment.memory.begin; });
  if (after == segments_.begin() || root.address >= (after - 1)->memory.end) return;
  root.module = (after - 1)->module;
  root.module_offset = root.address - (after - 1)->memory.begin;
}

}  // namespace heaptap::scan
