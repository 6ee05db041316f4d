#include "views/push/labels.h"

#include <algorithm>

#include "common/base/safe_text.h"
#include "common/base/small_file.h"

namespace heaptap::push {
namespace {

bool is_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

void set(Labels& labels, const Label& label) {
  const auto found = std::ranges::find(labels, label.first, &Label::first);
  if (found == labels.end()) {
    labels.push_back(label);
  } else {
    found->second = label.second;
  }
}

}  // namespace

base::Result<Label> parse_label(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals == text.npos || equals + 1 == text.size() || !is_name(name)) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "'{}' isn't KEY=VALUE with a key of letters, digits and underscores, such as env=staging",
                         base::safe_text(text));
  }
  if (name.starts_with("__")) {
    return base::fail_as(base::ErrorKind::kUsage, "'{}': names that begin with __ belong to the servers", name);
  }
  return Label(name, base::safe_text(text.substr(equals + 1)));
}

Labels labels_of(const model::Capture& capture, std::string_view program, const Labels& given) {
  const std::string_view name = base::file_name_of(program);
  Labels labels{{"service_name", name.empty() ? "unknown" : base::safe_text(name)},
                {"hostname", base::safe_text(capture.host_name)},
                {"pid", std::to_string(capture.pid)}};
  for (const Label& label : given) set(labels, label);
  std::erase_if(labels, [](const Label& label) { return label.second.empty(); });
  return labels;
}

}  // namespace heaptap::push
