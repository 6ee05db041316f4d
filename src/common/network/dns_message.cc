#include "common/network/dns_message.h"

#include <array>
#include <utility>

namespace heaptap::network {
namespace {

constexpr uint16_t kResponseFlag = 0x8000;
constexpr uint16_t kOpcodeMask = 0x7800;
constexpr uint16_t kAuthoritativeFlag = 0x0400;
constexpr uint16_t kTruncatedFlag = 0x0200;
constexpr uint16_t kResponseCodeMask = 0x000f;
constexpr uint16_t kInternet = 1;  // the class
constexpr uint16_t kAnyClass = 255;
constexpr uint16_t kTopBit = 0x8000;  // of a class

constexpr size_t kHeadBytes = 12;
constexpr size_t kPlaceHeadBytes = 6;  // priority, weight, port
constexpr uint8_t kPointerBits = 0xc0;
constexpr size_t kMaxPointers = 128;  // in one name, which can't have more labels
constexpr size_t kPointerReach = 0x4000;

// After the end, and for invalid names, reads return nothing and ok() stays false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] size_t at() const { return at_; }

  std::string_view raw(size_t count) {
    if (!ok_ || count > bytes_.size() - at_) return fail();
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  uint16_t u16() {
    const std::string_view two = raw(2);
    return two.empty() ? uint16_t{0} : static_cast<uint16_t>(byte_of(two, 0) << 8 | byte_of(two, 1));
  }
  uint32_t u32() {
    const uint32_t high = u16();
    return high << 16 | u16();
  }
  Name name();

 private:
  static uint8_t byte_of(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }
  std::string_view fail() {
    ok_ = false;
    at_ = bytes_.size();
    return {};
  }

  std::string_view bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

// A pointer has to point before the part of the name already read: so there are no cycles.
Name Reader::name() {
  Name name;
  size_t at = at_;
  size_t pointers = 0;
  for (size_t limit = at_; ok_ && at < bytes_.size();) {
    const uint8_t length = byte_of(bytes_, at);
    if (length == 0) {
      if (pointers == 0) at_ = at + 1;
      return name;
    }
    if ((length & kPointerBits) == kPointerBits) {
      if (at + 1 >= bytes_.size()) break;
      const size_t target = static_cast<size_t>((length & ~kPointerBits) << 8 | byte_of(bytes_, at + 1));
      if (target < kHeadBytes || target >= limit || pointers == kMaxPointers) break;
      if (pointers++ == 0) at_ = at + 2;
      limit = at = target;
      continue;
    }
    if ((length & kPointerBits) != 0 || bytes_.size() - at - 1 < length) break;
    if (!name.append(bytes_.substr(at + 1, length))) break;
    at += 1 + size_t{length};
  }
  fail();
  return {};
}

// Names in data made here, or in uncompressed form.
Name whole_name(std::string_view bytes) { return Reader(bytes).name(); }

std::string bytes_of(uint16_t number) { return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)}; }

std::string with_root(const Name& name) { return name.bytes() + '\0'; }

// Its data, with names in uncompressed form.
std::string read_data(Reader& in, RecordType type, size_t bytes) {
  if (type != RecordType::kPtr && type != RecordType::kSrv) return std::string(in.raw(bytes));
  const size_t begin = in.at();
  std::string data;
  if (type == RecordType::kSrv) data = in.raw(kPlaceHeadBytes);
  data += with_root(in.name());
  if (in.at() - begin != bytes) in.raw(std::string_view::npos);
  return data;
}

void read_questions(Reader& in, size_t count, std::vector<Question>& questions) {
  for (size_t done = 0; done < count && in.ok(); ++done) {
    Question question{.name = in.name(), .type = static_cast<RecordType>(in.u16())};
    const uint16_t class_word = in.u16();
    question.wants_unicast = (class_word & kTopBit) != 0;
    const uint16_t asked = class_word & ~kTopBit;
    if (in.ok() && (asked == kInternet || asked == kAnyClass)) questions.push_back(std::move(question));
  }
}

void read_records(Reader& in, size_t count, std::vector<Record>& records) {
  for (size_t done = 0; done < count && in.ok(); ++done) {
    Record record{.name = in.name(), .type = static_cast<RecordType>(in.u16())};
    const uint16_t class_word = in.u16();
    record.takes_place = (class_word & kTopBit) != 0;
    record.ttl_s = in.u32();
    const size_t bytes = in.u16();
    record.data = read_data(in, record.type, bytes);
    if (in.ok() && (class_word & ~kTopBit) == kInternet) records.push_back(std::move(record));
  }
}

class Writer {
 public:
  void u16(size_t number) { bytes_ += bytes_of(static_cast<uint16_t>(number)); }
  void u32(uint32_t number) {
    u16(number >> 16);
    u16(number & 0xffff);
  }
  void name(const Name& name);
  void question(const Question& question);
  void records(const std::vector<Record>& records);
  std::string take() { return std::move(bytes_); }

 private:
  void data(const Record& record);

  std::string bytes_;
  std::vector<std::pair<std::string, size_t>> places_;  // names that pointers may refer to
};

void Writer::name(const Name& name) {
  for (std::string_view rest = name.bytes(); !rest.empty(); rest.remove_prefix(1 + static_cast<uint8_t>(rest[0]))) {
    for (const auto& [known, at] : places_) {
      if (known == rest) return u16(size_t{kPointerBits} << 8 | at);
    }
    if (bytes_.size() < kPointerReach) places_.emplace_back(rest, bytes_.size());
    bytes_ += rest.substr(0, 1 + static_cast<uint8_t>(rest[0]));
  }
  bytes_ += '\0';
}

void Writer::question(const Question& question) {
  name(question.name);
  u16(static_cast<uint16_t>(question.type));
  u16(kInternet | (question.wants_unicast ? kTopBit : 0));
}

void Writer::records(const std::vector<Record>& records) {
  for (const Record& record : records) {
    name(record.name);
    u16(static_cast<uint16_t>(record.type));
    u16(kInternet | (record.takes_place ? kTopBit : 0));
    u32(record.ttl_s);
    const size_t length_at = bytes_.size();
    u16(0);
    data(record);
    bytes_.replace(length_at, 2, bytes_of(static_cast<uint16_t>(bytes_.size() - length_at - 2)));
  }
}

void Writer::data(const Record& record) {
  if (const auto target = target_of(record)) {
    name(*target);
  } else if (const auto place = place_of(record)) {
    bytes_ += record.data.substr(0, kPlaceHeadBytes);
    name(place->host);
  } else {
    bytes_ += record.data;
  }
}

}  // namespace

Record make_pointer(const Name& name, const Name& target, uint32_t ttl_s) {
  return {.name = name, .type = RecordType::kPtr, .ttl_s = ttl_s, .data = with_root(target)};
}

Record make_place(const Name& name, const Place& place, uint32_t ttl_s) {
  const std::string no_choice(4, '\0');  // priority and weight
  return {.name = name,
          .type = RecordType::kSrv,
          .takes_place = true,
          .ttl_s = ttl_s,
          .data = no_choice + bytes_of(place.port) + with_root(place.host)};
}

std::optional<Name> target_of(const Record& pointer) {
  if (pointer.type != RecordType::kPtr) return std::nullopt;
  return whole_name(pointer.data);
}

std::optional<Place> place_of(const Record& place) {
  if (place.type != RecordType::kSrv || place.data.size() < kPlaceHeadBytes) return std::nullopt;
  Reader in(std::string_view(place.data).substr(4));
  const uint16_t port = in.u16();
  return Place{.port = port, .host = whole_name(std::string_view(place.data).substr(kPlaceHeadBytes))};
}

std::optional<Message> read_message(std::string_view bytes) {
  if (bytes.size() > kMaxMessageBytes) return std::nullopt;
  Reader in(bytes);
  Message message{.id = in.u16()};
  const uint16_t flags = in.u16();
  if ((flags & (kOpcodeMask | kResponseCodeMask)) != 0) return std::nullopt;
  message.is_response = (flags & kResponseFlag) != 0;
  message.is_truncated = (flags & kTruncatedFlag) != 0;
  std::array<size_t, 4> counts{};
  for (size_t& count : counts) count = in.u16();
  read_questions(in, counts[0], message.questions);
  read_records(in, counts[1], message.answers);
  read_records(in, counts[2], message.authorities);
  read_records(in, counts[3], message.additionals);
  if (!in.ok()) return std::nullopt;
  return message;
}

std::string write_message(const Message& message) {
  Writer out;
  out.u16(message.id);
  out.u16((message.is_response ? size_t{kResponseFlag | kAuthoritativeFlag} : 0) |
          (message.is_truncated ? size_t{kTruncatedFlag} : 0));
  out.u16(message.questions.size());
  out.u16(message.answers.size());
  out.u16(message.authorities.size());
  out.u16(message.additionals.size());
  for (const Question& question : message.questions) out.question(question);
  out.records(message.answers);
  out.records(message.authorities);
  out.records(message.additionals);
  return out.take();
}

}  // namespace heaptap::network
