#include "capture/tracer/tracer_packet.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "common/base/descriptor_message.h"

namespace heaptap::tracer {
namespace {

constexpr size_t kMaxBytes = 128 * 1024;

struct ThreadHeader {
  uint32_t thread_id;
  uint32_t registers_known;
  uint64_t stack_pointer;
  uint64_t program_counter;
  uint64_t frame_pointer;
  uint64_t thread_pointer;
  uint64_t register_count;
};

template <typename T>
void append(std::vector<uint8_t>& bytes, const T& value) {
  const auto* from = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof(value));
}

template <typename T>
bool take(std::span<const uint8_t>& bytes, T& value) {
  if (bytes.size() < sizeof(value)) return false;
  std::memcpy(&value, bytes.data(), sizeof(value));
  bytes = bytes.subspan(sizeof(value));
  return true;
}

void append_thread(std::vector<uint8_t>& bytes, const process::StoppedThread& thread) {
  append(bytes, ThreadHeader{thread.thread_id, thread.registers_known, thread.stack_pointer, thread.program_counter,
                             thread.frame_pointer, thread.thread_pointer, thread.registers.size()});
  for (const wire::RootWord& word : thread.registers) append(bytes, word);
}

bool take_thread(std::span<const uint8_t>& bytes, process::StoppedThread& thread) {
  ThreadHeader header;
  if (!take(bytes, header) || header.register_count > bytes.size() / sizeof(wire::RootWord)) return false;
  thread.thread_id = header.thread_id;
  thread.registers_known = header.registers_known != 0;
  thread.stack_pointer = header.stack_pointer;
  thread.program_counter = header.program_counter;
  thread.frame_pointer = header.frame_pointer;
  thread.thread_pointer = header.thread_pointer;
  thread.registers.resize(static_cast<size_t>(header.register_count));
  for (wire::RootWord& word : thread.registers) take(bytes, word);
  return true;
}

std::optional<Packet> parse(std::span<const uint8_t> bytes) {
  Packet packet;
  if (!take(bytes, packet.header)) return std::nullopt;
  if (packet.header.kind == PacketKind::kHeldThread) {
    if (!take_thread(bytes, packet.thread)) return std::nullopt;
  } else {
    packet.text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return packet;
}

}  // namespace

Sent send_packet(int socket, const Packet& packet, bool wait, int descriptor) {
  std::vector<uint8_t> bytes;
  append(bytes, packet.header);
  if (packet.header.kind == PacketKind::kHeldThread) append_thread(bytes, packet.thread);
  const std::string_view text = std::string_view(packet.text).substr(0, kMaxBytes - 4096);
  bytes.insert(bytes.end(), text.begin(), text.end());
  const std::string_view sent_bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ssize_t sent = -1;
  do {
    sent = base::send_message(socket, sent_bytes, descriptor, wait ? 0 : MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return Sent::kYes;
  return errno == EAGAIN ? Sent::kLater : Sent::kNever;
}

std::optional<Packet> receive_packet(int socket, bool wait, bool& closed) {
  std::vector<uint8_t> bytes(kMaxBytes);
  const std::span<char> room(reinterpret_cast<char*>(bytes.data()), bytes.size());
  base::UniqueFd descriptor;
  ssize_t received = -1;
  do {
    received = base::receive_message(socket, room, descriptor, wait ? 0 : MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  closed = received == 0 || (received < 0 && errno != EAGAIN);
  if (received <= 0) return std::nullopt;
  auto packet = parse(std::span<const uint8_t>(bytes).first(static_cast<size_t>(received)));
  if (packet) packet->descriptor = std::move(descriptor);
  return packet;
}

}  // namespace heaptap::tracer
