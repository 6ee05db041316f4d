// Serialization of a crash between two machines. Writer and reader; byte by byte in docs/wire.md.
#pragma once
#include <optional>

#include "common/frames/byte_buffer.h"
#include "common/model/crash.h"
#include "common/wire/varint.h"

namespace heaptap::frames {

void write_crash(ByteBuffer& out, const model::Crash& crash);
// None: damaged.
std::optional<model::Crash> read_crash(wire::VarintReader& in);

}  // namespace heaptap::frames
