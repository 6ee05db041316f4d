#include "capture/tracer/watched_names.h"

#include "capture/tracer/allocator_names.h"

namespace heaptap::tracer {
namespace {

// size_t is unsigned long ("m") where words have 64 bits, and unsigned int ("j") where they have 32.
std::string with_size_type(std::string symbol, unsigned word_bytes) {
  if (word_bytes == 8) return symbol;
  const size_t at = symbol.starts_with("_Zn") ? 4 : 6;  // _Znwm, _ZdlPvm
  if ((symbol.starts_with("_Zn") || symbol.starts_with("_Zd")) && at < symbol.size() && symbol[at] == 'm') {
    symbol[at] = 'j';
  }
  return symbol;
}

}  // namespace

bool WatchedName::may_be_told() const {
  if (mark == Mark::kLoaderList || mark == Mark::kLoaderListPointer) return false;
  switch (watch) {
    case Watch::kCall:
    case Watch::kExit:
    case Watch::kLastExit:
    case Watch::kStack:
    case Watch::kTrace:
      return true;
    case Watch::kResolver:  // what it returns would be a function
    case Watch::kClone:     // these get other arguments,
    case Watch::kNumber:
    case Watch::kAction:  // and these SIGTRAP's handler and mask put back,
    case Watch::kMask:
    case Watch::kSpoken:  // and these another result
    case Watch::kInnerAction:
    case Watch::kControl:
      break;
  }
  return false;
}

WatchedNames::WatchedNames(unsigned word_bytes) {
  for (uint8_t number = 1; number < wire::kFunctionCount; ++number) {
    const auto function = static_cast<wire::Function>(number);
    if (wire::facts_of(function).symbol[0] == '\0') continue;
    names_.push_back({.symbol = with_size_type(wire::facts_of(function).symbol, word_bytes), .function = function});
  }
  for (const char* symbol : {"exit", "quick_exit"}) names_.push_back({.symbol = symbol, .watch = Watch::kExit});
  for (const char* symbol : {"_exit", "_Exit"}) names_.push_back({.symbol = symbol, .watch = Watch::kLastExit});
  names_.push_back({.symbol = "sigaltstack", .watch = Watch::kStack});
  for (const char* symbol : {"clone", "__clone"}) names_.push_back({.symbol = symbol, .watch = Watch::kClone});
  names_.push_back({.symbol = "syscall", .watch = Watch::kNumber});
  names_.push_back({.symbol = "ptrace", .watch = Watch::kTrace});
  for (const char* symbol : {"sigaction", "__sigaction"}) names_.push_back({.symbol = symbol, .watch = Watch::kAction});
  for (const char* symbol : {"pthread_sigmask", "sigprocmask"}) {
    names_.push_back({.symbol = symbol, .watch = Watch::kMask});
  }
  names_.push_back({.symbol = "__libc_sigaction", .watch = Watch::kInnerAction});
  names_.push_back({.symbol = "prctl", .watch = Watch::kControl});
  for (const AllocatorName& name : kAllocatorNames) {
    names_.push_back({.symbol = name.symbol, .function = name.function, .form = name.form});
  }
  for (const SpokenName& name : kSpokenNames) {
    names_.push_back({.symbol = name.symbol, .watch = Watch::kSpoken, .api_call = name.api_call});
  }
  using Mark = WatchedName::Mark;
  names_.push_back({.symbol = "_dl_debug_state", .mark = Mark::kChangeNotice});
  names_.push_back({.symbol = "_r_debug", .mark = Mark::kLoaderList});
  names_.push_back({.symbol = "_dl_debug_addr", .mark = Mark::kLoaderListPointer});  // musl
  for (const char* symbol : {"__libc_start_main", "__libc_init", "__uClibc_main"}) {
    names_.push_back({.symbol = symbol, .mark = Mark::kLibcStart});  // glibc and musl, Bionic, uClibc
  }
  for (const char* symbol : {"__libc_freeres", "__malloc_arena_thread_freeres"}) {  // of a library, of a static program
    names_.push_back({.symbol = symbol, .mark = Mark::kGlibc});
  }
  names_.push_back({.symbol = "__cxa_allocate_exception", .mark = Mark::kExceptions});
  for (const WatchedName& name : names_) symbols_.push_back(name.symbol);
}

}  // namespace heaptap::tracer
