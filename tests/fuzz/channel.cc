// What the other side of a channel says, in its greeting and after it; and addresses.
//
// The first byte: 1: a listener, 2: that proves who it is, 4: after a greeting that came about; and the size of the pieces in the upper
// bits. What follows is what the other side says; after a greeting, in pairs, what is changed of it.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "common/channel/address.h"
#include "common/channel/plain_session.h"
#include "common/channel/proven_session.h"
#include "common/channel/tls_session.h"
#include "fuzz/support/byte_source.h"
#include "unit/support/memory_stream.h"

namespace heaptap {
namespace {

using channel::Role;
using channel::Session;
using State = Session::State;
using test::MemoryPipe;
using test::MemoryStream;

// Of ends that know each other, or of none.
std::unique_ptr<Session> make_session(Role role, bool is_proven) {
  static const channel::KeyPair kListener = channel::KeyPair::from_seed(channel::Digest{1}, "a fuzzer");
  static const channel::KeyPair kConnector = channel::KeyPair::from_seed(channel::Digest{2}, "a fuzzer");
  static const channel::KeyPair kChannel = channel::KeyPair::from_seed(channel::Digest{3}, "a fuzzer");
  if (!is_proven) return std::make_unique<channel::PlainSession>(role);
  const bool listens = role == Role::kListener;
  const channel::TlsSession::Seed seed{};
  const channel::KeyPair& other = listens ? kConnector : kListener;
  return std::make_unique<channel::ProvenSession>(
      role,
      channel::Credentials{.own = listens ? kListener : kConnector,
                           .trusted = {{channel::Fingerprint::of(other.public_key()), "other"}}},
      listens ? channel::TlsSession::of_listener(kChannel, seed) : channel::TlsSession::of_connector(seed),
      channel::Digest{4});
}

void run(Session& session, MemoryStream& stream, channel::ByteQueue& queue) {
  constexpr int kTurns = 8;
  for (int turn = 0; turn < kTurns; ++turn) {
    session.greet(stream);
    const bool was_ready = session.state() == State::kReady;
    std::vector<uint8_t> out;
    if (was_ready) session.read(stream, out);
    session.write(stream, queue);
    HEAPTAP_CHECK(out.size() <= channel::kMaxReadBytes);
    HEAPTAP_CHECK((session.state() == State::kFailed) == !session.why().empty());
  }
}

// Nobody gets in by what a key would have to be known for.
void hear_stranger(Role role, bool is_proven, size_t max_piece, std::span<const uint8_t> said) {
  MemoryPipe in;
  MemoryPipe out;
  MemoryStream stream(in, out);
  stream.set_max_piece(max_piece);
  in.bytes.assign(said.begin(), said.end());
  in.is_ended = true;
  const auto session = make_session(role, is_proven);
  channel::ByteQueue queue(1'000);
  run(*session, stream, queue);
  HEAPTAP_CHECK(!is_proven || session->state() != State::kReady);
  HEAPTAP_CHECK(out.bytes.size() < 2'000);
}

// What comes out is what went in, or less.
void hear_changed(Role role, bool is_proven, size_t max_piece, fuzz::ByteSource changes) {
  MemoryPipe to;
  MemoryPipe from;
  MemoryStream here(to, from);
  MemoryStream there(from, to);
  const auto session = make_session(role, is_proven);
  const auto other = make_session(role == Role::kListener ? Role::kConnector : Role::kListener, is_proven);
  for (int turn = 0; turn < 4; ++turn) {
    other->greet(there);
    session->greet(here);
    channel::ByteQueue none(0);
    session->write(here, none);
  }
  other->greet(there);
  HEAPTAP_CHECK(session->state() == State::kReady && other->state() == State::kReady);
  std::vector<uint8_t> said(300);
  for (size_t i = 0; i < said.size(); ++i) said[i] = static_cast<uint8_t>(i);
  channel::ByteQueue queue(said.size());
  const size_t begin = to.bytes.size();
  for (int i = 0; i < 3; ++i) {
    (void)queue.add(std::span(said).subspan(static_cast<size_t>(i) * 100, 100));
    other->write(there, queue);
  }
  while (!changes.empty()) {
    const size_t at = begin + changes.take<uint16_t>() % (to.bytes.size() - begin);
    to.bytes[at] = static_cast<uint8_t>(to.bytes[at] ^ changes.take<uint8_t>());
  }
  here.set_max_piece(max_piece);
  std::vector<uint8_t> heard;
  for (int turn = 0; turn < 1'000 && session->state() == State::kReady; ++turn) session->read(here, heard);
  HEAPTAP_CHECK(heard.size() <= said.size());
  HEAPTAP_CHECK(!is_proven || std::equal(heard.begin(), heard.end(), said.begin()));
}

}  // namespace
}  // namespace heaptap

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptap;
  fuzz::ByteSource source(data, size);
  const auto kind = source.take<uint8_t>();
  const Role role = (kind & 1) != 0 ? Role::kListener : Role::kConnector;
  const size_t max_piece = kind >= 8 ? kind / 8 : SIZE_MAX;
  if ((kind & 4) != 0) {
    hear_changed(role, (kind & 2) != 0, max_piece, source);
    return 0;
  }
  const auto said = source.rest();
  hear_stranger(role, (kind & 2) != 0, max_piece, said);
  const auto address = channel::parse_address({reinterpret_cast<const char*>(said.data()), said.size()});
  if (!address) return 0;
  const auto again = channel::parse_address(address->to_text());
  HEAPTAP_CHECK(again && again->to_text() == address->to_text() && again->is_loopback() == address->is_loopback());
  return 0;
}
