#include <algorithm>
#include <array>

#include "analysis/report/render.h"

namespace heaptap::report {
namespace {

constexpr std::array kRenderers{Renderer{"text", write_text}, Renderer{"json", write_json},
                                Renderer{"ndjson", write_ndjson}};

}  // namespace

const Renderer* find_renderer(std::string_view name) {
  const auto* renderer = std::ranges::find(kRenderers, name, &Renderer::name);
  return renderer != kRenderers.end() ? renderer : nullptr;
}

}  // namespace heaptap::report
