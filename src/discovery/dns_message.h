// Messages of multicast DNS (RFC 1035, 4; RFC 6762, 18): read from bytes that anybody sent, and written.
//
//   ┌ id 2 │ flags 2 │ how many: questions 2 │ answers 2 │ authorities 2 │ additionals 2 ┬ questions ┬ records … ┐
//   question  ┌ name │ type 2 │ asks for a unicast answer: 1 bit, class 15 bits ┐
//   record    ┌ name │ type 2 │ takes the place of older ones: 1 bit, class 15 bits │ seconds to live 4 │ bytes 2 ┬ data ┐
//
// All numbers are big-endian. A name may end in a pointer to one before it in the message.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/dns_name.h"

namespace heaptap::discovery {

inline constexpr size_t kMaxMessageBytes = 9000;  // RFC 6762, 17

enum class RecordType : uint16_t {
  kA = 1,
  kPtr = 12,
  kTxt = 16,
  kAaaa = 28,
  kSrv = 33,
  kAny = 255,  // of a question
};

struct Question {
  Name name;
  RecordType type{};
  bool wants_unicast = false;
};

struct Record {
  Name name;
  RecordType type{};
  bool takes_place = false;  // of older ones with this name and type: it isn't shared ("cache-flush")
  uint32_t ttl_s = 0;        // 0: it is no more
  std::string data = {};     // names in it are whole, not compressed
};

// Where a service is.
struct Place {
  uint16_t port = 0;
  Name host;
};
Record make_pointer(const Name& name, const Name& target, uint32_t ttl_s);
Record make_place(const Name& name, const Place& place, uint32_t ttl_s);
// Of a record of that type; none: of another one.
std::optional<Name> target_of(const Record& pointer);
std::optional<Place> place_of(const Record& place);

struct Message {
  uint16_t id = 0;  // 0 but in questions of programs that speak plain DNS, and in answers to them
  bool is_response = false;
  bool is_truncated = false;  // of a query: more known answers come in the next message
  std::vector<Question> questions = {};
  std::vector<Record> answers = {};  // of a query: what is known already
  std::vector<Record> authorities = {};
  std::vector<Record> additionals = {};
};

// None: it is damaged, too long, or no query and no answer (RFC 6762, 18.3 and 18.11). Records of other classes are passed over.
std::optional<Message> read_message(std::string_view bytes);
std::string write_message(const Message& message);

}  // namespace heaptap::discovery
