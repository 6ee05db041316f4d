// Sequential scan of .eh_frame or .debug_frame, for tables without a search table. Trusts no byte.
#pragma once
#include <stdint.h>

#include "common/unwind/cfi.h"

namespace heaptap::unwind {

// Calls visit(begin, end, fde) for each FDE from `address` to the end of the tables: its code range, and its own address.
template <typename Cpu, typename Form, typename Visit>
void for_each_fde(const CfiTables& tables, uint64_t address, const Visit& visit) {
  cfi::Cie cie;
  uint64_t cie_address = 0;
  bool cie_known = false;
  for (;;) {
    ByteReader reader = tables.reader_at(address);
    if (reader.left() < sizeof(uint32_t)) return;
    uint64_t length = reader.fixed<uint32_t>();
    if (length == 0xffffffff) length = reader.fixed<uint64_t>();
    if (!reader.ok() || length > reader.left()) return;
    const uint64_t entry = address;
    const uint64_t id_address = reader.address();
    address = id_address + length;
    if (length < sizeof(uint32_t)) continue;  // a terminator: other tables may follow
    reader.limit(length);
    const auto id = reader.fixed<uint32_t>();
    if (id == Form::kCieId) continue;
    const uint64_t wanted = Form::cie_of(tables, id_address, id);
    if (!cie_known || wanted != cie_address) {
      cie = cfi::Cie();
      cie_address = wanted;
      cie_known = cfi::parse_cie<Cpu, Form>(tables, wanted, cie);
    }
    if (!cie_known) continue;
    const auto begin =
        static_cast<typename Cpu::Word>(reader.pointer(cie.pointer_encoding & 0x7f, 0, sizeof(typename Cpu::Word)));
    const uint64_t range = reader.pointer(cie.pointer_encoding & kPointerFormat, 0, sizeof(typename Cpu::Word));
    // A function discarded by the linker has a start of 0.
    if (reader.ok() && begin != 0 && range != 0 && begin + range > begin) visit(begin, begin + range, entry);
  }
}

}  // namespace heaptap::unwind
