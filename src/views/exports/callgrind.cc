// Callgrind format (docs: https://valgrind.org/docs/manual/cl-format.html): costs by line of a function, and calls with their
// inclusive costs.
//
// callgrind_annotate computes a function's inclusive cost from the calls of it. So each stack counts one call of each of its
// functions: the outermost one. Recursive calls add nothing. The outermost frames need a caller too: a function that represents the
// whole program.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/safe_text.h"
#include "views/exports/frame_text.h"
#include "views/exports/profile_writers.h"

namespace heaptap::exports {
namespace {

using report::StackEntry;
using Costs = std::array<uint64_t, kMetricCount>;

struct Function {
  std::string module, file, name;
  auto operator<=>(const Function&) const = default;
};
using FunctionId = uint32_t;

struct Place {  // a line of a function
  FunctionId function = 0;
  uint32_t line = 0;
  auto operator<=>(const Place&) const = default;
};

struct Calls {
  uint64_t count = 0;
  Costs costs{};
};

class Program {
 public:
  Program(const report::Report& report, std::vector<const Metric*> shown) : report_(report), shown_(std::move(shown)) {
    for (const model::Frame& frame : report.frames)
      of_frame_.push_back({intern({module_of(frame), file_of(frame), name_of(frame)}), frame.line});
    root_ = intern({"", "", "(all stacks)"});
    for (const StackEntry& stack : report.stacks)
      if (!stack.is_apart()) add(stack);
  }

  void write(const report::Write& write);

 private:
  struct Known {
    const Function* function;
    uint32_t merged;  // the same, by file and name: a reader doesn't distinguish these
  };

  FunctionId intern(Function function) {
    const auto [found, added] = ids_.try_emplace(std::move(function), static_cast<FunctionId>(ids_.size()));
    if (added) {
      const auto merged = merged_.try_emplace({found->first.file, found->first.name}, found->second).first->second;
      functions_.push_back({&found->first, merged});
      last_stack_.push_back(0);
    }
    return found->second;
  }

  void add(const StackEntry& stack);
  std::string text(std::string_view key, std::map<std::string, size_t, std::less<>>& numbers, const std::string& name);
  // Function of the lines that follow, or with "c" the called one.
  std::string position(const char* prefix, const Function& function) {
    std::string lines = text(fmt::format("{}ob", prefix), module_numbers_, function.module);
    lines += text(fmt::format("{}", *prefix == 0 ? "fl" : "cfi"), file_numbers_, function.file);
    return lines += text(fmt::format("{}fn", prefix), name_numbers_, function.name);
  }
  std::string costs_text(const Costs& costs) const {
    std::string line;
    for (const Metric* metric : shown_) line += fmt::format(" {}", costs[static_cast<size_t>(metric->kind)]);
    return line + "\n";
  }

  const report::Report& report_;
  std::vector<const Metric*> shown_;
  std::map<Function, FunctionId> ids_;
  std::map<std::pair<std::string, std::string>, FunctionId> merged_;
  std::vector<Known> functions_;
  std::vector<uint64_t> last_stack_;  // by function: the last stack that called it
  uint64_t stacks_ = 0;
  std::vector<Place> of_frame_;
  FunctionId root_ = 0;
  std::map<Place, Costs> self_;
  std::map<std::tuple<Place, Place>, Calls> calls_;
  Costs totals_{};
  std::map<std::string, size_t, std::less<>> file_numbers_, module_numbers_, name_numbers_;
};

void Program::add(const StackEntry& stack) {
  Costs costs{};
  for (const Metric* metric : shown_) costs[static_cast<size_t>(metric->kind)] = metric->of(stack).counted();
  const auto add_to = [&costs](Costs& sum) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += costs[i];
  };
  add_to(totals_);
  ++stacks_;
  Place caller{root_, 0};
  const auto call = [&](Place callee) {
    uint64_t& last = last_stack_[functions_[callee.function].merged];
    if (std::exchange(last, stacks_) != stacks_) {
      Calls& calls = calls_[{caller, callee}];
      calls.count += stack.allocations.if_known().value_or(1);  // one, where their number is not told
      add_to(calls.costs);
    }
    caller = callee;
  };
  for (const report::FrameIndex frame : report_.frames.outermost_first(stack.frames)) call(of_frame_[frame]);
  if (stack.frames.empty()) call({intern({"", "", base::safe_text(stack.function)}), 0});
  add_to(self_[caller]);
}

// "key=(7) name" at the first use of the name, later "key=(7)".
std::string Program::text(std::string_view key, std::map<std::string, size_t, std::less<>>& numbers,
                          const std::string& name) {
  const std::string& shown = name.empty() ? "???" : name;
  const auto [found, added] = numbers.try_emplace(shown, numbers.size() + 1);
  return fmt::format("{}=({}){}{}\n", key, found->second, added ? " " : "", added ? shown : "");
}

void Program::write(const report::Write& write) {
  std::string events = "events:";
  for (const Metric* metric : shown_) events += fmt::format(" {}", metric->event);
  for (const Metric* metric : shown_) write(fmt::format("event: {} : {}\n", metric->event, metric->title));
  write(events + "\n");
  write(fmt::format("summary:{}", costs_text(totals_)));
  auto self = self_.begin();
  auto calls = calls_.begin();
  for (FunctionId id = 0; id < functions_.size(); ++id) {
    const bool has_calls = calls != calls_.end() && std::get<0>(calls->first).function == id;
    if (!has_calls && (self == self_.end() || self->first.function != id)) continue;
    const Function& function = *functions_[id].function;
    write(fmt::format("\n{}", position("", function)));
    for (; self != self_.end() && self->first.function == id; ++self)
      write(fmt::format("{}{}", self->first.line, costs_text(self->second)));
    for (; calls != calls_.end() && std::get<0>(calls->first).function == id; ++calls) {
      const auto& [caller, callee] = calls->first;
      const Function& called = *functions_[callee.function].function;
      write(position("c", called));
      write(fmt::format("calls={} {}\n", std::max<uint64_t>(calls->second.count, 1), callee.line));
      write(fmt::format("{}{}", caller.line, costs_text(calls->second.costs)));
    }
  }
  write(fmt::format("\ntotals:{}", costs_text(totals_)));
}

}  // namespace

base::Result<> write_callgrind(const Input& input, const report::Write& write) {
  const model::Capture& capture = input.report.capture;
  std::vector<const Metric*> shown;
  for (const Metric& metric : metrics())
    if (is_known(metric, input.report)) shown.push_back(&metric);
  if (shown.empty()) return base::fail("nothing to write: no value of this trace's stacks is known");
  write(fmt::format("# callgrind format\nversion: 1\ncreator: heaptap-{}\n", base::safe_text(capture.heaptap_version)));
  write(fmt::format("pid: {}\ncmd: {}\npart: 1\npositions: line\n", capture.pid, command_of(capture)));
  Program(input.report, std::move(shown)).write(write);
  return {};
}

}  // namespace heaptap::exports
