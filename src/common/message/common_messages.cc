#include "common/message/common_messages.h"

#include <utility>

namespace heaptap::message {

Message hello() {
  Message message{.kind = CommonKind::kHello, .number = 0, .fields = {}};
  message.fields.add(CommonField::kMajor, kMajorVersion);
  message.fields.add(CommonField::kMinor, kMinorVersion);
  return message;
}

Version decode_hello(const Fields& fields) {
  return {.major = fields.small_number(CommonField::kMajor), .minor = fields.small_number(CommonField::kMinor)};
}

bool is_hello_of_this_version(const Message& message) {
  return message.kind == CommonKind::kHello && decode_hello(message.fields).major == kMajorVersion;
}

Message answer_to(uint64_t request, Fields fields) {
  return {.kind = CommonKind::kAnswer, .number = request, .fields = std::move(fields)};
}

Message refusal_of(uint64_t request, const base::Error& why) {
  Message message{.kind = CommonKind::kRefusal, .number = request, .fields = {}};
  message.fields.add(CommonField::kText, why.message);
  message.fields.add(CommonField::kErrorKind, static_cast<uint64_t>(why.kind));
  return message;
}

base::Error decode_refusal(const Fields& fields) {
  const uint64_t kind = fields.number_or_0(CommonField::kErrorKind);
  const bool is_known = kind <= static_cast<uint64_t>(base::ErrorKind::kNotExecutable);
  return {.message = fields.text_or_empty(CommonField::kText),
          .kind = is_known ? static_cast<base::ErrorKind>(kind) : base::ErrorKind::kFailed};
}

}  // namespace heaptap::message
