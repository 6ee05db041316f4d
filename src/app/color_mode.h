// --color: where output has colours.
#pragma once

namespace heaptap::app {

enum class ColorMode { kAuto, kAlways, kNever };

}  // namespace heaptap::app
