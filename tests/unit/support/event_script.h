// Builder of event batches in a trace's form, without a trace.
#pragma once
#include <map>
#include <vector>

#include "common/model/event.h"
#include "common/model/tables.h"
#include "common/wire/log.h"
#include "common/wire/mapping.h"

namespace heaptap::test {

class EventScript {
 public:
  EventScript() { tables.stacks.resize(wire::kRootCount); }

  model::Tables tables;
  model::EventBatch batch;

  model::SiteId site(model::EventKind kind, wire::Function function, model::StackId stack = 0) {
    for (model::SiteId id = 0; id < tables.sites.size(); ++id) {
      const model::Site& known = tables.sites[id];
      if (known.kind == kind && known.function == function && known.stack == stack) return id;
    }
    tables.sites.push_back({kind, function, stack});
    return static_cast<model::SiteId>(tables.sites.size() - 1);
  }

  // A stack of the given code addresses, innermost first.
  model::StackId stack(const std::vector<uint64_t>& addresses, wire::StackEnd end = wire::StackEnd::kComplete) {
    auto id = static_cast<model::StackId>(end);
    for (auto address = addresses.rbegin(); address != addresses.rend(); ++address) {
      tables.codes.push_back({*address, 0, false});
      tables.stacks.push_back({id, static_cast<model::CodeId>(tables.codes.size() - 1)});
      id = static_cast<model::StackId>(tables.stacks.size() - 1);
    }
    return id;
  }

  void at(uint64_t time_ns) { batch.time_marks.push_back({count(), time_ns}); }

  model::BlockNumber allocate(uint64_t size, uint32_t thread = 1, wire::Function function = wire::Function::kMalloc,
                              model::StackId stack_id = 0) {
    add(model::EventKind::kAllocate, function, stack_id, thread, size, 0x10000 * (last_block + 1));
    return ++last_block;
  }
  void release(model::BlockNumber block, uint32_t thread = 1, wire::Function function = wire::Function::kFree,
               model::StackId stack_id = 0) {
    add(model::EventKind::kRelease, function, stack_id, thread, block, 0);
  }
  void bad_release(model::BadReleaseKind kind, uint64_t address, uint32_t thread = 1,
                   wire::Function function = wire::Function::kFree) {
    batch.bad_releases.push_back({count(), kind, address, 0, 0, 0, false});
    release(model::kUnknownBlock, thread, function);
  }
  void undo(uint32_t thread = 1) { add(model::EventKind::kUndo, wire::Function::kRealloc, 0, thread, 0, 0); }
  void map(uint64_t address, uint64_t size, uint32_t thread = 1, wire::Function function = wire::Function::kMmap) {
    add(model::EventKind::kMap, function, 0, thread, size, address);
  }
  void map(uint64_t address, uint64_t size, wire::MappedMemory memory,
           wire::Function function = wire::Function::kMmap) {
    add(model::EventKind::kMap, function, 0, 1, wire::make_mapped(size, memory), address);
  }
  void protect(uint64_t address, uint64_t size, wire::MappedAccess access) {
    add(model::EventKind::kProtect, wire::Function::kMprotect, 0, 1, wire::make_mapped(size, {.access = access}),
        address);
  }
  void unmap(uint64_t address, uint64_t size, uint32_t thread = 1) {
    add(model::EventKind::kUnmap, wire::Function::kMunmap, 0, thread, size, address);
  }

  // Returns the events so far as a batch; the next batch continues from there.
  model::EventBatch take() {
    model::EventBatch taken = std::move(batch);
    batch = {};
    batch.first_block = last_block + 1;
    return taken;
  }

  model::BlockNumber last_block = 0;

 private:
  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(batch.events.size()); }

  void add(model::EventKind kind, wire::Function function, model::StackId stack_id, uint32_t thread, uint64_t value,
           uint64_t address) {
    batch.events.push_back({site(kind, function, stack_id), thread, value, address});
  }
};

}  // namespace heaptap::test
