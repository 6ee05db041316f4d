#include "apps/target/console.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capture/uplink/local_client.h"
#include "capture/uplink/local_console.h"
#include "common/base/safe_text.h"
#include "common/base/small_file.h"
#include "common/base/stop_signals.h"
#include "common/base/units.h"

namespace heaptap::target {
namespace {

using uplink::LocalConsole;
using uplink::LocalFigures;
using uplink::LocalHost;

bool print_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    text.remove_prefix(written > 0 ? static_cast<size_t>(written) : 0);
  }
  return true;
}

base::Error nothing_recorded() {
  return base::make_error(
      "heaptap-target has no recording of this user here (recordings of root and other users are shown to these users "
      "only)");
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

// Rate of events since `before`, or since the start of the recording.
std::string row_of(const LocalFigures& now, const LocalFigures* before) {
  const uint64_t events = now.events - (before != nullptr ? std::min(before->events, now.events) : 0);
  const uint64_t ns = now.time_ns - (before != nullptr ? std::min(before->time_ns, now.time_ns) : 0);
  constexpr uint64_t kSecondNs = 1'000'000'000;
  const uint64_t rate =
      ns > 0 ? static_cast<uint64_t>(static_cast<double>(events) * kSecondNs / static_cast<double>(ns)) : 0;
  const uint64_t percent = now.log_limit_bytes > 0 ? now.log_used_bytes * 100 / now.log_limit_bytes : 0;
  return padded(std::to_string(now.pid), 8) + padded(base::format_duration(now.time_ns), 10) +
         padded(base::format_count(now.events), 16) + padded(base::format_count(rate), 14) +
         padded(base::format_count(now.lost_events), 10) + padded(std::to_string(percent) + "%", 6) +
         padded(base::format_bytes(now.resident_bytes), 12) + "  " + now.via + "  " + base::safe_text(now.program) +
         "\n";
}

std::string words_of_host(std::string_view line) {
  const auto host = LocalHost::of_line(line);
  if (!host) return "?";
  if (host->is_file) return "no host: recorded into a file";
  const std::string waiting = ", " + base::format_bytes(host->waiting_bytes) + " waiting for it";
  return (host->peer.empty() ? "no host connected" : "host " + base::safe_text(host->peer)) + waiting;
}

constexpr std::string_view kHead =
    "     pid      time          events      events/s      lost   log    resident  by  program\n";

base::Result<> show_status(std::map<uint64_t, LocalFigures>* before) {
  const std::vector<std::string> answers = uplink::ask_local_consoles("figures");
  if (answers.empty()) return std::unexpected(nothing_recorded());
  std::string text;
  std::map<uint64_t, LocalFigures> now;
  for (const std::string& answer : answers) {
    const std::vector<std::string> lines = base::split(answer, '\n');
    if (lines.empty()) continue;
    text += words_of_host(lines.front()) + "\n";
    if (lines.size() > 1) text += kHead;
    for (size_t i = 1; i < lines.size(); ++i) {
      const auto figures = LocalFigures::of_line(lines[i]);
      if (!figures) continue;
      const auto known = before != nullptr ? before->find(figures->pid) : std::map<uint64_t, LocalFigures>::iterator();
      text += row_of(*figures, before != nullptr && known != before->end() ? &known->second : nullptr);
      now.emplace(figures->pid, *figures);
    }
  }
  if (before != nullptr) *before = std::move(now);
  if (!print_all(text)) return base::fail("can't print: {}", base::reason_of(errno));
  return {};
}

// Until a signal, or until nothing is recorded any more.
base::Result<> watch(const Options& options) {
  base::stop_signals::forward_to(0);
  const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(options.interval);
  std::map<uint64_t, LocalFigures> before;
  HEAPTAP_TRY(show_status(&before));
  while (base::stop_signals::requests() == 0) {
    (void)poll(nullptr, 0, static_cast<int>(pause.count()));  // ends at a signal
    if (base::stop_signals::requests() > 0 || !show_status(&before)) break;
  }
  return {};
}

// The answers of those that did it: of several recordings one has the process.
base::Result<std::vector<std::string>> order(const std::string& question) {
  std::vector<std::string> answers = uplink::ask_local_consoles(question);
  if (answers.empty()) return std::unexpected(nothing_recorded());
  const std::string first = answers.front();
  std::erase_if(answers, [](const std::string& answer) { return answer.starts_with(LocalConsole::kError); });
  if (!answers.empty()) return answers;
  return base::fail("{}", base::safe_text(std::string(base::trimmed(first.substr(LocalConsole::kError.size())))));
}

base::Result<> order_and_say(const std::string& question, const std::string& done) {
  const auto answers = order(question);
  if (!answers) return std::unexpected(answers.error());
  (void)print_all(done + "\n");
  return {};
}

base::Result<> ask_for_report(const std::string& question) {
  const auto answers = order(question);
  if (!answers) return std::unexpected(answers.error());
  for (const std::string& answer : *answers) {
    const auto host = LocalHost::of_line(answer);
    const bool is_here = host && !host->peer.empty();
    (void)print_all(is_here ? "the host is writing a report: " + base::safe_text(host->peer) + "\n"
                            : "no host connected: the next one writes the report\n");
  }
  return {};
}

}  // namespace

base::Result<> ask_recordings(const Options& options) {
  switch (options.command) {
    case Command::kMonitor:
      return watch(options);
    case Command::kReport:
      return ask_for_report(options.address.empty() ? "report" : "report " + options.address);
    case Command::kMark:
      return order_and_say("mark " + options.address, "mark '" + base::safe_text(options.address) + "' is set");
    case Command::kClear:
      return order_and_say(options.address.empty() ? "clear" : "clear " + options.address, "counts from here on");
    default:
      return show_status(nullptr);
  }
}

}  // namespace heaptap::target
