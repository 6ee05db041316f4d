// Names of the API functions (include/heaptap/heaptap.h), by which the tracer finds them.
#pragma once
#include <cstdint>

namespace heaptap::tracer {

enum class Spoken : uint8_t {
  kNone,
  kEnable,
  kDisable,
  kIsRecording,
  kReport,
  kScan,
  kMark,
  kPushTag,
  kPopTag,
  kNameBlock,
  kPoolCreate,
  kPoolDestroy,
  kAllocated,
  kReleased,
  kReallocated,
  kResourceCreate,
  kOpened,
  kClosed,
};

struct SpokenName {
  const char* symbol;
  Spoken spoken;
};
inline constexpr SpokenName kSpokenNames[] = {
    {"heaptap_enable", Spoken::kEnable},
    {"heaptap_disable", Spoken::kDisable},
    {"heaptap_is_recording", Spoken::kIsRecording},
    {"heaptap_report", Spoken::kReport},
    {"heaptap_scan", Spoken::kScan},
    {"heaptap_mark", Spoken::kMark},
    {"heaptap_push_tag", Spoken::kPushTag},
    {"heaptap_pop_tag", Spoken::kPopTag},
    {"heaptap_name_block", Spoken::kNameBlock},
    {"heaptap_pool_create", Spoken::kPoolCreate},
    {"heaptap_pool_destroy", Spoken::kPoolDestroy},
    {"heaptap_allocated", Spoken::kAllocated},
    {"heaptap_released", Spoken::kReleased},
    {"heaptap_reallocated", Spoken::kReallocated},
    {"heaptap_resource_create", Spoken::kResourceCreate},
    {"heaptap_opened", Spoken::kOpened},
    {"heaptap_closed", Spoken::kClosed},
};

// Functions that return the program's number for a new pool or kind of resource.
constexpr bool makes_pool(Spoken spoken) { return spoken == Spoken::kPoolCreate || spoken == Spoken::kResourceCreate; }
// Functions that ask heaptap: the answer replaces their own result.
constexpr bool is_question(Spoken spoken) {
  return spoken == Spoken::kIsRecording || spoken == Spoken::kReport || spoken == Spoken::kScan;
}

}  // namespace heaptap::tracer
