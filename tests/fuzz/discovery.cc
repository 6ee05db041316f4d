// Packets that an announcer and a querier get from anybody, with time between them: a byte says how many 16 ms passed, one how it
// came, and two how long it is.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "common/discovery/querier.h"
#include "common/discovery/responder.h"

namespace {

using namespace heaptap::discovery;

constexpr size_t kHeadBytes = 4;
constexpr size_t kMaxPacketsOut = 200;  // for one in, and what is due by then

Link made_link() {
  Link link{.index = 1, .name = "eth1", .addresses = {}};
  link.addresses.push_back({{.family = Family::kIpv4, .bytes = {10, 0, 0, 1}}, 24});
  link.addresses.push_back({{.family = Family::kIpv6, .bytes = {0xfe, 0x80, 1}}, 64});
  return link;
}

Packet made_packet(uint8_t way, std::string_view bytes) {
  const Family family = (way & 1) != 0 ? Family::kIpv6 : Family::kIpv4;
  Endpoint peer{.address = made_link().addresses[way & 1].address, .port = kMulticastPort};
  if ((way & 2) != 0) peer.address.bytes[3] = 2;
  if ((way & 4) != 0) peer.port = 40'000;
  return {.channel = {1, family}, .peer = peer, .bytes = std::string(bytes)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint64_t now_ns = 1000 * kSecond;
  Responder responder({.port = 5000, .program = "shop", .cpu = "x86_64", .version = "1", .id = "1"}, "board", 1);
  Querier querier;
  responder.set_links({made_link()}, now_ns);
  querier.set_links({made_link()}, now_ns);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (rest.size() >= kHeadBytes) {
    now_ns += uint64_t{static_cast<uint8_t>(rest[0])} * 16 * kMillisecond;
    const size_t length = static_cast<size_t>(static_cast<uint8_t>(rest[2]) << 8 | static_cast<uint8_t>(rest[3]));
    const Packet packet = made_packet(static_cast<uint8_t>(rest[1]), rest.substr(kHeadBytes, length));
    rest.remove_prefix(std::min(rest.size(), kHeadBytes + length));
    responder.take(packet, now_ns);
    querier.take(packet, now_ns);
    const auto answers = responder.due(now_ns);
    const auto questions = querier.due(now_ns);
    HEAPTAP_CHECK(answers.size() + questions.size() <= kMaxPacketsOut);
    // What they say is sound, and nothing is due that was said.
    for (const Packet& said : answers) HEAPTAP_CHECK(read_message(said.bytes).has_value());
    for (const Packet& said : questions) HEAPTAP_CHECK(read_message(said.bytes).has_value());
    HEAPTAP_CHECK(responder.next_deadline() > now_ns);
    (void)responder.goodbye();
    const auto services = querier.services();
    HEAPTAP_CHECK(querier.next_deadline(now_ns) >= now_ns && services.size() <= kMaxFoundServices);
    for (const FoundService& service : services) (void)text_value(service.text, "program");
  }
  return 0;
}
