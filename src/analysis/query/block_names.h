// Names of a leak scan's blocks and roots.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/query/leak_counts.h"
#include "analysis/query/stack_index.h"
#include "analysis/query/stack_names.h"
#include "analysis/report/leak_views.h"
#include "common/model/capture.h"
#include "common/model/heap_scan.h"
#include "common/model/mark.h"
#include "common/model/tables.h"

namespace heaptap::query {

std::string_view name_of(leaks::BlockState state);
std::string_view name_of(wire::PointerKind kind);

class BlockNames {
 public:
  // `given`: names given by the program; of several for a block the last one counts.
  BlockNames(const model::Capture& capture, const model::Tables& tables, const std::vector<model::BlockName>& given,
             const StackIndex& index, StackNames& names)
      : capture_(capture), tables_(tables), index_(index), names_(names) {
    for (const model::BlockName& name : given) given_[name.block] = name.name;
  }

  report::NamedBlock block(const model::HeapScan& scan, const LeakCounts& counts, uint32_t index);
  report::NamedRoot root(const model::RootPointer& root);
  // Class of a block that starts with a vtable, else its container's type; empty if neither is known.
  std::string type_of(const model::ScannedBlock& block);
  // Telling frame of a site's stack.
  model::Frame caller_of(model::SiteId site);

 private:
  [[nodiscard]] const model::Module* module_at(uint64_t address) const;
  const std::string& class_at(uint64_t vtable);
  const std::string& container_of(model::SiteId site);
  void name_variable(report::NamedRoot& named, const model::RootPointer& root);
  model::Frame frame_of(uint64_t entry);

  const model::Capture& capture_;
  const model::Tables& tables_;
  const StackIndex& index_;
  StackNames& names_;
  boost::unordered_flat_map<model::BlockNumber, std::string> given_;
  boost::unordered_flat_map<uint64_t, std::string> classes_;  // by vtable
  boost::unordered_flat_map<model::SiteId, std::string> containers_;
};

}  // namespace heaptap::query
