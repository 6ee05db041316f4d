#include "analysis/symbols/debuginfod.h"

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "analysis/symbols/stop_transfer.h"
#include "common/base/unique_fd.h"

namespace heaptap::symbols {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSilenceLimit = std::chrono::seconds(15);
constexpr auto kTotalLimit = std::chrono::minutes(5);

// Declarations of elfutils' debuginfod.h, so that the build doesn't need it.
struct Client;
using Progress = int (*)(Client*, long, long);
using Begin = Client* (*)();
using End = void (*)(Client*);
using FindDebugFile = int (*)(Client*, const unsigned char* build_id, int build_id_bytes, char** path);
using SetProgress = void (*)(Client*, Progress);
using SetUserPointer = void (*)(Client*, void*);
using GetUserPointer = void* (*)(Client*);

GetUserPointer get_user_pointer = nullptr;

// Timing and progress of one transfer.
struct WaitBudget {
  Clock::time_point started = Clock::now();
  Clock::time_point last_byte = started;
  long bytes = 0;
  bool is_lost = false;
  const DownloadProgress* progress = nullptr;
};

// One transfer at a time, which a signal may stop.
std::atomic<bool> is_transferring = false;
std::atomic<int> stopping_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

class Stoppable {
 public:
  Stoppable() { is_transferring = true; }
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;
  ~Stoppable() {
    is_transferring = false;
    if (const int number = stopping_signal.exchange(0); number != 0) (void)raise(number);
  }
};

// Called by libdebuginfod repeatedly while it waits; a nonzero result ends the transfer.
int on_progress(Client* client, long bytes, long total) {
  auto& wait_budget = *static_cast<WaitBudget*>(get_user_pointer(client));
  const auto now = Clock::now();
  if (bytes != wait_budget.bytes) {
    wait_budget.bytes = bytes;
    wait_budget.last_byte = now;
    if (*wait_budget.progress && bytes > 0)
      (*wait_budget.progress)(static_cast<uint64_t>(bytes), total > 0 ? static_cast<uint64_t>(total) : 0);
  }
  wait_budget.is_lost = now - wait_budget.last_byte > kSilenceLimit || now - wait_budget.started > kTotalLimit;
  return wait_budget.is_lost || stopping_signal != 0 ? 1 : 0;
}

}  // namespace

bool stop_transfer(int number) {
  if (!is_transferring) return false;
  int none = 0;
  return stopping_signal.compare_exchange_strong(none, number);
}

class Debuginfod::Library {
 public:
  static std::unique_ptr<Library> load() {
    std::unique_ptr<Library> library(new Library);
    library->handle_ = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library->handle_ == nullptr) return nullptr;
    auto begin = library->function<Begin>("debuginfod_begin");
    library->end_ = library->function<End>("debuginfod_end");
    library->find_debug_file = library->function<FindDebugFile>("debuginfod_find_debuginfo");
    library->set_user_pointer = library->function<SetUserPointer>("debuginfod_set_user_data");
    auto set_progress = library->function<SetProgress>("debuginfod_set_progressfn");
    get_user_pointer = library->function<GetUserPointer>("debuginfod_get_user_data");
    if (!begin || !library->end_ || !library->find_debug_file || !library->set_user_pointer || !set_progress ||
        !get_user_pointer) {
      return nullptr;
    }
    library->client = begin();
    if (library->client == nullptr) return nullptr;
    set_progress(library->client, on_progress);
    return library;
  }
  ~Library() {
    if (client != nullptr) end_(client);
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  Client* client = nullptr;
  FindDebugFile find_debug_file = nullptr;
  SetUserPointer set_user_pointer = nullptr;

 private:
  Library() = default;
  template <typename F>
  F function(const char* name) {
    return reinterpret_cast<F>(dlsym(handle_, name));
  }

  void* handle_ = nullptr;
  End end_ = nullptr;
};

Debuginfod::Debuginfod(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Debuginfod::Debuginfod(Debuginfod&&) noexcept = default;
Debuginfod& Debuginfod::operator=(Debuginfod&&) noexcept = default;
Debuginfod::~Debuginfod() = default;

base::Result<Debuginfod> Debuginfod::create() {
  const char* urls = std::getenv("DEBUGINFOD_URLS");
  if (urls == nullptr || *urls == '\0') {
    return base::fail("no debuginfod server given: set DEBUGINFOD_URLS (Debian's is https://debuginfod.debian.net)");
  }
  auto library = Library::load();
  if (library == nullptr) return base::fail("can't load libdebuginfod.so.1: install the package libdebuginfod1");
  return Debuginfod(std::move(library));
}

base::Result<std::string> Debuginfod::find_debug_file(const std::string& build_id, const DownloadProgress& progress) {
  if (is_silent_) return base::fail("the debuginfod servers didn't answer earlier");
  const Stoppable stoppable;
  WaitBudget wait_budget;
  wait_budget.progress = &progress;
  library_->set_user_pointer(library_->client, &wait_budget);
  char* path = nullptr;
  const base::UniqueFd file(library_->find_debug_file(library_->client,
                                                      reinterpret_cast<const unsigned char*>(build_id.data()),
                                                      static_cast<int>(build_id.size()), &path));
  std::string found = path == nullptr ? "" : path;
  std::free(path);
  if (file) return found;
  if (wait_budget.is_lost) {
    is_silent_ = true;
    return base::fail("the debuginfod servers don't answer");
  }
  return base::fail("the debuginfod servers don't have the file: {}", base::reason_of(-file.get()));
}

}  // namespace heaptap::symbols
