#include "capture/tracer/module_list.h"

#include <algorithm>
#include <utility>

namespace heaptap::tracer {
namespace {

std::string identity_of(const LoadedObject& object) {
  const size_t id_bytes = std::min<size_t>(object.build_id_bytes, object.build_id.size());
  std::string identity = object.path + '\0';
  identity.append(reinterpret_cast<const char*>(object.build_id.data()), id_bytes);
  return identity;
}

}  // namespace

uint32_t ModuleList::add(const LoadedObject& object) {
  std::string identity = identity_of(object);
  for (const Noted& noted : noted_) {
    if (noted.start == object.start && noted.end == object.end && noted.identity == identity) return noted.generation;
  }
  const uint32_t generation = wire::next_generation(noted_.data(), noted_.size(), object.start, object.end);
  noted_.push_back({object.start, object.end, std::move(identity), generation});
  wire::ModuleNote note{};
  note.bias = object.bias;
  note.start = object.start;
  note.end = object.end;
  note.generation = generation;
  note.flags = object.flags;
  wire::set_build_id(note, object.build_id.data(), object.build_id_bytes);
  notes_.add(note, object.path.c_str(), object.path.size());
  return generation;
}

}  // namespace heaptap::tracer
