// A made-up report whose names are the worst for each format: `hostile_report FORMAT` prints it, `hostile_report FORMAT clean` one
// without findings, `… uncertain` one whose recording lost events, `… unscanned` one without a leak scan. Each name is a leak of its
// own, of 1, 2, 4, … bytes. `hostile_report sqlite FILE` writes a file.
#include <cstdio>
#include <string>

#include "views/exports/formats.h"

namespace {

using namespace heaptap;

const std::string kNames[] = {
    "quotes\"'`<tag>&amp;",
    "two\nlines\r\nand\ttabs",
    "cdata]]>--><!--",
    "100%25 of%0A::error::x",
    "::set-output name=a::b",
    "a,b;c|d",
    "=HYPERLINK(\"x\")",
    "@SUM(1)",
    "invalid\xff\xc3\x28 utf-8",
    "control\x01\x1b[31m",
    "not characters \xef\xbf\xbe\xef\xbf\xbf \xe2\x80\xae",
    "back\\slash \\n \\l {x|y}",
    std::string(10'000, 'S') + "<end>",
};

report::Report hostile_report() {
  report::Report report;
  model::Capture& capture = report.capture;
  capture.command = {"./bad \"<name>\n", "--a=]]>", "\xff"};
  capture.pid = 4711;
  capture.architecture = "x86_64";
  capture.via = "agent";
  capture.heaptap_version = "0.1.0";
  capture.ended = true;
  capture.exit.code = 0;
  capture.duration_ns = 1'500'000'000;
  report.trace_path = "tra\"ce<&>.htap";
  report.leaks.scanned = true;
  report.leaks.scan.at_end = true;
  report.sort_key = "usage";
  std::vector<report::BlockEntry>& blocks = report.blocks.emplace();
  uint64_t bytes = 1;
  for (const std::string& name : kNames) {
    report.frames.push_back({.function = name,
                             .symbol = {},
                             .module = "/lib/" + name,
                             .offset = 0x12,
                             .address = 0x5512,
                             .file = "/src/" + name,
                             .line = 7});
    report::StackEntry stack;
    stack.id = report.stacks.size() + 1;
    stack.function = "malloc";
    stack.allocations = stack.live_blocks = 1;
    stack.allocated_bytes = stack.live_bytes = stack.peak_bytes = bytes;
    stack.threads = {1};
    const auto frame = static_cast<report::FrameIndex>(report.frames.size() - 1);
    stack.frames = report.frames.add(std::vector{frame});
    stack.leaks.edit().definite = {1, bytes};
    report.leaks.definite += {1, bytes};
    blocks.push_back({.number = stack.id,
                      .address = 0x1000 * stack.id,
                      .size_bytes = bytes,
                      .allocated_at_ns = 5,
                      .thread = 1,
                      .stack_id = stack.id,
                      .function = "malloc",
                      .caller = frame});
    report.totals.allocations += 1;
    report.totals.live_blocks += 1;
    report.totals.live_bytes += bytes;
    report.totals.allocated_bytes += bytes;
    report.stacks.push_back(std::move(stack));
    bytes *= 2;
  }
  report.threads = std::vector<report::ThreadEntry>{{1, 4711, kNames[1], 13, 0, report.totals.live_bytes.counted()}};
  report.timeline = {{1'000'000'000, 8191, 13, 8191, 13, 0, 0}};
  report::ErrorEntry error{.kind = "double",
                           .function = "free",
                           .variant = "",
                           .address = 0x2000,
                           .count = 3,
                           .frames = {0},
                           .allocated = {},
                           .released = {}};
  error.allocated = report::ErrorEntry::Origin{"malloc", "", 24, {2}};
  error.released = report::ErrorEntry::Origin{"free", "", 0, {1}};
  report.errors = {error};
  report.errors_requested = true;
  report.totals.double_releases = 3;
  return report;
}

// The formats of findings take nothing of it.
class NoEvents : public model::EventSource {
 public:
  base::Result<> replay(model::EventSink& /*sink*/, const model::ReplayOptions& /*options*/) override { return {}; }
  [[nodiscard]] const model::Capture& capture() const override { return capture_; }
  [[nodiscard]] const model::Tables& tables() const override { return tables_; }
  [[nodiscard]] const std::vector<model::ScanSummary>& scans() const override { return scans_; }
  [[nodiscard]] const std::vector<model::Note>& scan_notes() const override { return notes_; }
  base::Result<model::HeapScan> load_scan(size_t /*index*/) override { return base::fail("there is no scan"); }

 private:
  model::Capture capture_;
  model::Tables tables_;
  std::vector<model::ScanSummary> scans_;
  std::vector<model::Note> notes_;
};

void take_findings_out(report::Report& report) {
  report.errors.clear();
  report.totals.double_releases = 0;
  report.leaks.definite = {};
  for (report::StackEntry& stack : report.stacks) stack.leaks.set_scanned();
}

}  // namespace

int main(int count, char** words) {
  const exports::Format* const format = count < 2 ? nullptr : exports::find_format(words[1]);
  if (format == nullptr) return 2;
  const std::string how = count > 2 ? words[2] : "";
  report::Report report = hostile_report();
  if (!how.empty() && format->write_path == nullptr) take_findings_out(report);
  if (how == "uncertain") {
    report.capture.lost_events = 1;
    report.known = {.leaks = false, .releases = false, .saw_all = false, .gaps = {report::Gap::kLostEvents}};
  }
  if (how == "unscanned") {
    report.leaks = {};
    for (report::StackEntry& stack : report.stacks) stack.leaks.reset();
  }
  const auto print = [](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), stdout); };
  NoEvents source;
  const exports::Input input{report, &source, {}, *exports::find_metric("live")};
  const auto written =
      format->write_path != nullptr ? format->write_path(input, how) : exports::write(*format, input, print);
  if (written) return 0;
  std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return 1;
}
