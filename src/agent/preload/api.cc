// API functions that a program calls to control its recording (include/heaptap/heaptap.h), as implemented by the agent.
// Harmless where nothing records, change no errno, callable from signal handlers; only report and scan wait, bounded.
#include <linux/fcntl.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/clock.h"
#include "agent/core/labels.h"
#include "agent/core/pools.h"
#include "agent/core/recorder.h"
#include "agent/core/session.h"
#include "agent/core/string.h"
#include "agent/preload/call_site.h"
#include "agent/preload/collector_socket.h"
#include "agent/preload/log_request.h"
#include "agent/preload/preload.h"

namespace heaptap::agent {
namespace {

using wire::Function;
using wire::LabelKind;
using wire::RecordingSwitch;
using wire::RecordKind;

constexpr int kApiVersion = 1;

const char* or_empty(const char* text) { return text != nullptr ? text : ""; }

// False: it has changed since.
bool turn_switch(RecordingSwitch from, RecordingSwitch to) {
  auto expected = static_cast<uint32_t>(from);
  return g_session.log->recording_switch.compare_exchange_strong(expected, static_cast<uint32_t>(to),
                                                                 std::memory_order_relaxed);
}

inline void record_pool(uint64_t pool, LabelKind kind, const PoolEvent& event, const CallSite& site) {
  if (pool != 0 && is_recording()) record_pooled(g_anchor, pool, kind, event, site);
}

uint64_t address_of(const void* block) { return reinterpret_cast<uintptr_t>(block); }

// Linux's values, which are those of the C library.
enum ErrorNumber : int {
  kInvalidArgument = 22,  // EINVAL
  kProtocolError = 71,    // EPROTO
  kNotSupported = 95,     // ENOTSUP
  kNoAnswer = 110,        // ETIMEDOUT
};

// With the program's definition: see include/heaptap/heaptap.h.
struct ScanCounts {
  size_t struct_bytes;
  uint64_t counts[sizeof(wire::Reported::counts) / sizeof(uint64_t)];
};

// Sends a request to the collector, and waits for the result. Returns an errno value.
int ask(wire::StartReason reason, int descriptor, wire::Reported& told) {
  constexpr int kPatienceSeconds = 120;
  Socket socket;
  if (!socket.connect_to_collector()) return kNotSupported;
  socket.set_patience(kPatienceSeconds);
  const wire::Hello hello = make_hello(reason);
  const bool is_sent =
      descriptor < 0 ? socket.send(&hello, sizeof(hello)) : socket.send_with(&hello, sizeof(hello), descriptor);
  if (!is_sent) return kNotSupported;
  int none = -1;
  const bool is_answered = socket.receive(&told, sizeof(told), none);
  if (none >= 0) kernel::close(none);
  if (!is_answered) return kNoAnswer;
  const bool is_sound = told.magic == wire::kHelloMagic && told.version == wire::kHandshakeVersion;
  return is_sound ? static_cast<int>(told.error) : kProtocolError;
}

}  // namespace

// An existing file is overwritten: the program chose the name. The file is opened here, with the program's rights, root
// and working directory.
HEAPTAP_EXPORT int heaptap_report(const char* path) {
  constexpr long kWriteAnew = 01 | 0100 | 01000 | 02000000;  // O_WRONLY, O_CREAT, O_TRUNC, O_CLOEXEC
  constexpr size_t kMaxPathBytes = 4096;
  if (path == nullptr || *path == '\0' || length_of(path) >= kMaxPathBytes) return kInvalidArgument;
  if (!is_recording() || !may_call()) return kNotSupported;
  const long descriptor = kernel::system_call(__NR_openat, AT_FDCWD, reinterpret_cast<long>(path), kWriteAnew, 0666);
  if (kernel::failed(descriptor)) return static_cast<int>(-descriptor);
  wire::Reported told{};
  const int error = ask(wire::StartReason::kReport, static_cast<int>(descriptor), told);
  kernel::close(static_cast<int>(descriptor));
  return error;
}

HEAPTAP_EXPORT int heaptap_scan(ScanCounts* counts) {
  if (!is_recording() || !may_call()) return kNotSupported;
  wire::Reported told{};
  const int error = ask(wire::StartReason::kScan, -1, told);
  if (error != 0 || counts == nullptr || counts->struct_bytes < sizeof(size_t)) return error;
  // Older and newer programs have fewer or more fields.
  const size_t room = counts->struct_bytes - offsetof(ScanCounts, counts);
  copy_bytes(counts->counts, told.counts, room < sizeof(told.counts) ? room : sizeof(told.counts));
  return 0;
}

HEAPTAP_EXPORT int heaptap_api_version() { return kApiVersion; }

HEAPTAP_EXPORT int heaptap_is_recording() { return is_recording() && !wire::is_switched_off(*g_session.log) ? 1 : 0; }

// Notes before and after the gap.
HEAPTAP_EXPORT void heaptap_enable() {
  if (!is_recording()) return;
  const bool is_turned = turn_switch(RecordingSwitch::kOff, RecordingSwitch::kOn) ||
                         turn_switch(RecordingSwitch::kNotYet, RecordingSwitch::kOn);
  if (!is_turned) return;
  note_text(g_anchor, wire::NoteKind::kSwitchedOn, 0, "");
}

HEAPTAP_EXPORT void heaptap_disable() {
  if (!is_recording() || wire::is_switched_off(*g_session.log)) return;
  note_text(g_anchor, wire::NoteKind::kSwitchedOff, 0, "");
  outdate_readings();  // releases of unknown blocks, allocated in the gap, come after it
  turn_switch(RecordingSwitch::kOn, RecordingSwitch::kOff);
}

HEAPTAP_EXPORT void heaptap_mark(const char* name) {
  if (is_recording()) note_text(g_anchor, wire::NoteKind::kMark, 0, or_empty(name));
}

HEAPTAP_EXPORT void heaptap_name_block(const void* block, const char* name) {
  if (is_recording() && block != nullptr) {
    note_text(g_anchor, wire::NoteKind::kBlockName, address_of(block), or_empty(name));
  }
}

HEAPTAP_EXPORT void heaptap_push_tag(const char* name) {
  if (!is_recording()) return;
  ThreadAnchor& anchor = g_anchor;
  const Label* const tag =
      anchor.unkept_tags != 0 ? nullptr : g_labels.find_or_add(anchor.tag, LabelKind::kTag, or_empty(name));
  if (tag != nullptr) [[likely]] {
    anchor.tag = tag;
  } else {
    ++anchor.unkept_tags;
  }
}

HEAPTAP_EXPORT void heaptap_pop_tag() {
  ThreadAnchor& anchor = g_anchor;
  if (anchor.unkept_tags != 0) [[unlikely]] {
    --anchor.unkept_tags;
  } else if (anchor.tag != nullptr) {
    anchor.tag = anchor.tag->parent;
  }
}

HEAPTAP_EXPORT uint64_t heaptap_pool_create(const char* name) {
  return is_recording() ? make_pool(LabelKind::kPool, or_empty(name)) : 0;
}

HEAPTAP_EXPORT void heaptap_pool_destroy(uint64_t pool) {
  record_pool(pool, LabelKind::kPool, {RecordKind::kPoolDestroy, Function::kPoolDestroy, 0, 0}, HEAPTAP_CALL_SITE());
}

HEAPTAP_EXPORT void heaptap_allocated(uint64_t pool, const void* address, size_t size_bytes) {
  record_pool(pool, LabelKind::kPool,
              {RecordKind::kPoolAllocate, Function::kPoolAllocate, address_of(address), size_bytes},
              HEAPTAP_CALL_SITE());
}

HEAPTAP_EXPORT void heaptap_released(uint64_t pool, const void* address) {
  record_pool(pool, LabelKind::kPool, {RecordKind::kPoolRelease, Function::kPoolRelease, address_of(address), 0},
              HEAPTAP_CALL_SITE());
}

HEAPTAP_EXPORT void heaptap_reallocated(uint64_t pool, const void* before, const void* after, size_t size_bytes) {
  const CallSite site = HEAPTAP_CALL_SITE();
  if (before != nullptr) {
    record_pool(pool, LabelKind::kPool, {RecordKind::kPoolRelease, Function::kPoolReallocate, address_of(before), 0},
                site);
  }
  if (after != nullptr) {
    record_pool(pool, LabelKind::kPool,
                {RecordKind::kPoolAllocate, Function::kPoolReallocate, address_of(after), size_bytes}, site);
  }
}

HEAPTAP_EXPORT uint64_t heaptap_resource_create(const char* name) {
  return is_recording() ? make_pool(LabelKind::kResource, or_empty(name)) : 0;
}

HEAPTAP_EXPORT void heaptap_opened(uint64_t kind, uint64_t number, uint64_t amount) {
  record_pool(kind, LabelKind::kResource, {RecordKind::kPoolAllocate, Function::kResourceOpen, number, amount},
              HEAPTAP_CALL_SITE());
}

HEAPTAP_EXPORT void heaptap_closed(uint64_t kind, uint64_t number) {
  record_pool(kind, LabelKind::kResource, {RecordKind::kPoolRelease, Function::kResourceClose, number, 0},
              HEAPTAP_CALL_SITE());
}

}  // namespace heaptap::agent
