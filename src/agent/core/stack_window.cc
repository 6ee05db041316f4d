#include "agent/core/stack_window.h"

#include "agent/core/kernel.h"
#include "agent/core/pages.h"

namespace heaptap::agent {
namespace {

// Beyond the known part by more than this, pages are probed one by one.
constexpr uintptr_t kMaxAsked = 64u << 10;

}  // namespace

void StackWindow::enter_elsewhere(uintptr_t sp, bool runs_there) {
  if (grow_to(low_, runs_there)) {
    on_own_ = true;
    high_ = own_high_;
    return;
  }
  // Nobody knows about the page below; of one that was interrupted, nor about this page, which is asked for from its start.
  if (low_ < page_begin(sp) || !runs_there) low_ = page_begin(sp);
  high_ = runs_there ? page_begin(sp) + page_bytes() : low_;
}

void StackWindow::find_own() {
  was_sought_ = true;
  bounds_ = find_thread_stack();
  own_high_ = bounds_.high;
  own_low_ = page_begin(bounds_.high);  // the control block, or what the kernel passed to the program, is on this page
  if (own_low_ == own_high_ && own_high_ != 0) own_low_ -= sizeof(uintptr_t);
}

// Whether a stack pointer below the known part of the thread's own stack is on that stack still. Where the thread runs, the kernel
// isn't asked: a filter that the program installed by an instruction of its own may end it for that. What lies between is the
// stack's, by the bounds that the C library wrote down, or, of the initial one, since nothing was mapped where it grows. What was
// interrupted may have run off its stack: the pages up to what is known are asked for, upwards, which doesn't make the kernel grow
// its stack (stack_guard_gap in mm/mmap.c).
bool StackWindow::grow_to(uintptr_t sp, bool runs_there) {
  if (!was_sought_) find_own();
  if (own_high_ == 0 || sp >= own_high_ || sp < lowest_own()) return false;
  if (sp >= own_low_) return true;
  const bool is_known = sp >= bounds_.own_low && (runs_there || bounds_.is_whole);
  for (uintptr_t page = page_begin(sp) + (runs_there ? page_bytes() : 0); !is_known && page < own_low_;
       page += page_bytes()) {
    if (!kernel::is_readable(page)) return false;
  }
  const uintptr_t lowest = lowest_own();
  own_low_ = page_begin(sp) > lowest ? page_begin(sp) : lowest;
  return true;
}

// The initial stack grows into what is free. A mapping that the program made there is none of it.
uintptr_t StackWindow::lowest_own() const {
  const uintptr_t floor = bounds_.is_whole ? 0 : initial_stack_floor();
  return bounds_.low > floor ? bounds_.low : floor;
}

bool StackWindow::load_elsewhere(uintptr_t address, uint64_t& word) {
  if (address < low_) return false;
  strayed_ = true;
  // Memory not contiguous with the page on which the walk began may belong to others, and be unmapped while it is read.
  if (on_own_ || address - high_ > kMaxAsked) {
    uintptr_t copy = 0;
    const bool is_read = kernel::copy_word(address, copy);
    word = copy;
    return is_read;
  }
  // Page by page, so that what is known stays one piece.
  while (high_ <= page_begin(address)) {
    if (!kernel::is_readable(high_)) return false;
    high_ = page_begin(high_) + page_bytes();
  }
  word = load_word(address);
  return true;
}

bool StackWindow::forget(uintptr_t begin, uintptr_t end, uintptr_t sp) {
  if (begin >= own_high_ || end <= bounds_.low) return false;
  if (end <= own_low_) {
    bounds_.low = end;  // it was never probed
    return false;
  }
  if (!own().holds(sp)) {
    own_low_ = own_high_ = 0;
  } else if (begin > sp) {
    own_high_ = begin & ~(sizeof(uintptr_t) - 1);
  } else {
    own_low_ = bounds_.low = end < own_high_ ? end : own_high_;
  }
  return true;
}

}  // namespace heaptap::agent
