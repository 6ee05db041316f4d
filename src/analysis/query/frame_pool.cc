#include "analysis/query/frame_pool.h"

#include <fmt/format.h>

#include "analysis/findings/function_name.h"

namespace heaptap::query {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Key of a frame. A name with a line break may be confused with two names, which only merges two frames.
std::string key_of(const model::Frame& frame, const std::string& build_id) {
  return fmt::format("{}\n{}\n{:x}\n{:x}\n{}\n{}\n{}\n{}", build_id, frame.module, frame.offset,
                     frame.module.empty() ? frame.address : 0, frame.function, frame.file, frame.line, frame.inlined);
}

}  // namespace

uint32_t TextNumbers::operator()(std::string_view text) {
  if (text.empty()) return 0;
  return numbers_.try_emplace(std::string(text), static_cast<uint32_t>(numbers_.size() + 1)).first->second;
}

std::string_view plain_name(std::string_view function) {
  if (const size_t clone = function.find(" [clone "); clone != std::string_view::npos)
    function = function.substr(0, clone);
  for (const std::string_view suffix : {".constprop.", ".isra.", ".part.", ".cold", ".lto_priv."}) {
    if (const size_t place = function.find(suffix); place != std::string_view::npos && place != 0) {
      function = function.substr(0, place);
    }
  }
  // Debug information may lack the parameters of an inlined function.
  const std::string_view qualified = findings::qualified_name(function);
  return qualified.empty() ? function : qualified;
}

std::vector<report::NodeIndex> FramePool::add(const report::Report& report) {
  boost::unordered_flat_map<std::string_view, std::string_view> build_ids;
  for (const report::ModuleEntry& module : report.modules) build_ids.emplace(module.path, module.build_id);
  std::vector<report::FrameIndex> places;
  places.reserve(report.frames.size());
  for (const model::Frame& frame : report.frames) {
    const auto found = build_ids.find(frame.module);
    const std::string build_id(found == build_ids.end() ? "" : found->second);
    const auto [place, is_new] =
        places_.try_emplace(key_of(frame, build_id), static_cast<report::FrameIndex>(frames_.size()));
    places.push_back(place->second);
    if (!is_new) continue;
    frames_.push_back(frame);
    facts_.push_back({.binary = texts_(build_id),
                      .module = texts_(base_name(frame.module)),
                      .function = texts_(plain_name(frame.function)),
                      .file = texts_(base_name(frame.file))});
  }
  return nodes_.add(report.frames.trie(), places);
}

Binaries FramePool::binaries_of(const report::Report& report) {
  Binaries binaries;
  for (const report::ModuleEntry& module : report.modules) {
    if (!module.build_id.empty()) binaries.insert(texts_(module.build_id));
  }
  return binaries;
}

}  // namespace heaptap::query
