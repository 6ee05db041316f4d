// Comparison of a trace's scans: `show leaks --scans`, `--since`.
#include <algorithm>
#include <map>

#include "analysis/leaks/scan_difference.h"
#include "analysis/query/view_context.h"

namespace heaptap::query {
namespace {

base::Result<std::unique_ptr<JudgedLeaks>> judge(const ViewContext& context, uint32_t number) {
  ResolvedQuery query = context.query;
  query.scan = number;
  ScanAhead scan(context.source, query);
  return judge_leaks(context.source, query, context.names, context.ignored, context.ledger, scan);
}

class Changes {
 public:
  explicit Changes(const ViewContext& context) : context_(context) {}

  void add_lost(const JudgedLeaks& judged, const std::vector<uint32_t>& blocks,
                report::BlockCount report::LossChange::* which) {
    std::vector<bool> is_shown(judged.scan.blocks.size());
    for (const uint32_t block : blocks) {
      is_shown[block] = !judged.counts.is_hidden(block) && judged.counts.is_counted(block);
    }
    for (const uint32_t block : blocks) {
      if (!is_shown[block]) continue;
      const model::ScannedBlock& lost = judged.scan.blocks[block];
      (stacks_[context_.index.id_of(lost.site)].*which).add_block(lost.size_bytes);
      // A block of a pool has no bytes besides those of the block that contains it.
      const uint32_t memory = memory_of(judged.scan, block);
      if (memory == model::kNoBlock || !is_shown[memory]) (total_.*which).add_block(lost.size_bytes);
    }
  }

  void fill(report::ScanChanges& made) {
    made.total = total_;
    made.stack_count = stacks_.size();
    std::vector<std::pair<uint64_t, report::LossChange>> sorted(stacks_.begin(), stacks_.end());
    // New losses are the most informative.
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      const auto weight = [](const report::LossChange& change) {
        return std::tuple(change.appeared().bytes, change.allocated.bytes, change.remained.bytes, change.gone.bytes);
      };
      return weight(a.second) > weight(b.second);
    });
    sorted.resize(listed(context_.query, sorted.size()));
    for (const auto& [id, change] : sorted) {
      report::ChangedStack& stack = made.stacks.emplace_back();
      stack.id = id;
      stack.change = change;
      if (id != 0) name(stack);
    }
  }

 private:
  void name(report::ChangedStack& stack) {
    const model::Site& site = context_.source.tables().sites[context_.index.first_site(stack.id)];
    const wire::FunctionFacts& function = wire::facts_of(site.function);
    stack.function = function.name;
    stack.variant = function.variant;
    stack.frames =
        context_.names.list_frames(context_.source.tables(), site.stack, context_.query.asked.listing.frames.count());
  }

  const ViewContext& context_;
  report::LossChange total_;
  std::map<uint64_t, report::LossChange> stacks_;  // by id
};

}  // namespace

base::Result<std::vector<report::ScanEntry>> scan_list_view(const ViewContext& context) {
  std::vector<report::ScanEntry> made;
  for (const model::ScanSummary& summary : context.source.scans()) {
    const auto judged = judge(context, summary.facts.number);
    if (!judged) return std::unexpected(judged.error());
    report::Leaks counts;
    (*judged)->counts.fill(counts);
    made.push_back({facts_of(summary), counts.definite, counts.indirect, counts.possible, counts.reachable,
                    counts.suppressed, counts.ignored});
  }
  return made;
}

base::Result<report::ScanChanges> scan_changes_view(const ViewContext& context) {
  const JudgedLeaks& later = context.judged;
  if (context.query.asked.leaks.since >= later.scan.number) {
    return base::fail_as(base::ErrorKind::kUsage,
                         "--since {}: scan {} isn't later; --scans lists the scans, --scan M chooses a later one",
                         context.query.asked.leaks.since, later.scan.number);
  }
  const auto earlier = judge(context, context.query.asked.leaks.since);
  if (!earlier) return std::unexpected(earlier.error());
  const leaks::ScanDifference difference =
      leaks::compare_scans({(*earlier)->scan, (*earlier)->counts.classes()}, {later.scan, later.counts.classes()});
  Changes changes(context);
  changes.add_lost(later, difference.allocated, &report::LossChange::allocated);
  changes.add_lost(later, difference.older, &report::LossChange::older);
  changes.add_lost(later, difference.remained, &report::LossChange::remained);
  changes.add_lost(**earlier, difference.gone, &report::LossChange::gone);
  report::ScanChanges made;
  made.from = facts_of((*earlier)->summary);
  made.to = facts_of(later.summary);
  changes.fill(made);
  return made;
}

}  // namespace heaptap::query
