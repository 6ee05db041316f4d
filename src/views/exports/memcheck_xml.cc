// Valgrind's XML protocol 4 as written by memcheck (docs/internals/xml-output-protocol4.txt of Valgrind): leaks and bad releases. The
// innermost frame of a stack is the allocation function, whose address isn't recorded.
#include <fmt/format.h>

#include <string>

#include "common/wire/functions.h"
#include "views/exports/finding_writers.h"
#include "views/exports/findings.h"
#include "views/exports/frame_text.h"
#include "views/exports/xml_text.h"

namespace heaptap::exports {
namespace {

constexpr size_t kMaxSuppressionFrames = 24;  // Valgrind reads no more

std::string element(const char* name, std::string_view text) {
  return fmt::format("      <{}>{}</{}>\n", name, xml_text(text), name);
}

std::string frame_xml(const model::Frame& frame) {
  std::string text = fmt::format("    <frame>\n      <ip>0x{:X}</ip>\n", frame.address);
  if (!frame.module.empty()) text += element("obj", frame.module);
  if (!frame.function.empty()) text += element("fn", frame.function);
  if (!frame.file.empty()) {
    const size_t slash = frame.file.rfind('/');
    if (slash != std::string::npos) text += element("dir", frame.file.substr(0, slash));
    text += element("file", slash == std::string::npos ? frame.file : frame.file.substr(slash + 1));
    if (frame.line != 0) text += element("line", fmt::format("{}", frame.line));
  }
  return text + "    </frame>\n";
}

std::string stack_xml(const std::string& called, const report::FrameList& frames) {
  std::string text =
      fmt::format("  <stack>\n    <frame>\n      <ip>0x0</ip>\n      <fn>{}</fn>\n    </frame>\n", xml_text(called));
  for (const model::Frame& frame : frames) text += frame_xml(frame);
  return text + "  </stack>\n";
}

// Valgrind matches `fun:` with the names in the file.
std::string suppression_line(const model::Frame& frame) {
  const std::string& name = frame.symbol.empty() ? frame.function : frame.symbol;
  return name.empty() ? "obj:" + frame.module : "fun:" + name;
}

std::string symbol_of(const report::StackEntry& stack) {
  for (const wire::FunctionFacts& facts : wire::kFunctionFacts) {
    if (stack.function == facts.name && stack.variant == facts.variant && *facts.symbol != '\0') return facts.symbol;
  }
  return stack.function;
}

std::string suppression_xml(const report::Report& report, const Leak& leak) {
  std::vector<std::string> lines{"fun:" + symbol_of(*leak.stack)};
  for (const model::Frame& frame : report.list(leak.stack->frames)) {
    lines.push_back(suppression_line(frame));
    // Frames below main differ between machines.
    if (lines.size() == kMaxSuppressionFrames || frame.function == "main") break;
  }
  const std::string kinds = leak.kind == LeakKind::kDefinite   ? "match-leak-kinds: definite"
                            : leak.kind == LeakKind::kIndirect ? "match-leak-kinds: indirect"
                                                               : "match-leak-kinds: possible";
  std::string text =
      "  <suppression>\n    <sname>insert_a_suppression_name_here</sname>\n    <skind>Memcheck:Leak</skind>\n";
  text += fmt::format("    <skaux>{}</skaux>\n", kinds);
  std::string raw = fmt::format("{{\n   <insert_a_suppression_name_here>\n   Memcheck:Leak\n   {}\n", kinds);
  for (const std::string& line : lines) {
    const std::string name = line.substr(0, 3) == "obj" ? "obj" : "fun";
    text += fmt::format("    <sframe> <{}>{}</{}> </sframe>\n", name, xml_text(line.substr(4)), name);
    raw += "   " + line + "\n";
  }
  return text + fmt::format("    <rawtext>\n{}}}\n    </rawtext>\n  </suppression>\n", xml_lines(raw));
}

std::string leak_xml(const report::Report& report, const Leak& leak, size_t record, size_t records) {
  const char* const kind = leak.kind == LeakKind::kDefinite   ? "Leak_DefinitelyLost"
                           : leak.kind == LeakKind::kIndirect ? "Leak_IndirectlyLost"
                                                              : "Leak_PossiblyLost";
  const uint32_t thread = leak.stack->threads.empty() ? 0 : leak.stack->threads.front();
  return fmt::format(
             "<error>\n  <unique>0x{:x}</unique>\n  <tid>{}</tid>\n  <kind>{}</kind>\n  <xwhat>\n    <text>{} bytes in "
             "{} "
             "blocks are {} in loss record {} of {}</text>\n    <leakedbytes>{}</leakedbytes>\n    <leakedblocks>{}"
             "</leakedblocks>\n  </xwhat>\n",
             report.errors.size() + record, thread, kind, leak.count.bytes, leak.count.blocks, words_of(leak.kind),
             record + 1, records, leak.count.bytes, leak.count.blocks) +
         stack_xml(leak.stack->function, report.list(leak.stack->frames)) + suppression_xml(report, leak) +
         "</error>\n\n";
}

std::string aux_xml(const std::string& text) { return fmt::format("  <auxwhat>{}</auxwhat>\n", xml_text(text)); }

// Valgrind's description of the address, and the stacks of its block.
std::string block_xml(const report::Report& report, const report::ErrorEntry& error) {
  if (!error.allocated) {
    return aux_xml(fmt::format("Address {:#x} is not stack'd, malloc'd or (recently) free'd", error.address));
  }
  const char* const place = error.kind == "interior" ? "inside" : "0 bytes inside";
  const auto block =
      fmt::format("Address {:#x} is {} a block of size {}", error.address, place, error.allocated->size_bytes);
  const std::string allocated = stack_xml(error.allocated->function, report.list(error.allocated->frames));
  if (!error.released) return aux_xml(block + " alloc'd") + allocated;
  return aux_xml(block + " free'd") + stack_xml(error.released->function, report.list(error.released->frames)) +
         aux_xml("Block was alloc'd at") + allocated;
}

std::string error_xml(const report::Report& report, const report::ErrorEntry& error, size_t number) {
  const bool mismatched = error.kind == "mismatched";
  return fmt::format(
             "<error>\n  <unique>0x{:x}</unique>\n  <tid>0</tid>\n  <kind>{}</kind>\n  <what>{}</what>\n", number,
             mismatched ? "MismatchedFree" : "InvalidFree",
             mismatched ? "Mismatched free() / delete / delete []" : "Invalid free() / delete / delete[] / realloc()") +
         stack_xml(error.function, report.list(error.frames)) + block_xml(report, error) + "</error>\n\n";
}

std::string status_xml(const char* state, uint64_t nanoseconds) {
  const uint64_t seconds = nanoseconds / 1'000'000'000;
  return fmt::format("<status>\n  <state>{}</state>\n  <time>{:02}:{:02}:{:02}:{:02}.{:03} </time>\n</status>\n\n",
                     state, seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60,
                     nanoseconds / 1'000'000 % 1000);
}

std::string head_xml(const report::Report& report) {
  const model::Capture& capture = report.capture;
  std::string text = "<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n<protocolversion>4</protocolversion>\n";
  text += "<protocoltool>memcheck</protocoltool>\n\n<preamble>\n";
  text += fmt::format("  <line>Written by heaptap {} from its trace</line>\n", xml_text(capture.heaptap_version));
  if (const std::string doubt = doubt_about_leaks(report); !doubt.empty())
    text += fmt::format("  <line>Not all leaks are known: {}</line>\n", xml_text(doubt));
  text += fmt::format("  <line>Command: {}</line>\n</preamble>\n\n", xml_text(command_of(capture)));
  text += fmt::format("<pid>{}</pid>\n<ppid>{}</ppid>\n<tool>memcheck</tool>\n\n", capture.pid, capture.parent_pid);
  text += "<args>\n  <vargv>\n    <exe>heaptap</exe>\n  </vargv>\n  <argv>\n";
  for (size_t index = 0; index < capture.command.size(); ++index) {
    const char* const name = index == 0 ? "exe" : "arg";
    text += fmt::format("    <{}>{}</{}>\n", name, xml_text(capture.command[index]), name);
  }
  return text + "  </argv>\n</args>\n\n" + status_xml("RUNNING", 0);
}

std::string counts_xml(const report::Report& report) {
  std::string text = "<errorcounts>\n";
  for (size_t number = 0; number < report.errors.size(); ++number) {
    text += fmt::format("  <pair>\n    <count>{}</count>\n    <unique>0x{:x}</unique>\n  </pair>\n",
                        report.errors[number].count, number);
  }
  text += "</errorcounts>\n\n<suppcounts>\n";
  for (const report::SuppressionEntry& entry : report.leaks.suppressions) {
    text += fmt::format("  <pair>\n    <count>{}</count>\n    <name>{}</name>\n  </pair>\n", entry.hidden.blocks,
                        xml_text(entry.text));
  }
  return text + "</suppcounts>\n\n</valgrindoutput>\n";
}

}  // namespace

base::Result<> write_memcheck_xml(const report::Report& report, const report::Write& write) {
  HEAPTAP_TRY(require_scan(report, "memcheck-xml"));
  write(head_xml(report));
  for (size_t number = 0; number < report.errors.size(); ++number)
    write(error_xml(report, report.errors[number], number));
  write(status_xml("FINISHED", report.capture.duration_ns));
  const std::vector<Leak> leaks = leaks_of(report);
  for (size_t record = 0; record < leaks.size(); ++record) write(leak_xml(report, leaks[record], record, leaks.size()));
  write(counts_xml(report));
  return {};
}

}  // namespace heaptap::exports
