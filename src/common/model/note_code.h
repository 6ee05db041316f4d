// Binary encoding of notes: in the fields and scans of a trace, and in the tracer's packets. Described in docs/wire.md.
//
//   kind │ count of numbers, the numbers │ module: length, text │ name: length, text │ … additions of a later version
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "common/base/byte_span.h"
#include "common/model/note.h"
#include "common/wire/varint.h"

namespace heaptap::model {

inline std::string encode(const Note& note) {
  std::string bytes;
  const auto put = [&](uint64_t number) {
    uint8_t coded[wire::kMaxVarintBytes];
    bytes.append(reinterpret_cast<const char*>(coded), static_cast<size_t>(wire::write_varint(coded, number) - coded));
  };
  put(static_cast<uint32_t>(note.kind));
  put(note.numbers.size());
  for (const uint64_t number : note.numbers) put(number);
  for (const std::string* text : {&note.module, &note.name}) {
    put(text->size());
    bytes += *text;
  }
  return bytes;
}

// None: no valid note. Unknown kinds are accepted.
inline std::optional<Note> decode_note(std::string_view bytes) {
  wire::VarintReader in(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  Note note;
  const uint64_t kind = in.varint();
  const uint64_t count = in.varint();
  if (kind > UINT32_MAX || count > in.left()) return std::nullopt;
  note.kind = static_cast<NoteKind>(kind);
  for (uint64_t i = 0; i < count; ++i) note.numbers.push_back(in.varint());
  for (std::string* text : {&note.module, &note.name}) {
    *text = base::text_of(in.sized_bytes());
  }
  if (!in.ok()) return std::nullopt;
  return note;
}

}  // namespace heaptap::model
