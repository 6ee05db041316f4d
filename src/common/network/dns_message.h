// Multicast DNS messages (RFC 1035, 4; RFC 6762, 18): parsing of untrusted bytes, and writing.
//
//   ┌ id 2 │ flags 2 │ counts: questions 2 │ answers 2 │ authorities 2 │ additionals 2 ┬ questions ┬ records … ┐
//   question  ┌ name │ type 2 │ unicast response requested: 1 bit, class 15 bits ┐
//   record    ┌ name │ type 2 │ cache flush: 1 bit, class 15 bits │ TTL in seconds 4 │ length 2 ┬ data ┐
//
// All numbers are big-endian. A name may end in a pointer to one before it in the message.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/network/dns_name.h"

namespace heaptap::network {

inline constexpr size_t kMaxMessageBytes = 9000;  // RFC 6762, 17

enum class RecordType : uint16_t {
  kA = 1,
  kPtr = 12,
  kTxt = 16,
  kAaaa = 28,
  kSrv = 33,
  kAny = 255,  // for questions
};

struct Question {
  Name name;
  RecordType type{};
  bool wants_unicast = false;
};

struct Record {
  Name name;
  RecordType type{};
  bool takes_place = false;  // replaces older ones with this name and type ("cache-flush"): the name isn't shared
  uint32_t ttl_s = 0;        // 0: removed
  std::string data = {};     // names in it are uncompressed
};

// Location of a service (SRV).
struct Place {
  uint16_t port = 0;
  Name host;
};
Record make_pointer(const Name& name, const Name& target, uint32_t ttl_s);
Record make_place(const Name& name, const Place& place, uint32_t ttl_s);
// Target of a PTR record; none: a record of another type.
std::optional<Name> target_of(const Record& pointer);
std::optional<Place> place_of(const Record& place);

struct Message {
  uint16_t id = 0;  // 0, except in questions of plain DNS clients and answers to them
  bool is_response = false;
  bool is_truncated = false;  // for a query: more known answers follow in the next message
  std::vector<Question> questions = {};
  std::vector<Record> answers = {};  // for a query: answers known already
  std::vector<Record> authorities = {};
  std::vector<Record> additionals = {};
};

// None: damaged, too long, or neither query nor answer (RFC 6762, 18.3 and 18.11). Ignores records of other classes.
std::optional<Message> read_message(std::string_view bytes);
std::string write_message(const Message& message);

}  // namespace heaptap::network
