#include "common/channel/passing_session.h"

#include <array>

#include "common/channel/failure.h"

namespace heaptap::channel {

void PassingSession::read(ByteStream& stream, std::vector<uint8_t>& out) {
  constexpr size_t kPieceBytes = size_t{16} << 10;
  std::array<uint8_t, kPieceBytes> piece;
  for (size_t added = 0; added + piece.size() <= kMaxReadBytes;) {
    const size_t bytes = read_piece(stream, piece);
    if (bytes == 0) return;
    out.insert(out.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(bytes));
    added += bytes;
  }
}

size_t PassingSession::read_piece(ByteStream& stream, std::span<uint8_t> room) {
  if (state() != State::kReady) return 0;
  const Transfer got = stream.receive(room);
  if (got.outcome == Transfer::Outcome::kEnded) set_state(State::kEnded);
  if (got.outcome == Transfer::Outcome::kBroken) set_failed(why_broken(got.error_number));
  return got.outcome == Transfer::Outcome::kDone ? got.bytes : 0;
}

void PassingSession::write(ByteStream& stream, ByteQueue& queue) {
  while (state() == State::kReady && !queue.empty() && !is_unheard()) {
    const Transfer sent = stream.send(queue.front());
    if (sent.outcome == Transfer::Outcome::kBroken) set_unheard();
    if (sent.outcome != Transfer::Outcome::kDone) return;
    queue.drop(sent.bytes);
  }
}

}  // namespace heaptap::channel
