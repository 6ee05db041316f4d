#include "capture/tracer/function_starts.h"

#include "common/arch/cpu.h"
#include "common/arch/walked_cpus.h"
#include "common/unwind/cpu_facts.h"
#include "common/unwind/row.h"

namespace heaptap::tracer {
namespace {

// At a function's first instruction the return address is where the call put it.
template <typename Rules>
constexpr unwind::Row row_of_entry() {
  using unwind::Row;
  using unwind::RowKind;
  return unwind::kHasLinkRegister<Rules> ? Row(RowKind::kStackLeaf, 0, 0, 0) : Row(RowKind::kStackOffset, -1, 0, 1);
}

unsigned word_bytes_of(wire::Architecture architecture) {
  const arch::Cpu* const cpu = arch::cpu_of(architecture);
  return cpu != nullptr ? cpu->word_bytes() : sizeof(uint64_t);
}

}  // namespace

FunctionStarts::FunctionStarts(const base::ByteSource& memory, wire::Architecture architecture,
                               const LoadedObject& object)
    : architecture_(architecture) {
  const elf::FrameTablePlaces places{.range = {object.start, object.end},
                                     .header = object.unwind_header,
                                     .table = object.unwind_table,
                                     .table_bytes = object.unwind_table_bytes,
                                     .word_bytes = word_bytes_of(architecture),
                                     .bias = object.bias};
  tables_ = std::make_unique<elf::FrameTables>(places, memory);
}

base::AddressRange FunctionStarts::function_from(uint64_t address) {
  base::AddressRange found;
  arch::visit_walked_cpu(architecture_, [&]<typename Cpu>(const Cpu&) {
    using Rules = typename Cpu::Rules;
    const base::AddressRange range = tables_->function_at<Rules>(address);
    if (range.begin == address && tables_->row_for<Rules>(address) == row_of_entry<Rules>()) found = range;
  });
  return found;
}

}  // namespace heaptap::tracer
