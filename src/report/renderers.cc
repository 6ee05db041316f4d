#include <algorithm>
#include <array>

#include "report/render.h"

namespace heaptap::report {
namespace {

constexpr std::array kRenderers{Renderer{"text", render_text}, Renderer{"json", render_json}};

}  // namespace

const Renderer* find_renderer(std::string_view name) {
  const auto* renderer = std::ranges::find(kRenderers, name, &Renderer::name);
  return renderer != kRenderers.end() ? renderer : nullptr;
}

}  // namespace heaptap::report
