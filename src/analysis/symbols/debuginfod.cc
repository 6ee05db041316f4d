#include "analysis/symbols/debuginfod.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "analysis/symbols/debuginfod_find.h"
#include "analysis/symbols/file_cache.h"
#include "analysis/symbols/stop_transfer.h"
#include "common/base/hex_text.h"
#include "common/base/intervals.h"
#include "common/base/own_loader.h"
#include "common/base/stop_signals.h"
#include "common/base/unique_fd.h"

namespace heaptap::symbols {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPauseAfterSilence = std::chrono::minutes(1);

// Without a byte. Servers that unpack a package first take some seconds.
Clock::duration silence_limit() { return base::intervals().reach * 3 / 2; }

// Of a whole transfer: five minutes.
Clock::duration total_limit() { return base::intervals().reach * 30; }

// No server is asked before this time: one was silent, or the user didn't want to wait. For all threads.
std::atomic<Clock::rep> silent_until = 0;

// Declarations of elfutils' debuginfod.h, so that the build doesn't need it.
struct Client;
using Progress = int (*)(Client*, long, long);
using Begin = Client* (*)();
using End = void (*)(Client*);
using FindDebugFile = int (*)(Client*, const unsigned char* build_id, int build_id_bytes, char** path);
using SetProgress = void (*)(Client*, Progress);
using SetUserPointer = void (*)(Client*, void*);
using GetUserPointer = void* (*)(Client*);

std::atomic<GetUserPointer> get_user_pointer = nullptr;

// Timing and progress of one transfer.
struct WaitBudget {
  Transfer transfer;
  int requests_before = base::stop_signals::requests();
  Clock::time_point started = Clock::now();
  Clock::time_point last_byte = started;
  long bytes = -1;
  long calls = 0;
  bool is_lost = false;
  bool is_too_slow = false;
  bool is_too_large = false;
  bool is_stopped = false;  // by the user, or by who began it
};

// Build-ids of files that took too long, of all threads: the next search for one would wait as long again.
class SlowFiles {
 public:
  void add(const std::string& build_id) {
    const std::scoped_lock lock(mutex_);
    build_ids_.insert(build_id);
  }
  bool contains(const std::string& build_id) {
    const std::scoped_lock lock(mutex_);
    return build_ids_.contains(build_id);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> build_ids_;
};

SlowFiles& slow_files() {
  static SlowFiles files;
  return files;
}

// One transfer in the foreground at a time, which a signal may stop.
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

// Notes whether the transfer is over its time, or was stopped.
void look_at_time(WaitBudget& wait) {
  const std::stop_token& stop = wait.transfer.stop;
  wait.is_too_slow = Clock::now() - wait.started > total_limit();
  wait.is_stopped = stop.stop_possible()
                        ? stop.stop_requested()
                        : stopping_signal != 0 || base::stop_signals::requests() != wait.requests_before;
}

// Called by libdebuginfod repeatedly while it waits; a nonzero result ends the transfer.
int on_progress(Client* client, long bytes, long total) {
  WaitBudget& wait = *static_cast<WaitBudget*>(get_user_pointer.load()(client));
  const Transfer& transfer = wait.transfer;
  const auto now = Clock::now();
  // Until a server sends something it counts its calls instead.
  if (++wait.calls == bytes && total <= 0) bytes = 0;
  if (bytes != wait.bytes) {
    wait.bytes = bytes;
    wait.last_byte = now;
    const uint64_t done = bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
    const uint64_t all = total > 0 ? static_cast<uint64_t>(total) : 0;
    if (transfer.progress) transfer.progress(done, all);
    wait.is_too_large = std::max(done, all) > transfer.max_bytes;
  }
  wait.is_lost = now - wait.last_byte > silence_limit();
  look_at_time(wait);
  return wait.is_lost || wait.is_too_slow || wait.is_too_large || wait.is_stopped ? 1 : 0;
}

std::string path_in_cache(const std::string& build_id) {
  return Debuginfod::cache_directory() + "/" + base::hex_text(build_id) + "/debuginfo";
}

// 0: it isn't a regular file.
uint64_t bytes_of_regular(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
}

// An empty file in the cache stands for a file that no server has, which isn't asked for again for some minutes. libdebuginfod makes one
// for a transfer that was stopped as well.
void forget_miss(const std::string& build_id) {
  const std::string path = path_in_cache(build_id);
  struct stat status{};
  if (lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0) (void)unlink(path.c_str());
}

// By debuginfod-find, which says nothing while it downloads: its own limits end silence.
base::Result<std::string> ask_program(const std::string& program, const std::string& build_id, WaitBudget& wait) {
  const Transfer& transfer = wait.transfer;
  const bool was_here = bytes_of_regular(path_in_cache(build_id)) != 0;
  if (transfer.progress && !was_here) transfer.progress(0, 0);
  auto path = run_debuginfod_find(
      {.program = program,
       .build_id = build_id,
       .max_bytes = transfer.max_bytes,
       .silence = std::max(std::chrono::duration_cast<std::chrono::seconds>(silence_limit()), std::chrono::seconds(1))},
      [&wait] {
        look_at_time(wait);
        return !wait.is_too_slow && !wait.is_stopped;
      });
  if (!path) {
    wait.is_lost = !wait.is_too_slow && !wait.is_stopped && Clock::now() - wait.started > silence_limit();
    return path;
  }
  const uint64_t bytes = bytes_of_regular(*path);
  wait.is_too_large = bytes > transfer.max_bytes;
  if (transfer.progress && !was_here) transfer.progress(bytes, bytes);
  if (wait.is_too_large) return base::fail("too large");
  return path;
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
    auto get_pointer = library->function<GetUserPointer>("debuginfod_get_user_data");
    if (!begin || !library->end_ || !library->find_debug_file || !library->set_user_pointer || !set_progress ||
        !get_pointer) {
      return nullptr;
    }
    get_user_pointer = get_pointer;
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

  base::Result<std::string> ask(const std::string& build_id, WaitBudget& wait) {
    set_user_pointer(client, &wait);
    char* path = nullptr;
    const base::UniqueFd file(find_debug_file(client, reinterpret_cast<const unsigned char*>(build_id.data()),
                                              static_cast<int>(build_id.size()), &path));
    std::string found = path == nullptr ? "" : path;
    std::free(path);
    if (file) return found;
    return base::fail("the debuginfod servers don't have the file: {}", base::reason_of(-file.get()));
  }

 private:
  Library() = default;
  template <typename F>
  F function(const char* name) {
    return reinterpret_cast<F>(dlsym(handle_, name));
  }

  void* handle_ = nullptr;
  End end_ = nullptr;
};

Debuginfod::Debuginfod(std::unique_ptr<Library> library, std::string program)
    : library_(std::move(library)), program_(std::move(program)) {}
Debuginfod::Debuginfod(Debuginfod&&) noexcept = default;
Debuginfod& Debuginfod::operator=(Debuginfod&&) noexcept = default;
Debuginfod::~Debuginfod() = default;

bool has_debuginfod_servers() {
  const char* const urls = std::getenv("DEBUGINFOD_URLS");
  return urls != nullptr && *urls != '\0';
}

// As debuginfod_find_debuginfo(3) says.
std::string Debuginfod::cache_directory() {
  const auto value_of = [](const char* name) -> std::string {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (std::string own = value_of("DEBUGINFOD_CACHE_PATH"); !own.empty()) return own;
  const std::string home = value_of("HOME");
  std::string old = home + "/.debuginfod_client_cache";
  if (access(old.c_str(), F_OK) == 0) return old;
  const std::string caches = value_of("XDG_CACHE_HOME");
  return (caches.empty() ? home + "/.cache" : caches) + "/debuginfod_client";
}

base::Result<Debuginfod> Debuginfod::create() {
  if (!has_debuginfod_servers())
    return base::fail("no debuginfod server given: set DEBUGINFOD_URLS (Debian's is https://debuginfod.debian.net)");
  HEAPTAP_TRY(check_owners(cache_directory()));
  if (!base::has_loader()) {
    std::string program = debuginfod_find_program();
    if (!program.empty()) return Debuginfod(nullptr, std::move(program));
    return base::fail(
        "this heaptap is a static program, which can't load libdebuginfod.so.1, and debuginfod-find isn't in PATH: "
        "install it (on Debian the package debuginfod), or an installed heaptap");
  }
  auto library = Library::load();
  if (library == nullptr) return base::fail("can't load libdebuginfod.so.1: install the package libdebuginfod1");
  return Debuginfod(std::move(library), "");
}

bool Debuginfod::are_silent() { return Clock::now().time_since_epoch().count() < silent_until; }

void Debuginfod::pause() { silent_until = (Clock::now() + kPauseAfterSilence).time_since_epoch().count(); }

base::Result<std::string> Debuginfod::find_debug_file(const std::string& build_id, Transfer transfer) {
  if (are_silent()) return base::fail("the debuginfod servers didn't answer earlier");
  const auto too_slow = [] {
    const auto limit = std::chrono::duration_cast<std::chrono::seconds>(total_limit());
    return base::fail("the debuginfod servers need more than {} s for the debug file", limit.count());
  };
  if (slow_files().contains(build_id)) return too_slow();
  const bool is_in_foreground = !transfer.stop.stop_possible();
  std::optional<Stoppable> stoppable;
  if (is_in_foreground) stoppable.emplace();
  WaitBudget wait{.transfer = std::move(transfer)};
  auto found = library_ != nullptr ? library_->ask(build_id, wait) : ask_program(program_, build_id, wait);
  if (found) return found;
  if (wait.is_stopped) {
    forget_miss(build_id);
    if (is_in_foreground) pause();
    return base::fail("the download was stopped");
  }
  if (wait.is_lost) {
    pause();
    return base::fail("the debuginfod servers don't answer");
  }
  if (wait.is_too_slow) {
    slow_files().add(build_id);
    return too_slow();
  }
  if (wait.is_too_large) return base::fail("the debug file is too large");
  return found;
}

}  // namespace heaptap::symbols
