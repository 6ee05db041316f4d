#include "apps/heaptap/commands/profile_pushes.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>
#include <utility>

#include "analysis/symbols/file_pool.h"
#include "apps/heaptap/commands/terminal.h"
#include "capture/supervision/trace_half.h"
#include "common/base/clock.h"
#include "common/base/intervals.h"
#include "common/base/signals_blocked.h"
#include "common/base/small_file.h"
#include "common/base/stop_signals.h"
#include "common/channel/secret_file.h"
#include "views/client/low_priority.h"
#include "views/exports/metric.h"
#include "views/exports/profile_writers.h"
#include "views/push/envelope.h"
#include "views/push/otlp.h"

namespace heaptap::app {
namespace {

using base::ErrorKind;
using exports::MetricKind;
using AnswerKind = push::Answer::Kind;

constexpr const char* kTokenVariable = "HEAPTAP_PUSH_TOKEN";
constexpr size_t kMaxTokenBytes = 4096;
constexpr size_t kMaxPrograms = 256;  // at a time; each has its trace open
constexpr size_t kMaxTold = 5;
constexpr uint64_t kBytesAtATime = uint64_t{256} << 10;  // so that finish() waits for little

constexpr std::array kLive{MetricKind::kLiveBlocks, MetricKind::kLive};
constexpr std::array kAllocated{MetricKind::kAllocations, MetricKind::kAllocated};
constexpr std::array kAll{MetricKind::kAllocations, MetricKind::kAllocated, MetricKind::kLiveBlocks, MetricKind::kLive};

// As a header has it.
base::Result<std::string> check_token(std::string_view text, std::string_view origin) {
  text = base::trimmed(text);
  const bool is_word = !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
  if (is_word) return std::string(text);
  return base::fail_as(ErrorKind::kUsage, "{} has no token: one word of printable ASCII characters", origin);
}

base::Result<std::string> find_token(const PushOptions& options) {
  char* const variable = std::getenv(kTokenVariable);
  std::string given = variable == nullptr ? "" : variable;
  if (variable != nullptr) {
    explicit_bzero(variable, strlen(variable));
    unsetenv(kTokenVariable);  // started programs don't inherit it
  }
  if (options.token_file.empty()) return given.empty() ? given : check_token(given, kTokenVariable);
  const auto text = channel::read_owned_file(options.token_file, "--push-token-file: file",
                                             channel::FileAccess::kReadByOwner, kMaxTokenBytes);
  if (!text) return base::fail_as(ErrorKind::kUsage, "{}", text.error().message);
  if (!*text) return base::fail_as(ErrorKind::kUsage, "--push-token-file: no file '{}'", options.token_file);
  return check_token(**text, fmt::format("'{}'", options.token_file));
}

base::Result<> check_way_of_token(const PushOptions& options) {
  if (options.to->is_encrypted || options.to->is_loopback || options.token_in_clear) return {};
  return base::fail_as(ErrorKind::kUsage,
                       "--push: all between this machine and {} could read the token: use https://, or "
                       "--push-token-in-clear if they may",
                       options.to->shown);
}

base::Result<std::string> find_issuers(const PushOptions& options) {
  const char* const variable = std::getenv("SSL_CERT_FILE");
  if (options.ca_file.empty()) return std::string(variable == nullptr ? "" : variable);
  if (access(options.ca_file.c_str(), R_OK) == 0) return options.ca_file;
  return base::fail_as(ErrorKind::kUsage, "--push-ca: can't read '{}': {}", options.ca_file, base::reason_of(errno));
}

bool is_regular(const base::UniqueFd& file) {
  struct stat facts{};
  return file && fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode);
}

// What profiles have: all stacks with their names.
query::Query query_of(symbols::ResolverOptions symbols) {
  query::Query query;
  query.counting.statistics = query.counting.lifetimes = query.leaks.scans = false;
  query.symbols = std::move(symbols);
  query.symbols.progress = {};
  query.symbols.files = std::make_shared<symbols::FilePool>();
  return query;
}

}  // namespace

base::Result<std::unique_ptr<ProfilePushes>> ProfilePushes::create(const PushOptions& options,
                                                                   symbols::ResolverOptions symbols) {
  if (!options.to) return nullptr;
  auto token = find_token(options);
  if (!token) return std::unexpected(std::move(token).error());
  if (!token->empty()) HEAPTAP_TRY(check_way_of_token(options));
  auto issuers = find_issuers(options);
  if (!issuers) return std::unexpected(std::move(issuers).error());
  auto client = push::HttpClient::create({.url = options.to->url,
                                          .content_type = std::string(push::content_type(options.to->protocol)),
                                          .content_encoding = std::string(push::content_encoding(options.to->protocol)),
                                          .token = *std::move(token),
                                          .ca_file = *std::move(issuers),
                                          .is_direct = options.to->is_loopback,
                                          .time = base::intervals().reach});
  if (!client) return base::fail("--push: {}", client.error().message);
  return std::unique_ptr<ProfilePushes>(new ProfilePushes(options, std::move(symbols), *std::move(client)));
}

ProfilePushes::ProfilePushes(const PushOptions& options, symbols::ResolverOptions symbols,
                             std::unique_ptr<push::HttpClient> client)
    : to_(*options.to),
      every_(options.every_ns),
      labels_(options.labels),
      query_(query_of(std::move(symbols))),
      client_(std::move(client)) {}

ProfilePushes::~ProfilePushes() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = is_canceled_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

supervision::RecordingMaker ProfilePushes::followed(supervision::RecordingMaker maker) {
  return [this, maker = std::move(maker)](const log::LogOptions& options, const model::Capture& capture,
                                          const std::string& path, bool overwrite) {
    auto made = maker(options, capture, path, overwrite);
    if (made && made->trace_half != nullptr) add(capture, *made->trace_half);
    return made;
  };
}

void ProfilePushes::add(const model::Capture& capture, const supervision::TraceHalf& trace) try {
  auto program = std::make_unique<Program>();
  program->pid = capture.pid;
  program->file = trace.open_trace();
  program->labels = push::labels_of(capture, supervision::program_of(capture), labels_);
  program->since_unix_ns = base::clock_ns(CLOCK_REALTIME);
  const std::scoped_lock lock(mutex_);
  if (followed_ >= kMaxPrograms) {
    ++too_many_;
    return;
  }
  ++followed_;
  new_.push_back(std::move(program));
} catch (const std::bad_alloc&) {
  return;  // the recording goes on without it
}

void ProfilePushes::begin() try {
  if (!client_->begin()) throw std::bad_alloc();
  const base::SignalsBlocked blocked;
  is_done_ = false;
  thread_ = std::thread([this] { serve(); });
} catch (const std::exception& error) {
  is_done_ = true;
  tell(error.what());
}

void ProfilePushes::serve() {
  try {
    client::go_behind_others();
    auto tick = Clock::now() + every_;
    while (wait_until(pause_.count() != 0 ? std::min(tick, retry_at_) : tick)) {
      if (const auto now = Clock::now(); now >= tick) {
        while (tick <= now) tick += every_;
        count_due();
      }
      if (Clock::now() >= retry_at_) push_due();
    }
  } catch (const std::exception& error) {
    tell(error.what());
  }
  const std::scoped_lock lock(mutex_);
  is_done_ = true;
  changed_.notify_all();
}

// False: the recording has ended.
bool ProfilePushes::wait_until(Clock::time_point time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_until(lock, time, [this] { return ends_.load(); });
}

bool ProfilePushes::is_interrupted() const { return base::stop_signals::requests() != requests_before_; }

// What was read so far is lost to nobody: finish() reads on, with a usual priority.
bool ProfilePushes::may_read() const { return is_last_ ? !is_interrupted() : !ends_; }

// A profile on its way is waited for: the server may have taken it.
bool ProfilePushes::may_wait() const {
  return is_last_ ? !is_interrupted() && Clock::now() < deadline_ : !is_canceled_;
}

void ProfilePushes::take_new() {
  const std::scoped_lock lock(mutex_);
  for (auto& program : new_) programs_.push_back(std::move(program));
  new_.clear();
  followed_ = programs_.size();
}

void ProfilePushes::count_due() {
  take_new();
  for (const auto& program : programs_) ++program->due;
}

// Until one fails: the server would fail with the others as well.
void ProfilePushes::push_due() {
  for (const auto& program : programs_) {
    if (program->due != 0 && !push(*program)) break;
  }
  std::erase_if(programs_, [this](const std::unique_ptr<Program>& program) {
    return program->due == 0 && (program->is_complete || is_last_);
  });
  take_new();
}

bool ProfilePushes::push(Program& program) {
  const uint64_t now_unix_ns = base::clock_ns(CLOCK_REALTIME);
  const auto began = Clock::now();
  const auto body = make_body(program, now_unix_ns);
  deadline_ += Clock::now() - began;
  if (!body) {
    if (body.error().is_final) give_up(program, fmt::format("process {}: {}", program.pid, body.error().why));
    if (body.error().why.empty()) program.due = 0;
    return may_read();
  }
  is_posting_ = true;
  push::Answer answer = client_->post(*body, [this] { return may_wait(); });
  is_posting_ = false;
  if (answer.kind == AnswerKind::kAccepted && to_.protocol == push::Protocol::kOtlp) {
    std::string why = push::rejection_in(answer.text);
    if (!why.empty()) answer = {AnswerKind::kRefused, std::move(why)};
  }
  switch (answer.kind) {
    case AnswerKind::kAccepted:
      program.allocations.confirm();
      program.since_unix_ns = now_unix_ns;
      unsent_ += program.due - 1;
      program.due = 0;
      ++sent_;
      pause_ = {};
      return true;
    case AnswerKind::kRefused:
      tell(answer.text);
      unsent_ += std::exchange(program.due, 0);
      return true;
    case AnswerKind::kFailed:
      tell(answer.text);
      back_off();
      return false;
    case AnswerKind::kCanceled:
      break;
  }
  return false;
}

std::expected<std::string, ProfilePushes::Lack> ProfilePushes::make_body(Program& program, uint64_t now_unix_ns) try {
  auto report = read(program);
  if (!report) return std::unexpected(std::move(report).error());
  program.allocations.subtract_from(*report);
  std::string body = body_of(program, *report, now_unix_ns);
  if (body.empty()) return std::unexpected(Lack{});
  return body;
} catch (const std::exception& error) {
  return std::unexpected(Lack{.is_final = true, .why = error.what()});  // possibly read in part
}

std::expected<report::Report, ProfilePushes::Lack> ProfilePushes::read(Program& program) {
  const auto lack = [](bool is_final, std::string why) { return std::unexpected(Lack{is_final, std::move(why)}); };
  if (program.trace == nullptr) {
    if (!is_regular(program.file)) return lack(true, "its trace can't be read again: name a file with -o");
    auto trace = client::SteppedTrace::open(std::move(program.file), query_);
    if (!trace) return lack(true, trace.error().message);
    program.trace = *std::move(trace);
  }
  const uint64_t end = program.trace->file_bytes();  // of this moment: a busy program writes while it is read
  while (true) {
    const auto has_more = program.trace->advance_some(kBytesAtATime, end);
    if (!has_more) return lack(true, has_more.error().message);
    if (!*has_more) break;
    if (!may_read()) return lack(false, "interrupted");
  }
  auto report = program.trace->report(query_);
  if (!report) return lack(true, report.error().message);
  program.is_complete = report->capture.ended;
  return *std::move(report);
}

// Parca takes all types of a profile with a duration for sums, so it gets two.
std::string ProfilePushes::body_of(Program& program, const report::Report& report, uint64_t now_unix_ns) const {
  using exports::StoredProfile;
  const uint64_t passed_ns = now_unix_ns - std::min(program.since_unix_ns, now_unix_ns);
  const exports::Input input{report, &program.trace->source(), {}, exports::metrics().front()};
  if (to_.protocol == push::Protocol::kOtlp)
    return push::make_otlp(input, program.labels, {.unix_ns = now_unix_ns, .duration_ns = passed_ns});
  std::vector<StoredProfile> kinds{{.metrics = kAll, .time_unix_ns = now_unix_ns, .duration_ns = passed_ns}};
  if (to_.protocol == push::Protocol::kParca) {
    kinds.front().metrics = kAllocated;
    kinds.push_back({.metrics = kLive, .time_unix_ns = now_unix_ns});
  }
  std::vector<std::string> profiles;
  for (const StoredProfile& kind : kinds) {
    std::string bytes;
    const bool has_samples =
        exports::write_stored_pprof(input, kind, [&bytes](std::string_view piece) { bytes += piece; });
    if (has_samples) profiles.push_back(std::move(bytes));
  }
  return profiles.empty() ? "" : push::make_envelope(to_.protocol, program.labels, profiles);
}

void ProfilePushes::give_up(Program& program, const std::string& why) {
  tell(why);
  unsent_ += std::exchange(program.due, 0);
  program.is_complete = true;
}

void ProfilePushes::back_off() {
  const auto& intervals = base::intervals();
  pause_ = pause_.count() == 0 ? intervals.retry : std::min(pause_ * 2, intervals.remind);
  retry_at_ = Clock::now() + pause_;
}

void ProfilePushes::tell(const std::string& why) {
  last_failure_ = why;
  if (told_.size() < kMaxTold && told_.insert(why).second)
    print_error(fmt::format("heaptap: profiles aren't sent to {}: {}\n", to_.shown, why));
}

// The end is a moment of all. A failure is followed by other attempts, as long as there is time.
void ProfilePushes::push_last() {
  constexpr std::chrono::milliseconds kLook{50};
  is_last_ = true;
  count_due();
  for (push_due(); !programs_.empty() && may_wait(); push_due()) {
    while (may_wait() && Clock::now() < retry_at_)
      std::this_thread::sleep_for(std::min<Clock::duration>(kLook, pause_));
  }
}

// Of the time for the server, that which is left when the thread has ended.
std::chrono::nanoseconds ProfilePushes::await_thread() {
  constexpr std::chrono::milliseconds kLook{50};
  std::chrono::nanoseconds left = base::intervals().reach / 2;
  {
    std::unique_lock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
    while (!is_done_ && left.count() > 0 && !is_interrupted()) {
      const auto began = Clock::now();
      changed_.wait_for(lock, kLook, [this] { return is_done_; });
      if (is_posting_) left -= Clock::now() - began;
    }
    is_canceled_ = true;
  }
  if (thread_.joinable()) thread_.join();
  return left;
}

void ProfilePushes::finish(bool says_all) {
  requests_before_ = base::stop_signals::requests();
  const auto left = await_thread();
  deadline_ = Clock::now() + left;
  push_last();
  if (last_failure_.empty())
    last_failure_ = programs_.empty() ? "heaptap was late, on a busy machine" : "they weren't answered in time";
  if (is_interrupted()) last_failure_ = "interrupted";
  for (const auto& program : programs_) unsent_ += std::max<uint64_t>(program->due, 1);
  programs_.clear();
  print_result(says_all);
}

void ProfilePushes::print_result(bool says_all) {
  if (unsent_ == 0 && too_many_ == 0 && !says_all) return;
  const auto profiles = [](uint64_t count) { return fmt::format("{} profile{}", count, count == 1 ? "" : "s"); };
  std::string text = fmt::format("heaptap: {} sent to {}", profiles(sent_), to_.shown);
  if (unsent_ != 0) text += fmt::format("; {} not: {}", profiles(unsent_), last_failure_);
  if (too_many_ != 0) text += fmt::format("; {} processes not, more than {} at a time", too_many_, kMaxPrograms);
  print_error(text + "\n");
}

supervision::RecordingMaker followed(supervision::RecordingMaker maker, ProfilePushes* pushes) {
  return pushes == nullptr ? maker : pushes->followed(std::move(maker));
}

}  // namespace heaptap::app
