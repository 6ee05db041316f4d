// Payload of a totals frame: all totals at one time. Writer and reader.
#pragma once
#include "model/tables.h"
#include "model/totals.h"
#include "trace/byte_buffer.h"
#include "wire/varint.h"

namespace heaptap::trace {

void write_totals(ByteBuffer& out, const model::Totals& totals);

// False: damaged; `totals` is unusable then.
bool read_totals(wire::VarintReader& in, const model::Tables& tables, model::Totals& totals);

}  // namespace heaptap::trace
