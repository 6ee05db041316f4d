#include "capture/uplink/local_console.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "common/base/pages.h"
#include "common/base/process_file.h"
#include "common/base/safe_text.h"
#include "common/base/small_file.h"
#include "common/base/units.h"
#include "common/base/whole_number.h"
#include "common/endpoint/address.h"
#include "common/endpoint/own_directory.h"
#include "common/line/line_messages.h"

namespace heaptap::uplink {
namespace {

constexpr size_t kMaxClients = 8;
constexpr size_t kMaxLineBytes = 512;
constexpr std::chrono::seconds kLongestQuestion{2};

uint64_t resident_bytes(pid_t process) {
  const std::vector<std::string> pages = base::words_of(base::read_small_file(base::process_file(process, "statm")));
  const auto resident = pages.size() > 1 ? base::whole_number<uint64_t>(pages[1]) : std::nullopt;
  return resident.value_or(0) * base::page_bytes();
}

}  // namespace

std::string LocalFigures::to_line() const {
  std::string line;
  for (const uint64_t number : {pid, events, lost_events, log_used_bytes, log_limit_bytes, resident_bytes, time_ns}) {
    line += std::to_string(number) + "\t";
  }
  return line + via + "\t" + base::safe_text(program) + "\n";
}

std::string LocalHost::to_line() const {
  return std::string(is_file ? "1" : "0") + "\t" + std::to_string(waiting_bytes) + "\t" + peer + "\n";
}

std::optional<LocalHost> LocalHost::of_line(std::string_view line) {
  const std::vector<std::string> words = base::split(std::string(base::trimmed(line)), '\t');
  const auto bytes = words.size() > 1 ? base::whole_number<uint64_t>(words[1]) : std::nullopt;
  if (!bytes || words.size() > 3) return std::nullopt;
  return LocalHost{.is_file = words[0] == "1", .peer = words.size() > 2 ? words[2] : "", .waiting_bytes = *bytes};
}

std::optional<LocalFigures> LocalFigures::of_line(std::string_view line) {
  constexpr size_t kWords = 9;
  const std::vector<std::string> words = base::split(std::string(line), '\t');
  if (words.size() != kWords) return std::nullopt;
  LocalFigures figures;
  const std::array numbers{&figures.pid,
                           &figures.events,
                           &figures.lost_events,
                           &figures.log_used_bytes,
                           &figures.log_limit_bytes,
                           &figures.resident_bytes,
                           &figures.time_ns};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto number = base::whole_number<uint64_t>(words[i]);
    if (!number) return std::nullopt;
    *numbers[i] = *number;
  }
  figures.via = words[kWords - 2];
  figures.program = words[kWords - 1];
  return figures;
}

LocalConsole::LocalConsole(supervision::RecordedProcesses& processes, LineToHost* host)
    : processes_(processes), host_(host) {
  const auto directory = endpoint::make_own_directory();
  if (!directory) return;
  auto file =
      endpoint::SocketFile::create(*directory, std::string(kPrefix) + std::to_string(getpid()) + std::string(kSuffix));
  if (file) file_.emplace(*std::move(file));
}

void LocalConsole::add_waits(std::vector<pollfd>& waits) const {
  if (file_) waits.push_back({file_->descriptor(), POLLIN, 0});
  for (const Client& client : clients_) waits.push_back({client.connection.get(), POLLIN, 0});
}

void LocalConsole::serve() {
  accept_clients();
  std::erase_if(clients_, [this](Client& client) { return !hear(client); });
}

void LocalConsole::accept_clients() {
  while (file_ && clients_.size() < kMaxClients) {
    base::UniqueFd connection(accept4(file_->descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) return;
    if (!endpoint::may_ask(connection.get())) continue;
    clients_.push_back({.connection = std::move(connection), .since = std::chrono::steady_clock::now()});
  }
}

bool LocalConsole::hear(Client& client) {
  std::array<char, kMaxLineBytes> bytes{};
  const ssize_t got = recv(client.connection.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN)) return false;
  if (got > 0) client.line.append(bytes.data(), static_cast<size_t>(got));
  const size_t end = client.line.find('\n');
  if (end == std::string::npos) {
    return client.line.size() < kMaxLineBytes && std::chrono::steady_clock::now() - client.since < kLongestQuestion;
  }
  const std::string text = answer(std::string_view(client.line).substr(0, end));
  // Fits into the socket's buffer; else the client gets less.
  (void)send(client.connection.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return false;
}

std::string LocalConsole::answer(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  const std::string_view rest = line.substr(std::min(line.size(), word.size() + 1));
  if (word == "figures") return figures();
  base::Result<std::string> done =
      base::fail("heaptap-target doesn't know the command '{}'", base::safe_text(std::string(word)));
  if (word == "report") done = report(rest);
  if (word == "mark") done = mark(model::MarkKind::kNamed, "", std::string(rest));
  if (word == "clear") done = mark(model::MarkKind::kReset, rest, "reset");
  return done ? *done : std::string(kError) + done.error().message + "\n";
}

LocalHost LocalConsole::host() const {
  if (host_ == nullptr) return {.is_file = true};
  return {.peer = host_->link().is_up() ? base::safe_text(host_->link().peer()) : "",
          .waiting_bytes = host_->waiting_bytes()};
}

std::string LocalConsole::figures() const {
  std::string text = host().to_line();
  for (const supervision::RecordedProcess& process : processes_.all()) {
    const supervision::RecordingFigures told = process.recording->figures();
    text += LocalFigures{.pid = static_cast<uint64_t>(process.pid),
                         .events = told.events,
                         .lost_events = told.lost_events,
                         .log_used_bytes = told.log_used_bytes,
                         .log_limit_bytes = told.log_limit_bytes,
                         .resident_bytes = resident_bytes(process.pid),
                         .time_ns = told.time_ns,
                         .via = process.recording->capture().via,
                         .program = base::name_of_process(process.pid)}
                .to_line();
  }
  return text;
}

base::Result<std::vector<supervision::RecordedProcess*>> LocalConsole::named(std::string_view process) {
  std::vector<supervision::RecordedProcess*> found;
  const auto number = base::whole_number<pid_t>(process);
  for (supervision::RecordedProcess& each : processes_.all()) {
    if (process.empty() || number == each.pid) found.push_back(&each);
  }
  if (found.empty()) return base::fail("no process {} is recorded here", base::safe_text(std::string(process)));
  return found;
}

// Reports are written by the host.
base::Result<std::string> LocalConsole::report(std::string_view process) {
  if (host_ == nullptr) return base::fail("reports are written by a host, and this is recorded into a file");
  const auto found = named(process);
  if (!found) return std::unexpected(found.error());
  for (const supervision::RecordedProcess* const each : *found) {
    host_->send(line::message_of(
        line::ReportWanted{.pid = static_cast<uint64_t>(each->pid), .reason = line::kReportByConsole}));
  }
  return host().to_line();
}

base::Result<std::string> LocalConsole::mark(model::MarkKind kind, std::string_view process, const std::string& name) {
  constexpr size_t kMaxNameBytes = 256;
  if (name.empty() || name.size() > kMaxNameBytes) return base::fail("a mark's name has 1 to {} bytes", kMaxNameBytes);
  const auto found = named(process);
  if (!found) return std::unexpected(found.error());
  for (supervision::RecordedProcess* const each : *found) {
    if (const auto marked = each->recording->mark(kind, name); !marked) return std::unexpected(marked.error());
  }
  return std::string();
}

}  // namespace heaptap::uplink
