// What an assistant may call, in the words that tell it when.
#include <limits>
#include <memory>
#include <utility>

#include "analysis/patterns/pattern.h"
#include "apps/heaptap/mcp/answers.h"
#include "apps/heaptap/mcp/mcp_command.h"

namespace heaptap::app {
namespace {

using mcp::Parameter;
using mcp::Tool;
using mcp::ToolArguments;
using Sources = std::shared_ptr<const McpSources>;

constexpr auto kNumber = Parameter::Type::kNumber;

Parameter recording_parameter(const char* name = "recording", const char* which = "") {
  return {.name = name,
          .is_required = true,
          .description =
              std::string("File name of a recording, as list_recordings has it or `heaptap run -o` got it") + which};
}

Parameter process_parameter() {
  return {
      .name = "process", .type = kNumber, .description = "Of a recording of several processes: the PID of one of them"};
}

Parameter sort_parameter() {
  Parameter sort{.name = "sort", .description = "Largest change of this first (default: live, bytes not freed)"};
  for (const report::FigureFacts& facts : report::figures()) sort.words.emplace_back(facts.word);
  return sort;
}

Parameter function_parameter(const char* description) { return {.name = "function", .description = description}; }

McpRecording recording_in(const ToolArguments& arguments) {
  return {.name = arguments.text("recording"), .process = arguments.number("process").value_or(0)};
}

report::Figure sort_in(const ToolArguments& arguments) {
  for (const report::FigureFacts& facts : report::figures()) {
    if (facts.word == arguments.text("sort")) return facts.figure;
  }
  return report::Figure::kLiveBytes;
}

base::Result<McpComparison> comparison_in(const ToolArguments& arguments) {
  McpComparison comparison{.before = arguments.text("before"),
                           .after = arguments.text("after"),
                           .function = arguments.text("function"),
                           .sort = sort_in(arguments)};
  if (comparison.function.empty()) return comparison;
  if (const auto pattern = patterns::Pattern::create(comparison.function); !pattern)
    return base::fail("the argument 'function' is not a regular expression: {}", pattern.error().message);
  return comparison;
}

// The answer to a question about two recordings.
template <typename Tell>
auto comparing(const Tell& tell) {
  return [tell](const ToolArguments& arguments) -> base::Result<std::string> {
    const auto comparison = comparison_in(arguments);
    return comparison ? tell(*comparison, arguments) : std::unexpected(comparison.error());
  };
}

Tool list_tool(const Sources& sources) {
  return {
      .name = "list_recordings",
      .title = "List recordings",
      .description =
          "Recordings below the served directory, the newest first: file name, time, size, program, how it ended. Call "
          "it when "
          "you don't know a recording's name. heaptap records by `heaptap run -o NAME.htap -- PROGRAM ARGS` in a "
          "shell.",
      .parameters = {{.name = "match", .description = "Only names with this in them"}},
      .answer = [sources](const ToolArguments& arguments) {
        return list_recordings(*sources, arguments.text("match"));
      }};
}

Tool suspects_tool(const Sources& sources) {
  return {
      .name = "suspects",
      .title = "Verdict and leaks",
      .description =
          "Call it first for a recording. The first line is the verdict: `leaks`, `bad frees`, `clean`, or "
          "`unknown`, when too little "
          "was seen to say that it is clean (no leak scan, lost events, killed before its end): record again "
          "rather than call it "
          "clean. Then findings in sentences, and the leaking stacks with their numbers (#12), largest first.",
      .parameters = {recording_parameter(), process_parameter()},
      .answer = [sources](const ToolArguments& arguments) { return tell_suspects(*sources, recording_in(arguments)); }};
}

Tool why_tool(const Sources& sources) {
  return {.name = "why",
          .title = "What points to it",
          .description =
              "What points to a block, from a global variable, a thread's stack or another block: why memory is still "
              "reachable, or who "
              "lost it. Needs a leak scan and, of several processes, `process`.",
          .parameters = {recording_parameter(),
                         {.name = "block",
                          .is_required = true,
                          .description =
                              "A stack's number (#12: its largest block), a block's (b34), or an address (0x55d0)"},
                         process_parameter()},
          .answer = [sources](const ToolArguments& arguments) {
            return tell_holders(*sources, recording_in(arguments), arguments.text("block"));
          }};
}

Tool source_tool(const Sources& sources) {
  const auto answer = [sources](const ToolArguments& arguments) -> base::Result<std::string> {
    constexpr uint64_t kMaxAround = 20;
    constexpr uint64_t kAround = 3;
    const uint64_t around = arguments.number("around").value_or(kAround);
    if (around > kMaxAround) return base::fail("the argument 'around' is more than {}", kMaxAround);
    return tell_source(*sources, recording_in(arguments), *arguments.number("stack"), static_cast<uint32_t>(around));
  };
  return {
      .name = "source",
      .title = "Source lines of a stack",
      .description =
          "The program's own frames of a stack, innermost first, with the source lines. Only source files below the "
          "served directory "
          "and the directories of --sources are read; for others the place alone is given.",
      .parameters =
          {recording_parameter(),
           {.name = "stack", .type = kNumber, .is_required = true, .description = "Number of the stack: 12 for #12"},
           {.name = "around", .type = kNumber, .description = "Lines before and after (default: 3, at most 20)"},
           process_parameter()},
      .answer = answer};
}

Tool growth_tool(const Sources& sources) {
  return {
      .name = "growth",
      .title = "Growth between two moments",
      .description =
          "For a program that grows while it runs: what was live at one moment of a recording and at a later one, and "
          "which stacks "
          "grew. A moment is a time since its start (1.5s), a mark's name (`heaptap mark PID NAME`), `start` or `end`.",
      .parameters = {recording_parameter(),
                     {.name = "from", .is_required = true, .description = "The earlier moment"},
                     {.name = "to", .description = "The later one (default: end)"},
                     sort_parameter(),
                     process_parameter()},
      .answer = [sources](const ToolArguments& arguments) {
        return tell_growth(*sources, recording_in(arguments), arguments.text("from"), arguments.text("to"),
                           sort_in(arguments));
      }};
}

Tool diff_tool(const Sources& sources) {
  const auto answer = comparing([sources](const McpComparison& comparison, const ToolArguments& /*arguments*/) {
    return tell_difference(*sources, comparison);
  });
  return {.name = "diff",
          .title = "Compare two recordings",
          .description =
              "Two recordings of a program, before and after a change: totals, and which stacks grew, shrank, are new "
              "or gone. To know "
              "whether a leak is fixed, call verify_fix.",
          .parameters = {recording_parameter("before", ": the earlier one"),
                         recording_parameter("after", ": the later one"),
                         function_parameter(
                             "Only stacks through this function: a part of its name, or a regular expression"),
                         sort_parameter()},
          .answer = answer};
}

Tool verify_tool(const Sources& sources) {
  const auto answer = comparing([sources](const McpComparison& comparison, const ToolArguments& arguments) {
    return tell_fix(*sources, comparison, arguments.number("stack"));
  });
  return {.name = "verify_fix",
          .title = "Is a leak fixed?",
          .description =
              "After you changed the code, built it and recorded the same workload again. The first line is the "
              "verdict: `gone`, `still "
              "there`, or `unknown`: the path did not run again, the leak scan is missing, or not all was seen. Only "
              "`gone` is a proof; on "
              "`unknown` record again so that the code runs.",
          .parameters =
              {recording_parameter("before", ": with the leak"),
               recording_parameter("after", ": of the fixed program"),
               {.name = "stack", .type = kNumber, .description = "Number of the leaking stack in `before`: 12 for #12"},
               function_parameter("In place of a stack: all stacks through this function, by a part of its name")},
          .answer = answer};
}

}  // namespace

base::Result<std::vector<Tool>> make_tools(const McpOptions& options) {
  auto directory = ServedDirectory::open(options.directory);
  if (!directory) return std::unexpected(std::move(directory).error());
  std::vector<std::string> roots = options.sources;
  roots.insert(roots.begin(), options.directory);
  auto lines = SourceLines::create(roots);
  if (!lines) return std::unexpected(std::move(lines).error());
  const auto sources = std::make_shared<const McpSources>(*std::move(directory), *std::move(lines), options.symbols);
  std::vector<Tool> tools{list_tool(sources),   suspects_tool(sources), why_tool(sources),   source_tool(sources),
                          growth_tool(sources), diff_tool(sources),     verify_tool(sources)};
  for (Tool& tool : tools) tool.is_open_world = options.symbols.debuginfod || options.symbols.server != nullptr;
  return tools;
}

}  // namespace heaptap::app
