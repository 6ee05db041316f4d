#include "analysis/query/window.h"

#include <algorithm>
#include <string>

#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "common/base/whole_number.h"

namespace heaptap::query {
namespace {

using base::ErrorKind;

constexpr std::string_view kPeak = "peak";

Moment moment_at(const model::Mark& mark) {
  return {.time_ns = mark.time_ns, .event = mark.events_before, .is_earlier = mark.kind == model::MarkKind::kEarlier};
}

// The existing marks, as many as fit on a line.
std::string names_of(const std::vector<model::Mark>& marks) {
  constexpr size_t kMaxNames = 10;
  std::vector<std::string_view> names;
  for (const model::Mark& mark : marks) {
    if (std::ranges::find(names, mark.name) == names.end()) names.push_back(mark.name);
  }
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMaxNames); ++i) {
    text += (i == 0 ? "" : ", ") + base::safe_text(std::string(names[i]));
  }
  return text + (names.size() > kMaxNames ? ", ..." : "");
}

std::unexpected<base::Error> no_moment(std::string_view text, const std::vector<model::Mark>& marks) {
  if (marks.empty()) {
    return base::fail_as(ErrorKind::kUsage,
                         "'{}' is not a time of the recording, and it has no marks: give a time such as 250ms or 1.5s, "
                         "start or end; `heaptap mark PID NAME` sets marks",
                         text);
  }
  return base::fail_as(
      ErrorKind::kUsage,
      "'{}' is not a time of the recording, nor a mark: give a time such as 250ms or 1.5s, start or end, "
      "or a mark: {}",
      text, names_of(marks));
}

base::Result<Moment> mark_of_number(std::string_view text, const std::vector<model::Mark>& marks) {
  const auto number = base::whole_number<uint64_t>(text.substr(1));
  const auto found = std::ranges::find(marks, number.value_or(0), &model::Mark::number);
  if (found == marks.end()) return no_moment(text, marks);
  return moment_at(*found);
}

// A name may contain colons.
base::Result<Moment> nth_mark(std::string_view text, const std::vector<model::Mark>& marks) {
  const size_t colon = text.rfind(':');
  const auto nth =
      colon == std::string_view::npos ? std::nullopt : base::whole_number<uint64_t>(text.substr(colon + 1));
  if (!nth) return no_moment(text, marks);
  const std::string_view name = text.substr(0, colon);
  uint64_t count = 0;
  for (const model::Mark& mark : marks) {
    if (mark.name == name && ++count == *nth) return moment_at(mark);
  }
  if (count == 0) return no_moment(text, marks);
  return base::fail_as(ErrorKind::kUsage, "'{}': the recording has {} mark{} of that name", text, count,
                       count == 1 ? "" : "s");
}

}  // namespace

base::Result<Moment> moment_of(std::string_view text, const std::vector<model::Mark>& marks) {
  if (text == "start") return Moment{};
  if (text == "end") return Moment{.time_ns = kEndNs, .event = {}};
  if (const auto time = base::parse_duration(std::string(text))) return Moment{.time_ns = *time, .event = {}};
  const auto last =
      std::find_if(marks.rbegin(), marks.rend(), [&](const model::Mark& mark) { return mark.name == text; });
  if (last != marks.rend()) return moment_at(*last);
  return text.starts_with('#') ? mark_of_number(text, marks) : nth_mark(text, marks);
}

bool is_peak(std::string_view text, const std::vector<model::Mark>& marks) {
  return text == kPeak && std::ranges::find(marks, text, &model::Mark::name) == marks.end();
}

base::Result<Span> resolve_window(const Window& window, const std::vector<model::Mark>& marks,
                                  const std::optional<Moment>& peak) {
  const auto find = [&](const std::string& text) -> base::Result<Moment> {
    if (peak && is_peak(text, marks)) return *peak;
    return moment_of(text, marks);
  };
  Span span = window.span;
  if (!window.from.empty()) {
    const auto moment = find(window.from);
    if (!moment) return base::fail_as(moment.error().kind, "--from: {}", moment.error().message);
    span.first = *moment;
  }
  if (!window.to.empty()) {
    const auto moment = find(window.to);
    if (!moment) return base::fail_as(moment.error().kind, "--to: {}", moment.error().message);
    span.last = *moment;
  }
  const bool both_exact = span.first.event && span.last.event;
  if (span.first.time_ns > span.last.time_ns || (both_exact && *span.first.event > *span.last.event)) {
    return base::fail_as(ErrorKind::kUsage, "--from {} is later than --to {}", window.from, window.to);
  }
  return span;
}

}  // namespace heaptap::query
