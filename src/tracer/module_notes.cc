#include "tracer/module_notes.h"

#include <algorithm>
#include <cstring>

namespace heaptap::tracer {
namespace {

constexpr uint32_t kMaxGenerations = 0x8000;  // bits 48 to 62 of a wire::CodeEntry

size_t id_bytes(const LoadedObject& object) { return std::min<size_t>(object.build_id_bytes, object.build_id.size()); }

std::string identity_of(const LoadedObject& object) {
  std::string identity = object.path + '\0';
  identity.append(reinterpret_cast<const char*>(object.build_id.data()), id_bytes(object));
  return identity;
}

}  // namespace

ModuleNotes::ModuleNotes(wire::LogHeader& log) : log_(log) {}

uint32_t ModuleNotes::add(const LoadedObject& object) {
  std::string identity = identity_of(object);
  for (const Noted& noted : noted_) {
    if (noted.start == object.start && noted.end == object.end && noted.identity == identity) return noted.generation;
  }
  const uint32_t generation = next_generation(object);
  noted_.push_back({object.start, object.end, std::move(identity), generation});
  write(object, generation);
  return generation;
}

uint32_t ModuleNotes::next_generation(const LoadedObject& object) const {
  uint32_t generation = 0;
  for (const Noted& other : noted_) {
    if (object.start < other.end && other.start < object.end && other.generation >= generation) {
      generation = other.generation + 1;
    }
  }
  return generation % kMaxGenerations;
}

void ModuleNotes::write(const LoadedObject& object, uint32_t generation) {
  constexpr size_t kMaxPathBytes = 4095;
  const size_t path_bytes = std::min(object.path.size(), kMaxPathBytes);
  const uint32_t at = log_.modules_bytes.load(std::memory_order_relaxed);
  const size_t bytes = (sizeof(wire::ModuleNote) + path_bytes + 7) & ~size_t{7};
  if (at > log_.modules_capacity || bytes > log_.modules_capacity - at) {
    log_.module_overflow.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  wire::ModuleNote note{};
  note.bias = object.bias;
  note.start = object.start;
  note.end = object.end;
  note.generation = generation;
  note.path_bytes = static_cast<uint16_t>(path_bytes);
  note.flags = object.flags;
  note.build_id_bytes = static_cast<uint8_t>(id_bytes(object));
  std::memcpy(note.build_id, object.build_id.data(), note.build_id_bytes);
  auto* to = reinterpret_cast<uint8_t*>(&log_) + log_.modules_offset + at;
  std::memcpy(to, &note, sizeof(note));
  object.path.copy(reinterpret_cast<char*>(to + sizeof(note)), path_bytes);
  log_.modules_bytes.store(at + static_cast<uint32_t>(bytes), std::memory_order_release);  // pairs with the collector
}

}  // namespace heaptap::tracer
