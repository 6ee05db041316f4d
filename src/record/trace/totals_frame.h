// Payload of a totals frame: all totals at one time. Writer and reader.
#pragma once
#include "common/frames/byte_buffer.h"
#include "common/model/tables.h"
#include "common/model/totals.h"
#include "common/wire/varint.h"

namespace heaptap::trace {

void write_totals(frames::ByteBuffer& out, const model::Totals& totals);

// False: damaged; `totals` is unusable then.
bool read_totals(wire::VarintReader& in, const model::Tables& tables, model::Totals& totals);

}  // namespace heaptap::trace
