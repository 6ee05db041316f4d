#include "views/exports/formats.h"

#include <algorithm>
#include <array>

#include "views/exports/finding_writers.h"
#include "views/exports/memlog.h"
#include "views/exports/profile_writers.h"

namespace heaptap::exports {
namespace {

constexpr Format profile(std::string_view name, std::string_view reader, std::string_view extension,
                         base::Result<> (*write)(const Input&, const report::Write&), Needs needs = {}) {
  return {name, reader, extension, needs, nullptr, write};
}

constexpr std::array kFormats{
    // Of profilers.
    profile("folded", "flamegraph.pl, speedscope, inferno", ".folded", write_folded, {.metric = true, .memory = true}),
    profile("callgrind", "callgrind_annotate, KCachegrind", ".callgrind", write_callgrind),
    profile("massif", "ms_print, massif-visualizer", ".massif", write_massif, {.timeline = true}),
    profile("pprof", "go tool pprof, pprof", ".pb.gz", write_pprof, {.memory = true, .trace = true}),
    profile("dhat", "dh_view.html of Valgrind", ".dhat.json", write_dhat, {.trace = true}),
    profile("speedscope", "speedscope", ".speedscope.json", write_speedscope, {.memory = true}),
    profile("firefox", "Firefox Profiler, profiler-cli", ".firefox.json", write_firefox, {.memory = true}),
    profile("heaptrack", "heaptrack_print, heaptrack_gui", ".heaptrack.gz", write_heaptrack, {.trace = true}),
    // Of findings, and of data.
    Format{"memcheck-xml", "CI servers that read Valgrind's XML", ".xml", {.errors = true}, write_memcheck_xml},
    Format{"lsan", "CI servers that read LeakSanitizer's text", ".txt", {}, write_lsan},
    Format{"sarif", "code scanning, editors", ".sarif", {.errors = true}, write_sarif},
    Format{"junit", "CI servers, as tests", ".xml", {.errors = true}, write_junit},
    Format{"github", "GitHub Actions, as annotations", ".txt", {.errors = true}, write_github},
    Format{"lines", "editors, as a compiler's errors", ".txt", {.errors = true}, write_lines},
    Format{"csv", "spreadsheets", ".csv", {}, write_csv},
    profile("dot", "Graphviz", ".dot", write_dot, {.metric = true, .trace = true}),
    Format{"blocks", "human-readable text", ".txt", {.blocks = true, .timeline = true}, write_blocks},
    Format{.name = "memlog",
           .reader = "human-readable text, in numbered files",
           .extension = ".memlog",
           .needs = {},
           .write = write_memlog,
           .write_profile = nullptr,
           .write_path = nullptr,
           .write_series = write_memlog_series,
           .numbered_name = memlog_name},
    Format{.name = "sqlite",
           .reader = "sqlite3, data tools",
           .extension = ".sqlite",
           .needs = {.blocks = true, .timeline = true, .errors = true},
           .write = nullptr,
           .write_profile = nullptr,
           .write_path = write_sqlite},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

const Format* find_format(std::string_view name) {
  const auto* format = std::ranges::find(kFormats, name, &Format::name);
  return format == kFormats.end() ? nullptr : format;
}

base::Result<> write(const Format& format, const Input& input, const report::Write& write) {
  return format.write != nullptr ? format.write(input.report, write) : format.write_profile(input, write);
}

}  // namespace heaptap::exports
