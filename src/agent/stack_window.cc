#include "agent/stack_window.h"

#include "agent/door.h"
#include "agent/kernel.h"

namespace heaptap::agent {
namespace {

constexpr uintptr_t kPage = 4096;
constexpr uintptr_t page_of(uintptr_t address) { return address & ~(kPage - 1); }

// How far below its own stack's known part a stack pointer may be to be looked at page by page.
constexpr uintptr_t kLargestGap = 64u << 20;
// A step that no guard page and no other stack lies in, but for stacks that are laid out without either.
constexpr uintptr_t kSmallStep = 256u << 10;
// Below the initial stack the kernel keeps at least 128 MiB free of other mappings (mmap_base in arch/x86/mm/mmap.c).
constexpr uintptr_t kInitialStackGap = 64u << 20;
// A frame that is larger isn't followed page by page.
constexpr uintptr_t kLargestFrame = 8u << 20;
// How far from the top of a thread's stack its first frame may be (the C library's descriptor and static TLS are between).
constexpr uintptr_t kLargestHead = 256u << 10;

}  // namespace

void StackWindow::enter_elsewhere(uintptr_t sp) {
  high_ = page_of(sp) + kPage;               // the page that we run on
  if (sp_ < page_of(sp)) sp_ = page_of(sp);  // nobody knows about the page below
  if (own_high_ == 0 || sp >= own_low_ || !has_grown_to(sp)) return;
  own_low_ = page_of(sp_);
  high_ = own_high_;
}

// Whether a stack pointer below the known part of the thread's own stack is on that stack still. Asks the kernel only for
// large steps: some programs may not make system calls.
bool StackWindow::has_grown_to(uintptr_t sp) const {
  const uintptr_t step = own_low_ - sp;
  if (step <= kSmallStep) return true;
  const uintptr_t top = door::initial_stack_top();
  if (top - sp < kInitialStackGap && own_high_ > top - kPage) return true;
  if (step > kLargestGap) return false;
  for (uintptr_t page = page_of(own_low_); page > page_of(sp);) {
    page -= kPage;
    if (!kernel::is_readable(page)) return false;
  }
  return true;
}

bool StackWindow::readable_elsewhere(uintptr_t address) {
  if (address < sp_ || (address & 7) != 0) return false;
  // A signal handler on its own stack was called from a thread on another: the walk goes on there.
  if (address >= own_low_ && address + 8 <= own_high_) return true;
  if (address < high_ || address - high_ > kLargestFrame) return kernel::is_readable(address);
  // Page by page, so that what is known stays one piece.
  while (high_ <= page_of(address)) {
    if (!kernel::is_readable(high_)) return false;
    high_ += kPage;
  }
  return true;
}

void StackWindow::reached_root(uintptr_t address) {
  if (on_own_stack() && own_high_ != 0) return;
  const uintptr_t high = page_of(address) + kPage;
  if (high_ != high) return;  // not one piece of memory up to the root
  const uintptr_t block = door::thread_control_block();
  const uintptr_t top = door::initial_stack_top();
  const bool under_block = address < block && block - address < kLargestHead;
  const bool under_top = address < top && top - address < kLargestHead;
  if (under_block || under_top) {
    own_low_ = page_of(sp_);
    own_high_ = high;
  }
}

}  // namespace heaptap::agent
