#include "capture/supervision/filter_look.h"

#include "capture/process/process_status.h"

namespace heaptap::supervision {

FilterLook::FilterLook(pid_t process) : process_(process), known_(process::count_filters(process)) {}

bool FilterLook::finds_one() {
  constexpr int kAtOnce = 8;  // some 10 us each
  if (process::count_filters(process_) > known_) return true;
  if (threads_.empty()) threads_ = process::list_threads(process_);
  for (int i = 0; i < kAtOnce && !threads_.empty(); ++i) {
    const pid_t thread = threads_.back();
    threads_.pop_back();
    if (thread != process_ && process::count_filters(thread) > known_) return true;
  }
  return false;
}

}  // namespace heaptap::supervision
