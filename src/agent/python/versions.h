// Version and layout of a loaded interpreter.
#pragma once
#include <stdint.h>

#include "agent/python/layout.h"
#include "agent/python/objects.h"

namespace heaptap::agent::python {

struct Version {
  uint32_t number;  // as PY_VERSION_HEX; of those before 3.11 the minor version alone, before 3.9 none
  bool has_layout;
  Layout layout;
};

// The offsets that an interpreter publishes at the beginning of its state: words, by their place.
enum PublishedOffset : uint32_t {
  kCookie = 0,
  kVersion = 1,
  kIsFreeThreaded = 2,
  kThreadFrame = 23,
  kFramePrevious = 29,
  kFrameCode = 30,
  kFramePosition = 31,
  kFrameOwner = 33,
  kCodeFile = 35,
  kCodeQualifiedName = 37,
  kCodeLines = 38,
  kCodeFirstLine = 39,
  kCodeInstructions = 43,
  kTextAscii = 70,
};

// False: it publishes none, or has no global lock, so that its objects have other headers.
inline bool read_published(uintptr_t state, uint32_t version, Layout& layout) {
  constexpr uint64_t kMagic = 0x7970677562656478;  // "xdebugpy"
  const auto word = [state](uint32_t place) { return load<uint64_t>(state + sizeof(uint64_t) * place); };
  const auto offset = [&word](uint32_t place) { return static_cast<uint16_t>(word(place)); };
  constexpr unsigned kMinorBits = 16;
  if (state == 0 || word(kCookie) != kMagic || word(kVersion) >> kMinorBits != version >> kMinorBits) return false;
  if (word(kIsFreeThreaded) != 0) return false;
  layout = {.entry_mark = EntryMark::kShim,
            .line_table = LineTable::kLocations,
            .bytes_per_index = 0,
            .has_holder = false,
            .state_frame = offset(kThreadFrame),
            .holder_frame = 0,
            .frame_code = offset(kFrameCode),
            .frame_previous = offset(kFramePrevious),
            .frame_position = offset(kFramePosition),
            .frame_mark = offset(kFrameOwner),
            .code_first_line = offset(kCodeFirstLine),
            .code_file = offset(kCodeFile),
            .code_name = offset(kCodeQualifiedName),
            .code_lines = offset(kCodeLines),
            .code_instructions = offset(kCodeInstructions),
            .text_ascii = offset(kTextAscii),
            .text_other = static_cast<uint16_t>(offset(kTextAscii) + 2 * sizeof(uint64_t))};
  return true;
}

// Whether objects have the usual heads, of 16 bytes: not those of an interpreter without a global lock, or one that links all objects
// (Py_TRACE_REFS). `object_type`: PyBaseObject_Type, whose own size begins behind its head and its name.
inline bool has_usual_heads(uintptr_t object_type) {
  constexpr uintptr_t kBasicSize = 32;
  constexpr uint64_t kHeadBytes = 16;
  return object_type != 0 && load<uint64_t>(object_type + kBasicSize) == kHeadBytes;
}

// `find(name)`: address of what the interpreter exports; 0: it doesn't.
template <typename Find>
Version find_version(const Find& find) {
  constexpr uint32_t kMinorMask = 0xffff0000;
  const uintptr_t number_at = find("Py_Version");  // since 3.11
  if (number_at == 0) {
    if (find("Py_NewRef") != 0) return {0x030a0000, true, k3_10};
    if (find("PyFrame_GetCode") != 0) return {0x03090000, true, k3_9};
    return {0x03000000, false, {}};
  }
  const auto number = static_cast<uint32_t>(load<uint64_t>(number_at));
  Layout published{};
  switch (number & kMinorMask) {
    case 0x030b0000:
      return {number, true, k3_11};
    case 0x030c0000:
      return {number, true, k3_12};
    case 0x030d0000:
      if (read_published(find("_PyRuntime"), number, published)) return {number, true, published};
      return {number, false, {}};
    default:
      return {number, false, {}};
  }
}

}  // namespace heaptap::agent::python
