// Messages of every protocol: greeting, answer, refusal. Each side begins with a kHello; an answer or a refusal has its
// request's number.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/base/result.h"
#include "common/message/message.h"

namespace heaptap::message {

inline constexpr uint32_t kMajorVersion = 1;  // others are rejected
inline constexpr uint32_t kMinorVersion = 2;  // higher ones only add kinds and fields
inline constexpr size_t kMaxRequestBytes = size_t{64} << 10;
inline constexpr size_t kMaxAnswerBytes = size_t{16} << 20;

enum class CommonKind : uint8_t {
  kHello = 1,
  kAnswer = 2,
  kRefusal = 3,
};

enum class CommonField : uint8_t {
  kMajor = 1,  // of a hello
  kMinor = 2,
  kText = 3,       // of a refusal: why
  kErrorKind = 4,  // of a refusal: base::ErrorKind
};

struct Version {
  uint32_t major = 0;
  uint32_t minor = 0;
};

// With this program's version.
Message hello();
// Missing or impossible numbers are 0.
Version decode_hello(const Fields& fields);
bool is_hello_of_this_version(const Message& message);

Message answer_to(uint64_t request, Fields fields);
Message refusal_of(uint64_t request, const base::Error& why);
// An unknown kind of error is kFailed.
base::Error decode_refusal(const Fields& fields);

}  // namespace heaptap::message
