// Names of the API functions (include/heaptap/heaptap.h), by which the tracer finds them.
#pragma once
#include <cstdint>

namespace heaptap::tracer {

enum class ApiCall : uint8_t {
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
  ApiCall api_call;
};
inline constexpr SpokenName kSpokenNames[] = {
    {"heaptap_enable", ApiCall::kEnable},
    {"heaptap_disable", ApiCall::kDisable},
    {"heaptap_is_recording", ApiCall::kIsRecording},
    {"heaptap_report", ApiCall::kReport},
    {"heaptap_scan", ApiCall::kScan},
    {"heaptap_mark", ApiCall::kMark},
    {"heaptap_push_tag", ApiCall::kPushTag},
    {"heaptap_pop_tag", ApiCall::kPopTag},
    {"heaptap_name_block", ApiCall::kNameBlock},
    {"heaptap_pool_create", ApiCall::kPoolCreate},
    {"heaptap_pool_destroy", ApiCall::kPoolDestroy},
    {"heaptap_allocated", ApiCall::kAllocated},
    {"heaptap_released", ApiCall::kReleased},
    {"heaptap_reallocated", ApiCall::kReallocated},
    {"heaptap_resource_create", ApiCall::kResourceCreate},
    {"heaptap_opened", ApiCall::kOpened},
    {"heaptap_closed", ApiCall::kClosed},
};

// Functions that return the program's number for a new pool or kind of resource.
constexpr bool makes_pool(ApiCall api_call) {
  return api_call == ApiCall::kPoolCreate || api_call == ApiCall::kResourceCreate;
}
// Functions that ask heaptap: the answer replaces their own result.
constexpr bool is_question(ApiCall api_call) {
  return api_call == ApiCall::kIsRecording || api_call == ApiCall::kReport || api_call == ApiCall::kScan;
}

}  // namespace heaptap::tracer
