// Labels of a series of profiles, by which a server tells programs apart.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/model/capture.h"

namespace heaptap::push {

using Label = std::pair<std::string, std::string>;  // name, value
using Labels = std::vector<Label>;                  // each name once

// "KEY=VALUE"; a key is made of letters, digits and underscores, as the servers want it.
base::Result<Label> parse_label(std::string_view text);

// Name of the service (the program's), host and pid; those given replace and follow them.
Labels labels_of(const model::Capture& capture, std::string_view program, const Labels& given);

}  // namespace heaptap::push
