// Frame table shared by several reports, each frame once, with numeric keys for comparisons.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::query {

// Interned texts: numbers from 1; 0: the empty text.
class TextNumbers {
 public:
  uint32_t operator()(std::string_view text);

 private:
  boost::unordered_flat_map<std::string, uint32_t> numbers_;
};

// Function name without parts that differ between builds of the same source: "[clone .isra.0]", ".part.0", parameters.
std::string_view plain_name(std::string_view function);

struct FrameFacts {
  uint32_t binary = 0;    // of its module's build-id; 0: none
  uint32_t module = 0;    // number of its module's file name
  uint32_t function = 0;  // number of its plain name
  uint32_t file = 0;      // number of its source file's name, without directories
};

using Binaries = boost::unordered_flat_set<uint32_t>;

class FramePool {
 public:
  // Indexes of the report's frames in the pool, in their order.
  std::vector<report::FrameIndex> add(const report::Report& report);
  // Numbers of the build-ids in the report's process.
  Binaries binaries_of(const report::Report& report);

  [[nodiscard]] const model::Frame& frame(report::FrameIndex index) const { return frames_[index]; }
  [[nodiscard]] const FrameFacts& facts(report::FrameIndex index) const { return facts_[index]; }
  uint32_t number_of(std::string_view text) { return texts_(text); }
  std::vector<model::Frame> take() { return std::move(frames_); }

 private:
  TextNumbers texts_;
  std::vector<model::Frame> frames_;
  std::vector<FrameFacts> facts_;
  boost::unordered_flat_map<std::string, report::FrameIndex> places_;
};

}  // namespace heaptap::query
