// Verdict of `heaptap check` as text.
#pragma once
#include <string>

#include "analysis/findings/verdict.h"
#include "views/text/render_text.h"

namespace heaptap::text {

std::string render_verdict(const findings::Verdict& verdict, const RenderOptions& options);

}  // namespace heaptap::text
