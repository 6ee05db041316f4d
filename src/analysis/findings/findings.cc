#include "analysis/findings/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/frame_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/mapped_text.h"
#include "analysis/findings/note_text.h"
#include "analysis/findings/outcome.h"
#include "analysis/findings/resident_text.h"
#include "analysis/findings/sampling_text.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/findings/telling_frames.h"
#include "analysis/findings/text_safe.h"
#include "analysis/findings/tracer_pauses.h"
#include "analysis/report/focus.h"
#include "analysis/report/growth.h"
#include "analysis/report/leak_weight.h"
#include "analysis/report/process_sums.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::findings {
namespace {

constexpr size_t kMaxStacks = 8;
constexpr size_t kMaxErrors = 8;

// "in make_buffer (leak.cc:11)", "at as+0x54ac9" where the function has no name.
template <typename Frames>  // a path, or a list
std::string place_sentence(const report::Report& report, const Frames& frames) {
  const model::Frame* const frame = telling_frame(report.list(frames), report.skipped);
  if (frame == nullptr) return "at an unknown place";
  if (frame->function.empty()) return base::safe_text("at " + location_of(*frame));
  return base::safe_text(fmt::format("in {} ({})", function_of(*frame, kNameWidth), location_of(*frame)));
}

// "3,412 blocks, 1.2 MiB"
std::string amount_text(const report::BlockCount& count) {
  return counted(count.blocks, "block") + ", " + base::format_bytes(count.bytes);
}

// Whether live bytes of a stack grew through the whole run; false without counts by interval.
bool grows(const report::Report& report, uint32_t stack) {
  if (!report.activity) return false;
  std::vector<uint64_t> live(report.activity->bin_count);  // at the end of each interval
  bool is_there = false;
  for (const report::ActivityCell& cell : report.activity->cells) {
    if (cell.stack != stack) continue;
    is_there = true;
    live[cell.bin] += cell.allocated_bytes - cell.released_bytes;
  }
  if (!is_there) return false;
  for (size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
  return report::grows_to_the_end(live);
}

class Findings {
 public:
  explicit Findings(const report::Report& report) : report_(report) {}

  std::vector<Finding> make() {
    ending();
    endings_of_others();
    const bool come_first = report::leaks_lead(report_.totals, report_.leaks) || !report::leaks_at_all(report_.leaks);
    if (come_first) all_leaks();
    const std::vector<Site> still_reachable = reachable_sites();
    growth(still_reachable);
    bad_releases();
    for (const std::string& fault : program_faults(report_.leaks.scan.notes))
      add(Severity::kWarning, FindingKind::kLeak, fault + ".");
    peak();
    mapped();
    reachable(still_reachable);
    if (!come_first) all_leaks();
    unseen();
    return std::move(list_);
  }

 private:
  void add(Severity severity, FindingKind kind, std::string text, std::optional<uint32_t> stack = {}) {
    list_.push_back({severity, kind, std::move(text), stack});
  }

  void ending() {
    const model::Capture& capture = report_.capture;
    const std::string after = capture.ended ? " after " + moment_text(capture, capture.duration_ns) : "";
    const bool is_bad = capture.exit.signal.has_value() || (capture.truncated && !capture.running);
    add(is_bad ? Severity::kBad : Severity::kInfo, FindingKind::kEnding,
        fmt::format("{} {}{}{}.", command_of(capture), ending_text(capture), crash_text(report_.crash), after));
  }

  // " in parse json.cc:41 < main app.cc:7"
  [[nodiscard]] std::string crash_text(const std::optional<report::Crash>& crash) const {
    if (!crash) return "";
    return " in " + FrameText(report_.frames, report_.skipped, {}).describe_crash(report_.list(crash->frames));
  }

  void peak() {
    const report::Totals& totals = report_.totals;
    std::string text;
    if (const auto allocations = totals.allocations.if_known()) text = counted(*allocations, "allocation");
    if (const auto bytes = totals.peak_live_bytes.if_known()) {
      text += fmt::format("{}at most {} live{}", text.empty() ? "" : ", ", base::format_bytes(*bytes),
                          bytes_error_text(totals.peak_error_bytes));
      if (is_peak_placed(report_))
        text += " (after " + moment_text(report_.capture, totals.peak_time_ns.counted()) + ")";
    }
    if (const auto bytes = totals.live_bytes.if_known())
      text += fmt::format("{}{} live at the end", text.empty() ? "" : ", ", base::format_bytes(*bytes));
    if (const std::string process = peak_process_text(report_);
        !process.empty() && !totals.peak_live_bytes.is_known()) {
      text += fmt::format(", at most {} live in one process, {}",
                          base::format_bytes(report::peak_of(report_).counted()), process);
    }
    if (!text.empty()) add(Severity::kInfo, FindingKind::kPeak, text + ".");
    if (const std::string line = resident_line(totals); !line.empty())
      add(Severity::kInfo, FindingKind::kPeak, line + ".");
    free_memory();
    stacks_of_the_past();
  }

  // Why resident memory that is free stays resident.
  void free_memory() {
    const std::optional<FreeMemory> found = free_memory_of(report_);
    if (!found) return;
    if (found->stack == nullptr) return add(Severity::kInfo, FindingKind::kPeak, found->text + ".");
    const auto entry = std::ranges::find(report_.stacks, found->stack->stack_id, &report::StackEntry::id);
    add(Severity::kInfo, FindingKind::kPeak,
        fmt::format("{} allocated {}.", found->text, place_sentence(report_, found->stack->frames)),
        entry == report_.stacks.end()
            ? std::nullopt
            : std::optional(static_cast<uint32_t>(std::distance(report_.stacks.begin(), entry))));
  }

  // Of the peak, or of temporary allocations, if the report is about these.
  void stacks_of_the_past() {
    constexpr size_t kMaxPast = 3;
    constexpr uint64_t kLeastShare = 20;
    const report::Focus focus = report::focus_of(report_);
    if (focus == report::Focus::kLive) return;
    const bool is_peak = focus == report::Focus::kPeak;
    const auto part_of = [&](uint32_t i) { return report::part_of(focus, report_.stacks[i]); };
    const uint64_t least = report::whole_of(focus, report_) / kLeastShare;
    std::vector<uint32_t> stacks;
    for (uint32_t i = 0; i < report_.stacks.size(); ++i) {
      const report::StackEntry& stack = report_.stacks[i];
      if (part_of(i) > least && !stack.is_apart() && stack.purpose == report::Purpose::kProgram) stacks.push_back(i);
    }
    std::ranges::stable_sort(stacks, std::ranges::greater(), part_of);
    if (stacks.size() > kMaxPast) stacks.resize(kMaxPast);
    for (const uint32_t i : stacks) {
      const std::string part =
          is_peak ? base::format_bytes(part_of(i)) + " of the peak" : counted(part_of(i), "temporary allocation");
      add(Severity::kInfo, FindingKind::kPeak,
          fmt::format("{}, allocated {}.", part, place_sentence(report_, report_.stacks[i].frames)), i);
    }
  }

  // Memory beside that of the blocks, if it is more than theirs, and who mapped most of it.
  void mapped() {
    const report::Totals& totals = report_.totals;
    if (!report::mapped_leads(report_.totals, report::peak_of(report_).counted())) return;
    const model::MappedLevel& memory = totals.mapped.memory;
    const std::string beside = beside_memory(bytes_of(totals.mapped));
    const std::string others = beside.empty() ? "" : "; besides " + beside;
    // At the end next to nothing of it may be left.
    constexpr uint64_t kPeakOverLeft = 4;
    if (memory.live_bytes < memory.peak_bytes / kPeakOverLeft) {
      return add(Severity::kInfo, FindingKind::kPeak,
                 fmt::format("At most {} more were mapped{}{}.", base::format_bytes(memory.peak_bytes),
                             report_.of_run ? " in one process" : "", others));
    }
    const std::optional<uint32_t> most = largest_mapping();
    const std::string by =
        most ? fmt::format(", {} of them {}", base::format_bytes(report_.stacks[*most].own_live_bytes().counted()),
                           place_sentence(report_, report_.stacks[*most].frames))
             : "";
    add(Severity::kInfo, FindingKind::kPeak,
        fmt::format("{} more are mapped at the end{}{}.", base::format_bytes(memory.live_bytes), by, others), most);
  }

  [[nodiscard]] std::optional<uint32_t> largest_mapping() const {
    std::optional<uint32_t> largest;
    const auto bytes = [&](uint32_t i) { return report_.stacks[i].own_live_bytes().counted(); };
    for (uint32_t i = 0; i < report_.stacks.size(); ++i) {
      if (report_.stacks[i].mapping && bytes(i) > (largest ? bytes(*largest) : 0)) largest = i;
    }
    return largest;
  }

  // Of a run: processes other than the main one that failed.
  void endings_of_others() {
    constexpr size_t kMaxEndings = 4;
    if (!report_.of_run) return;
    size_t killed = 0, failed = 0;
    for (const report::ProcessEntry& process :
         std::span(report_.processes).subspan(std::min<size_t>(1, report_.processes.size()))) {
      const std::string name =
          base::safe_text(fmt::format("{} (pid {})", program_of(process.capture), process.capture.pid));
      if (!process.failure.empty()) {
        if (failed++ < kMaxEndings)
          add(Severity::kWarning, FindingKind::kEnding, fmt::format("The trace of {} can't be read.", name));
      } else if (process.capture.exit.signal && killed++ < kMaxEndings) {
        add(Severity::kBad, FindingKind::kEnding,
            fmt::format("{} {}{}.", name, ending_text(process.capture), crash_text(process.crash)));
      }
    }
    std::set<uint32_t> pids;
    for (const report::ProcessEntry& process : report_.processes) pids.insert(process.capture.pid);
    std::string rest = base::format_count(pids.size()) + (pids.size() == 1 ? " process" : " processes");
    if (pids.size() != report_.processes.size())
      rest += fmt::format(", {} programs", base::format_count(report_.processes.size()));
    if (killed > kMaxEndings) rest += fmt::format(", {} killed by signals", base::format_count(killed));
    if (failed > kMaxEndings) rest += fmt::format(", {} whose traces can't be read", base::format_count(failed));
    add(Severity::kInfo, FindingKind::kEnding, rest + ", all together.");
  }

  // Blocks that one function allocated, or one instruction of a function without a name.
  struct Site {
    std::vector<uint32_t> stacks;  // that with most of them first
    report::BlockCount count;
  };

  [[nodiscard]] std::string site_of(uint32_t stack, TellingFrames& telling) const {
    const model::Frame* const frame = telling.of(report_.stacks[stack].frames);
    if (frame == nullptr) return fmt::format("#{}", report_.stacks[stack].id);
    return frame->module + (frame->function.empty() ? location_of(*frame) : frame->function);
  }

  // The sites with most bytes of those that `count_of` has of a stack.
  template <typename Count>
  [[nodiscard]] std::vector<Site> sites_by(Count count_of) const {
    std::map<std::string, size_t> known;
    std::vector<Site> sites;
    TellingFrames telling(report_);
    const auto bytes_of = [&](uint32_t stack) { return count_of(report_.stacks[stack]).bytes; };
    for (uint32_t i = 0; i < report_.stacks.size(); ++i) {
      if (!report_.stacks[i].leaks || bytes_of(i) == 0) continue;
      const auto [place, is_new] = known.try_emplace(site_of(i, telling), sites.size());
      if (is_new) sites.emplace_back();
      Site& site = sites[place->second];
      site.count += count_of(report_.stacks[i]);
      site.stacks.push_back(i);
    }
    std::ranges::stable_sort(sites, std::ranges::greater(), [](const Site& site) { return site.count.bytes; });
    if (sites.size() > kMaxStacks) sites.resize(kMaxStacks);
    for (Site& site : sites) std::ranges::stable_sort(site.stacks, std::ranges::greater(), bytes_of);
    return sites;
  }

  // " in make_buffer (leak.cc:11) by 4 stacks"
  [[nodiscard]] std::string place_of(const Site& site) const {
    const std::string several = site.stacks.size() == 1 ? "" : fmt::format(" by {} stacks", site.stacks.size());
    return place_sentence(report_, report_.stacks[site.stacks.front()].frames) + several;
  }

  // What holds of each stack of the site; empty: nothing.
  template <typename Text>
  [[nodiscard]] static std::string common_text(const Site& site, Text text_of) {
    std::string text = text_of(site.stacks.front());
    const bool is_common = std::ranges::all_of(site.stacks, [&](uint32_t stack) { return text_of(stack) == text; });
    return is_common ? text : "";
  }

  // The largest of them, if only pointers that may be coincidences lead to it.
  void possible_leaks() {
    constexpr uint64_t kLeastShare = 20;
    for (const Site& site : sites_by([](const report::StackEntry& stack) { return stack.leaks->possible; })) {
      if (site.count.bytes < report_.leaks.possible.bytes / kLeastShare) continue;
      const uint32_t largest = site.stacks.front();
      const std::string growth = growing(largest, report_.stacks[largest].leaks->possible.blocks);
      add(weighs(site.count.bytes) || !growth.empty() ? Severity::kWarning : Severity::kInfo, FindingKind::kLeak,
          fmt::format("{}, allocated {}, possibly lost{}.", amount_text(site.count), place_of(site), growth), largest);
    }
  }

  void all_leaks() {
    leaks();
    if (report_.leaks.scanned) possible_leaks();
  }

  [[nodiscard]] bool weighs(uint64_t bytes) const { return report::is_of_weight(report_.totals, report_.leaks, bytes); }

  // Memory still growing at the end: the total, and stacks with reachable blocks.
  void growth(std::span<const Site> still_reachable) {
    if (report_.grows_to_the_end) {
      add(Severity::kWarning, FindingKind::kGrowth,
          "Live memory grew through the whole run, and was still growing at its end.");
    }
    for (const Site& site : still_reachable) {
      if (grows(report_, site.stacks.front())) add_reachable(site);
    }
  }

  void leaks() {
    const report::Leaks& leaks = report_.leaks;
    if (!report_.known.any) {
      return add(Severity::kWarning, FindingKind::kLeaks,
                 fmt::format("UNKNOWN: {}, so leaks are unknown.", nothing_seen_text(report_)));
    }
    if (!leaks.scanned) {
      return add(Severity::kWarning, FindingKind::kLeaks, "No leak scan was made: leaks are unknown.");
    }
    if (!report::leaks_at_all(leaks)) {
      if (report_.known.leaks && !report_.known.children)
        return add(Severity::kInfo, FindingKind::kLeaks, "No leaks in what was recorded, but children ran unrecorded.");
      if (report_.known.leaks && report_.capture.is_of_core())
        return add(Severity::kInfo, FindingKind::kLeaks, "No leaks in glibc's heaps, as the core file has them.");
      if (report_.known.leaks && !report_.capture.from_start)
        return add(Severity::kInfo, FindingKind::kLeaks,
                   "No leaks in what was recorded; earlier allocations are unknown.");
      if (report_.known.leaks) return add(Severity::kGood, FindingKind::kLeaks, "No leaks.");
      return add(Severity::kInfo, FindingKind::kLeaks, "No leaks found, but not all could be seen.");
    }
    const std::vector<Site> lost = lost_sites();
    sum_of_leaks(lost);
    for (const Site& site : lost) {
      const uint32_t largest = site.stacks.front();
      report::StackLeaks found;
      for (const uint32_t stack : site.stacks) found += *report_.stacks[stack].leaks;
      const std::string cycles = found.in_cycles.blocks == 0 ? ""
                                                             : fmt::format(", {} of them in cycles",
                                                                           base::format_count(found.in_cycles.blocks));
      add(severity_of_lost(site), FindingKind::kLeak,
          fmt::format("{}, allocated {}, lost{}{}{}{}.", amount_text(site.count), place_of(site),
                      found.below.blocks == 0 ? "" : " with all blocks reachable only from them", cycles,
                      growing(largest, report_.stacks[largest].leaks->definite.blocks),
                      common_text(site, [&](uint32_t stack) { return until_exit(*report_.stacks[stack].leaks); })),
          largest);
    }
  }

  [[nodiscard]] std::vector<Site> lost_sites() const {
    return sites_by([](const report::StackEntry& stack) {
      report::BlockCount lost = stack.leaks->definite;
      return lost += stack.leaks->below;
    });
  }

  [[nodiscard]] Severity severity_of_lost(const Site& site) const {
    const uint32_t largest = site.stacks.front();
    const bool is_growing = !growing(largest, report_.stacks[largest].leaks->definite.blocks).empty();
    return weighs(site.count.bytes) || is_growing ? Severity::kBad : Severity::kWarning;
  }

  // All leaks: as grave as their share of the peak, or as the gravest of them.
  void sum_of_leaks(std::span<const Site> lost) {
    const report::Leaks& leaks = report_.leaks;
    const bool weigh = report::leaks_weigh(report_.totals, leaks);
    std::string text = leaks_text(leaks) + doubt_of_leaks(leaks) + ".";
    if (!report::leaks_for_certain(leaks)) {
      if (!weigh)
        return add(Severity::kInfo, FindingKind::kLeaks,
                   (report_.known.leaks ? "No definite leaks; " : "No definite leaks found; ") + text);
      text.front() = 'P';
      return add(Severity::kWarning, FindingKind::kLeaks, text);
    }
    const bool is_bad =
        weigh || std::ranges::any_of(lost, [&](const Site& site) { return severity_of_lost(site) == Severity::kBad; });
    add(is_bad ? Severity::kBad : Severity::kWarning, FindingKind::kLeaks, text);
  }

  void reachable(std::span<const Site> still_reachable) {
    const report::Leaks& leaks = report_.leaks;
    if (!leaks.scanned || leaks.reachable.blocks == 0) return;
    const std::string retained = retained_text(report_);
    if (!retained.empty()) {
      add(Severity::kInfo, FindingKind::kReachable,
          fmt::format("{} still reachable, {}.", base::format_bytes(leaks.reachable.bytes), retained));
    }
    for (const Site& site : still_reachable) {
      if (!grows(report_, site.stacks.front())) add_reachable(site);
    }
  }

  // Those that are worth a sentence.
  [[nodiscard]] std::vector<Site> reachable_sites() const {
    constexpr uint64_t kLeastShare = 20;
    std::vector<Site> sites = sites_by([](const report::StackEntry& stack) {
      return stack.purpose == report::Purpose::kProgram ? stack.leaks->reachable : report::BlockCount();
    });
    std::erase_if(sites, [least = report_.leaks.reachable.bytes / kLeastShare](const Site& site) {
      return site.count.bytes < least;
    });
    return sites;
  }

  void add_reachable(const Site& site) {
    const uint32_t largest = site.stacks.front();
    const bool is_growing = grows(report_, largest);
    const std::string held = common_text(site, [this](uint32_t stack) { return holder(stack); });
    add(is_growing ? Severity::kWarning : Severity::kInfo, is_growing ? FindingKind::kGrowth : FindingKind::kReachable,
        fmt::format("{}, allocated {}, {}{}.", amount_text(site.count), place_of(site),
                    held.empty() ? "still reachable" : held,
                    growing(largest, report_.stacks[largest].leaks->reachable.blocks)),
        largest);
  }

  void bad_releases() {
    size_t count = 0;
    for (const report::ErrorEntry& error : report_.errors) {
      if (count++ == kMaxErrors) break;
      const auto [noun, rest] = name_of(error);
      std::string text = counted(error.count, noun) + rest + " " + place_sentence(report_, error.frames);
      if (error.allocated) text += ", allocated " + place_sentence(report_, error.allocated->frames);
      add(Severity::kBad, FindingKind::kBadFree, text + ".");
    }
    if (report_.errors.size() > kMaxErrors) {
      add(Severity::kBad, FindingKind::kBadFree,
          fmt::format("{} more places with bad frees.", report_.errors.size() - kMaxErrors));
    }
  }

  void unseen() {
    const model::Capture& capture = report_.capture;
    if (capture.lost_events != 0) {
      add(Severity::kWarning, FindingKind::kUnseen,
          fmt::format("{} lost: the numbers are not exact.", counted(capture.lost_events, "event")));
    }
    if (capture.truncated) {
      add(Severity::kWarning, FindingKind::kUnseen,
          (capture.running ? "It is " : "The recording is incomplete: ") + base::safe_text(capture.damage) + ".");
    }
    if (const std::string sampling = sampling_sentence(report_); !sampling.empty())
      add(Severity::kWarning, FindingKind::kUnseen, sampling + ".");
    if (const std::string pauses = pauses_sentence(capture); !pauses.empty())
      add(Severity::kWarning, FindingKind::kUnseen, pauses + ".");
    if (const std::string uncertainty = uncertainty_of(report_); !uncertainty.empty()) {
      add(Severity::kWarning, FindingKind::kUnseen, uncertainty + ".");
    }
    std::vector<model::Note> notes = capture.notes;
    const auto small =
        std::ranges::stable_partition(notes, [this](const model::Note& note) { return !is_small(note); });
    const std::vector<model::Note> rest(small.begin(), small.end());
    notes.erase(small.begin(), small.end());
    add_notes(Severity::kWarning, notes);
    add_notes(Severity::kInfo, rest);
  }

  void add_notes(Severity severity, const std::vector<model::Note>& notes) {
    for (const std::string& note : sentences_of(notes)) {
      add(severity, FindingKind::kUnseen, base::safe_text(note) + ".");
    }
  }

  // Stacks of which so few lack frames that no figure changes by it.
  [[nodiscard]] bool is_small(const model::Note& note) const {
    constexpr uint64_t kAllocationsOverSmall = 100;
    return note.kind == model::NoteKind::kFramesNotPlaced &&
           note.number(0) < report_.totals.allocations.counted() / kAllocationsOverSmall;
  }

  // The blocks of a stack that a sentence is about. A few of many don't represent the stack's growth.
  [[nodiscard]] std::string growing(uint32_t stack, uint64_t blocks) const {
    constexpr uint64_t kFewestBlocks = 4;
    const bool is_most = blocks >= kFewestBlocks && 2 * blocks >= report_.stacks[stack].live_blocks.counted();
    return is_most && grows(report_, stack) ? ", growing through the whole run" : "";
  }

  [[nodiscard]] static std::string until_exit(const report::StackLeaks& found) {
    const std::string text = held_until_exit_text(found);
    return text.empty() ? "" : "; " + text;
  }

  // The variable that retains all of a stack's blocks, if there is one.
  [[nodiscard]] std::string holder(uint32_t stack) const {
    std::string anyone = "still reachable";
    const auto found = std::ranges::find(report_.stack_holders, stack, &report::StackHolders::stack);
    if (found == report_.stack_holders.end()) return anyone;
    const report::Holders& holders = found->holders;
    if (!holders.held || !holders.held->root || holders.same_root.blocks != holders.of_stack.blocks) return anyone;
    const std::string variable = variable_text(*holders.held->root);
    return variable.empty() ? anyone : "reachable from " + variable;
  }

  const report::Report& report_;
  std::vector<Finding> list_;
};

}  // namespace

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::kGood:
      return "good";
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kBad:
      break;
  }
  return "bad";
}

const char* name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::kEnding:
      return "ending";
    case FindingKind::kPeak:
      return "peak";
    case FindingKind::kLeaks:
      return "leaks";
    case FindingKind::kLeak:
      return "leak";
    case FindingKind::kReachable:
      return "reachable";
    case FindingKind::kGrowth:
      return "growth";
    case FindingKind::kBadFree:
      return "bad-free";
    case FindingKind::kTotal:
      return "total";
    case FindingKind::kChange:
      return "change";
    case FindingKind::kUnseen:
      break;
  }
  return "unseen";
}

std::vector<Finding> findings_of(const report::Report& report) { return Findings(report).make(); }

}  // namespace heaptap::findings
