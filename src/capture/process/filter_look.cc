#include "capture/process/filter_look.h"

#include "capture/process/process_status.h"

namespace heaptap::process {

FilterLook::FilterLook(pid_t process) : process_(process), known_(count_filters(process)) {}

bool FilterLook::finds_one() {
  constexpr int kAtOnce = 8;  // some 10 us each
  if (count_filters(process_) > known_) return true;
  if (threads_.empty()) threads_ = list_threads(process_);
  for (int i = 0; i < kAtOnce && !threads_.empty(); ++i) {
    const pid_t thread = threads_.back();
    threads_.pop_back();
    if (thread != process_ && count_filters(thread) > known_) return true;
  }
  return false;
}

}  // namespace heaptap::process
