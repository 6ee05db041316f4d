#include "analysis/findings/site_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "analysis/findings/label_text.h"
#include "analysis/findings/mapped_text.h"
#include "analysis/findings/words.h"
#include "analysis/report/stack_sums.h"

namespace heaptap::findings {
namespace {

// "(3 stacks: #7 #9 #12)"; empty for a single one.
std::string others_text(const SiteRow& row) {
  if (row.ids.size() == 1) return "";
  constexpr size_t kMaxListed = 4;
  std::string text = fmt::format("({} stacks:", row.ids.size());
  for (size_t i = 0; i < std::min(row.ids.size(), kMaxListed); ++i) text += fmt::format(" #{}", row.ids[i]);
  return text + (row.ids.size() > kMaxListed ? " ...)" : ")");
}

// Sort key of a row; 0 for keys without a sum.
uint64_t weight_of(const report::StackEntry& sum, std::string_view sort_key) {
  if (sort_key == "usage") return sum.own_live_bytes().counted();
  if (sort_key == "growth" && sum.growth) return static_cast<uint64_t>(sum.growth->bytes) ^ uint64_t { 1 } << 63;
  if (sort_key == "growth") return sum.own_live_bytes().counted();
  if (sort_key == "total") return sum.own_allocated_bytes().counted();
  if (sort_key == "allocations") return sum.allocations.counted();
  if (sort_key == "peak") return sum.own_peak_bytes().counted();
  if (sort_key == "temporary") return sum.temporary_allocations.counted();
  if (sort_key == "time") return sum.lifetime_ns.counted();
  if (sort_key == "mismatched" || sort_key == "bad-frees") return sum.mismatched_releases.counted();
  return 0;
}

constexpr size_t kLeastRoom = 24;  // of a site

}  // namespace

std::vector<SiteRow> merge_sites(const FrameText& text, const report::FrameTable& frames,
                                 std::span<const report::StackEntry> stacks, std::string_view sort_key) {
  using Key = std::tuple<std::string, std::string, std::string, report::Purpose, std::vector<std::string>, std::string>;
  std::map<Key, size_t> known;
  std::vector<SiteRow> rows;
  for (const report::StackEntry& stack : stacks) {
    const std::string site = text.describe_site(frames.list(stack.frames));
    const auto [place, is_new] = known.try_emplace(
        Key{stack.function, stack.variant, site, stack.purpose, stack.rare->tags, stack.rare->pool}, rows.size());
    if (is_new) {
      rows.push_back({stack, {}});
    } else {
      report::add_figures(rows[place->second].sum, stack);
    }
    rows[place->second].ids.push_back(stack.id);
  }
  std::ranges::stable_sort(rows, std::greater<>(), [&](const SiteRow& row) { return weight_of(row.sum, sort_key); });
  return rows;
}

std::string ids_text(const SiteRow& row) {
  const std::string others = others_text(row);
  return fmt::format("#{}{}{}", row.ids.front(), others.empty() ? "" : " ", others);
}

std::string site_line(const FrameText& text, const report::FrameTable& frames, const SiteRow& row, size_t width) {
  const std::string begin = fmt::format("#{}  ", row.ids.front());
  const std::string others = others_text(row);
  const std::string labels = mapped_behind(row.sum) + labels_behind(row.sum);
  const std::string end = (others.empty() ? "" : "  " + others) + labels;
  // The pool is created before the program starts: none of its frames is informative.
  if (row.sum.purpose == report::Purpose::kEmergencyPool) return begin + words_of(row.sum.purpose) + end;
  const report::FrameList stack = frames.list(row.sum.frames);
  const auto site_beside = [&](const std::string& rest) {
    const size_t taken = begin.size() + rest.size();
    return text.describe_site(stack, width == 0 ? 0 : std::max(kLeastRoom, width - std::min(width, taken)));
  };
  const std::string site = site_beside(end);
  const std::string whole = text.describe_site(stack);
  const bool is_cut = !site.starts_with(std::string_view(whole).substr(0, whole.find(" < ")));
  if (others.empty() || !is_cut) return begin + site + end;
  // The numbers of the other stacks make room for the function's name.
  const std::string count = fmt::format("  ({} stacks)", row.ids.size()) + labels;
  return begin + site_beside(count) + count;
}

}  // namespace heaptap::findings
