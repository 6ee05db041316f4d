#include "agent/preload/preload_only_collector.h"

#include <elf.h>
#include <link.h>
#include <linux/fcntl.h>
#include <linux/sched.h>

#include <atomic>

#include "agent/core/exit_signals.h"
#include "agent/core/kernel.h"
#include "agent/core/string.h"
#include "agent/preload/collector_socket.h"
#include "agent/preload/exec_check.h"
#include "agent/preload/loaded_objects.h"
#include "agent/preload/log_request.h"
#include "agent/preload/preload.h"

extern "C" __attribute__((visibility("hidden"))) long heaptap_clone_call(long flags, void* stack_top,
                                                                         void (*function)(void*), void* argument);

namespace heaptap::agent {
namespace {

constexpr size_t kPlaceBytes = 4096;
constexpr size_t kStackBytes = 16u << 10;
constexpr size_t kPlaces = 4;
constexpr size_t kOwnEntries = 2;  // of the collector's environment: the session, and the end
constexpr size_t kSocketDigits = 24;
constexpr char kSocketPrefix[] = "heaptap-";
constexpr uint32_t kPatienceMs = 5000;
constexpr long kWaitAll = 0x40000000;  // __WALL
constexpr long kNoChildren = -10;      // ECHILD

enum class Stage : uint32_t { kBegins = 0, kListens = 1, kFailed = 2 };

// What all that is started on the way reads: memory that is shared with them, and gone when the collector is there.
//
//   program ── maker ── collector
//
// The maker makes the socket and starts the collector, so that neither is the program's. It ends at once; or it stays, as the
// collector's parent, where the kernel would else make the program that.
struct RecordingStart {
  std::atomic<Stage> stage;
  bool stays;                         // the maker
  char places[kPlaces][kPlaceBytes];  // possible paths of heaptap; the first executable one is used
  char session[sizeof(wire::kSessionVariable) + 1 + sizeof(g_log_request.socket_name)];
  char process[12];
  size_t name_bytes;
  const char* arguments[4];
  char* name;  // of the socket, in `session`
  alignas(16) uint8_t makers_stack[kStackBytes];
  alignas(16) uint8_t collectors_stack[kStackBytes];
  char* environment[];
};

constexpr long kChildSignal = 17;  // SIGCHLD
constexpr int kSignals = 64;
constexpr uintptr_t kDefault = 0;
constexpr uintptr_t kIgnored = 1;

long set_action(long number, uintptr_t handler, KernelAction* before) {
  KernelAction action{};
  action.handler = handler;
  return kernel::system_call(__NR_rt_sigaction, number, reinterpret_cast<long>(&action), reinterpret_cast<long>(before),
                             sizeof(action.mask));
}

bool append_random(char* to, size_t digits) {
  uint8_t random[wire::kSecretBytes];
  if (kernel::system_call(__NR_getrandom, reinterpret_cast<long>(random), static_cast<long>(digits), 0) !=
      static_cast<long>(digits)) {
    return false;
  }
  for (size_t i = 0; i < digits; ++i) to[i] = "0123456789abcdef"[random[i] & 15];
  to[digits] = '\0';
  return true;
}

// ---- In the program.

int take_own_name(dl_phdr_info* object, size_t, void* found) {
  if (!holds(*object, reinterpret_cast<uintptr_t>(&take_own_name))) return 0;
  *static_cast<const char**>(found) = object->dlpi_name;
  return 1;
}

// The loader's settings for the program are wrong for another program with its own libraries.
bool is_for_collector(const char* entry) {
  using namespace wire;
  for (const char* other : {"LD_", "MALLOC_", "GLIBC_TUNABLES=", "HEAPTAP_"}) {
    const bool is_wanted = starts_with(entry, kOutputVariable) || starts_with(entry, kOptionsVariable) ||
                           starts_with(entry, "HEAPTAP_CLOCK");
    if (starts_with(entry, other) && !is_wanted) return false;
  }
  return true;
}

size_t count_entries(char** environment) {
  size_t count = 0;
  while (environment[count] != nullptr) ++count;
  return count;
}

void fill_environment(RecordingStart& start, char** environment) {
  size_t count = 0;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (is_for_collector(*entry)) start.environment[count++] = *entry;
  }
  start.environment[count++] = start.session;
  start.environment[count] = nullptr;
}

// The directory of `file`, with its last slash. 0: too long together with the rest.
size_t take_directory(char* to, const char* file) {
  constexpr size_t kRoom = 64;
  const auto bytes = static_cast<size_t>(file_name_of(file) - file);
  if (bytes + kRoom > kPlaceBytes) return 0;
  copy_bytes(to, file, bytes);
  return bytes;
}

void add_places_beside(const char* agent, char (*places)[kPlaceBytes]) {
  for (const char* way : {"heaptap", "../../bin/heaptap"}) {
    char* const place = *places++;
    const size_t bytes = take_directory(place, agent);
    if (bytes != 0) append(place + bytes, way);
  }
}

// Beside the agent, as built, or where an installation has it, relative to the agent; if that is a link, relative to
// its target, too.
void fill_places(RecordingStart& start) {
  if (g_log_request.collector != nullptr) {
    if (length_of(g_log_request.collector) < kPlaceBytes) append(start.places[0], g_log_request.collector);
    return;
  }
  add_places_beside(agent_path(), start.places);
  char* const target = start.places[kPlaces - 1];  // is overwritten last
  const long bytes = kernel::read_link(agent_path(), target, kPlaceBytes - 1);
  if (bytes > 0 && target[0] == '/') add_places_beside(target, start.places + 2);
  if (bytes > 0 && target[0] != '/') target[0] = '\0';
}

bool fill_session(RecordingStart& start) {
  char* const name = append(append(start.session, wire::kSessionVariable), "=");
  char* end = append(name, kSocketPrefix);
  if (!append_random(end, kSocketDigits)) return false;
  end += kSocketDigits;
  start.name = name;
  start.name_bytes = static_cast<size_t>(end - name);
  *end++ = wire::kSecretSeparator;
  return append_random(end, wire::kSecretBytes);
}

bool fill(RecordingStart& start, char** environment) {
  if (!fill_session(start)) return false;
  fill_places(start);
  append_number(start.process, static_cast<unsigned>(kernel::process_id()));
  start.arguments[0] = "heaptap";
  start.arguments[1] = wire::kCollectOption;
  start.arguments[2] = start.process;
  fill_environment(start, environment);
  return true;
}

// A child of this process would be the first one of a new pid namespace, which ends with it: whatever the program starts would
// fail then. Also where that isn't known.
bool would_begin_namespace() {
  char own[64];
  char childrens[64];
  const long own_bytes = kernel::read_link("/proc/self/ns/pid", own, sizeof(own));
  const long bytes = kernel::read_link("/proc/self/ns/pid_for_children", childrens, sizeof(childrens));
  if (own_bytes <= 0 || bytes != own_bytes) return true;
  for (long i = 0; i < bytes; ++i) {
    if (own[i] != childrens[i]) return true;
  }
  return false;
}

// Whether orphans become children of the program.
bool adopts_orphans() {
  constexpr long kGetSubreaper = 37;  // PR_GET_CHILD_SUBREAPER
  int adopts = 0;
  return kernel::process_id() == 1 ||
         kernel::system_call(__NR_prctl, kGetSubreaper, reinterpret_cast<long>(&adopts)) != 0 || adopts != 0;
}

bool has_children() {
  constexpr long kAny = 0;                   // P_ALL
  constexpr long kLook = 4 | 1 | 0x1000000;  // WEXITED | WNOHANG | WNOWAIT
  return kernel::system_call(__NR_waitid, kAny, 0, 0, kLook | kWaitAll, 0) != kNoChildren;
}

void wait_for(long child) { kernel::system_call(__NR_wait4, child, 0, kWaitAll, 0); }

// Lives while the maker does, where that ends at once. A child that is waited for adds what it used to what the program's children
// have used (RUSAGE_CHILDREN); one whose signal is ignored vanishes. The program has none by then whose end that could swallow,
// and nobody is there who could start one.
class UnseenChild {
 public:
  UnseenChild()
      : is_unseen_(!has_children() && has_one_thread() && set_action(kChildSignal, kIgnored, &before_) == 0) {}
  ~UnseenChild() {
    if (is_unseen_) {
      kernel::system_call(__NR_rt_sigaction, kChildSignal, reinterpret_cast<long>(&before_), 0, sizeof(before_.mask));
    }
  }
  UnseenChild(const UnseenChild&) = delete;
  UnseenChild& operator=(const UnseenChild&) = delete;

  [[nodiscard]] long signal() const { return is_unseen_ ? kChildSignal : 0; }

 private:
  KernelAction before_{};
  bool is_unseen_;
};

void make_collector(void* argument);

void start_maker_that_ends(RecordingStart& start) {
  const UnseenChild unseen;
  const long maker = heaptap_clone_call(CLONE_VM | CLONE_VFORK | unseen.signal(),
                                        start.makers_stack + sizeof(start.makers_stack), &make_collector, &start);
  if (!kernel::failed(maker)) wait_for(maker);
}

// A child that no call waits for but with __WCLONE or __WALL, and whose end makes no signal.
void start_maker_that_stays(RecordingStart& start) {
  start.stays = true;
  const long maker = heaptap_clone_call(0, start.makers_stack + sizeof(start.makers_stack), &make_collector, &start);
  if (kernel::failed(maker)) return;
  constexpr uint32_t kStepMs = 100;
  for (uint32_t waited_ms = 0; waited_ms < kPatienceMs && start.stage.load() == Stage::kBegins; waited_ms += kStepMs) {
    kernel::futex_wait(&start.stage, static_cast<uint32_t>(Stage::kBegins), kStepMs);
  }
  if (start.stage.load() != Stage::kListens) {
    constexpr long kKill = 9;
    kernel::system_call(__NR_kill, maker, kKill);
    wait_for(maker);
  }
}

// ---- In the maker and the collector: processes of the agent's. They may call nothing but the kernel.

void tell(RecordingStart& start, Stage stage) {
  start.stage.store(stage);
  kernel::futex_wake(&start.stage);
}

void close_all() {
  constexpr long kMaxDescriptors = 1 << 20;
  if (!kernel::failed(kernel::system_call(__NR_close_range, 0, ~0u, 0))) return;
  struct {
    uint64_t soft, hard;
  } limit{};
  constexpr long kOpenFiles = 7;  // RLIMIT_NOFILE
  kernel::system_call(__NR_prlimit64, 0, kOpenFiles, 0, reinterpret_cast<long>(&limit));
  const long count = limit.hard < kMaxDescriptors ? static_cast<long>(limit.hard) : kMaxDescriptors;
  for (int descriptor = 0; descriptor < count; ++descriptor) kernel::close(descriptor);
}

void open_nothing() {
  constexpr long kReadAndWrite = 2;
  for (int descriptor = 0; descriptor < wire::kListenerDescriptor; ++descriptor) {
    kernel::system_call(__NR_openat, AT_FDCWD, reinterpret_cast<long>("/dev/null"), kReadAndWrite);
  }
}

bool open_listener(const RecordingStart& start) {
  long made = kernel::system_call(__NR_socket, kUnixFamily, kSeqPacket, 0);
  if (made >= 0 && made != wire::kListenerDescriptor) {  // where there is no /dev/null
    made = kernel::system_call(__NR_dup3, made, wire::kListenerDescriptor, 0);
  }
  if (made != wire::kListenerDescriptor) return false;
  SocketAddress address{static_cast<uint16_t>(kUnixFamily), {}};
  copy_bytes(address.path + 1, start.name, start.name_bytes);
  const auto bytes = static_cast<long>(offsetof(SocketAddress, path) + 1 + start.name_bytes);
  return !kernel::failed(kernel::system_call(__NR_bind, made, reinterpret_cast<long>(&address), bytes));
}

// Signals that are requests to services, and would kill a process without a handler. A signal to a service's unit goes
// to all of its processes.
bool is_for_program(int number) {
  constexpr int kHangup = 1;
  constexpr int kUser2 = 12;
  constexpr int kFirstRealTime = 34;  // the C library uses those below
  return number == kHangup || number == kUser2 || number >= kFirstRealTime;
}

// SIGUSR1 requests a report from the collector. It stays pending until the collector accepts it.
void reset_signals() {
  for (int number = 1; number <= kSignals; ++number) {
    set_action(number, is_for_program(number) ? kIgnored : kDefault, nullptr);
  }
  constexpr int kUser1 = 10;
  const uint64_t blocked = signal_bit(kUser1);
  constexpr long kSet = 2;
  kernel::system_call(__NR_rt_sigprocmask, kSet, reinterpret_cast<long>(&blocked), 0, sizeof(blocked));
}

// It listens before it is what it becomes: it is the one whose process the kernel names to who connects.
void become_collector(void* argument) {
  auto& start = *static_cast<RecordingStart*>(argument);
  constexpr long kBacklog = 4096;
  kernel::system_call(__NR_setsid);
  const bool listens = !kernel::failed(kernel::system_call(__NR_listen, wire::kListenerDescriptor, kBacklog));
  if (listens) {
    reset_signals();
    for (const char* place : start.places) {
      if (*place == '\0') continue;
      kernel::system_call(__NR_execve, reinterpret_cast<long>(place), reinterpret_cast<long>(start.arguments),
                          reinterpret_cast<long>(start.environment));
    }
  }
  tell(start, Stage::kFailed);
}

// Has its own descriptors, and the program's memory: as a copy if it stays.
void make_collector(void* argument) {
  auto& start = *static_cast<RecordingStart*>(argument);
  kernel::system_call(__NR_setsid);
  constexpr long kSetName = 15;  // PR_SET_NAME
  if (start.stays) kernel::system_call(__NR_prctl, kSetName, reinterpret_cast<long>("heaptap-keeper"));
  close_all();
  open_nothing();
  if (!open_listener(start)) return tell(start, Stage::kFailed);
  const long collector = heaptap_clone_call(
      CLONE_VM | CLONE_VFORK, start.collectors_stack + sizeof(start.collectors_stack), &become_collector, &start);
  close_all();
  const bool is_there = !kernel::failed(collector) && start.stage.load() == Stage::kBegins;
  tell(start, is_there ? Stage::kListens : Stage::kFailed);
  if (is_there && start.stays) wait_for(collector);
}

RecordingStart* map_start(size_t bytes) {
  const long mapped = kernel::system_call(arch::native::kMapCall, 0, static_cast<long>(bytes), kernel::kReadWrite,
                                          0x01 | 0x20 /* SHARED | ANONYMOUS */, -1, 0);
  return kernel::failed(mapped) ? nullptr : reinterpret_cast<RecordingStart*>(mapped);
}

}  // namespace

void note_own_path() {
  const char* name = nullptr;
  for_each_object(&take_own_name, static_cast<void*>(&name));
  if (name == nullptr || name[0] == '/') {
    if (name != nullptr) set_agent_path(name);
    return;
  }
  static constinit char path[512];  // maximum length
  const long bytes = kernel::system_call(__NR_getcwd, reinterpret_cast<long>(path), sizeof(path));
  const size_t used = bytes > 0 ? static_cast<size_t>(bytes) - 1 : 0;
  if (used == 0 || used + 1 + length_of(name) >= sizeof(path)) return set_agent_path("");
  path[used] = '/';
  append(path + used + 1, name);
  set_agent_path(path);
}

bool start_own_collector() {
  char** const environment = find_environment();
  if (g_log_request.output == nullptr || environment == nullptr || would_begin_namespace()) return false;
  note_own_path();
  const size_t bytes = sizeof(RecordingStart) + (count_entries(environment) + kOwnEntries) * sizeof(char*);
  RecordingStart* const start = map_start(bytes);
  if (start == nullptr) return false;
  if (fill(*start, environment)) {
    adopts_orphans() ? start_maker_that_stays(*start) : start_maker_that_ends(*start);
  }
  const bool listens = start->stage.load() == Stage::kListens;
  if (listens) set_socket_name(start->name);
  kernel::system_call(__NR_munmap, reinterpret_cast<long>(start), static_cast<long>(bytes));
  return listens;
}

}  // namespace heaptap::agent
