// ANSI colour modes: the values of --color.
#pragma once

namespace heaptap::app {

enum class ColorMode { kAuto, kAlways, kNever };

}  // namespace heaptap::app
