// Live recording, controlled by the control protocol and read from its traces.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <utility>

#include "common/base/small_file.h"
#include "common/control/control_messages.h"
#include "views/client/client.h"
#include "views/client/live_trace.h"
#include "views/client/program_names.h"
#include "views/client/recorder.h"
#include "views/client/recording.h"

namespace heaptap::client {
namespace {

using control::Kind;

constexpr std::chrono::seconds kNamePatience{
    2};  // for the names of all remote programs together; see heaptap-console(1)

std::optional<uint64_t> known(uint32_t pid) { return pid != 0 ? std::optional(uint64_t{pid}) : std::nullopt; }

message::Fields of_process(uint32_t pid) { return control::encode(control::ProcessRequest{.pid = known(pid)}); }

class LiveRecording : public Recording, public LiveControl {
 public:
  explicit LiveRecording(std::unique_ptr<client::Client> client) : client_(std::move(client)) {}

  base::Result<> begin() {
    HEAPTAP_TRY(client_->ask(Kind::kSubscribe, {}));
    const auto main = client_->ask(Kind::kFigures, {});
    if (!main) return std::unexpected(main.error());
    main_ = control::decode_figures(main->fields).pid;
    return {};
  }
  void set_give_up(std::function<bool()> give_up) override { client_->set_give_up(std::move(give_up)); }

  [[nodiscard]] bool is_live() const override { return client_->is_connected(); }
  [[nodiscard]] std::string name() const override { return fmt::format("{}", main_); }
  [[nodiscard]] LiveControl* control() override { return this; }

  base::Result<std::vector<Process>> processes() override {
    const auto answer = client_->ask(Kind::kProcesses, {});
    if (!answer) return std::unexpected(answer.error());
    return control::decode_processes(answer->fields);
  }

  base::Result<Figures> figures(uint32_t pid) override {
    const auto answer = client_->ask(Kind::kFigures, of_process(pid));
    if (!answer) return std::unexpected(answer.error());
    return control::decode_figures(answer->fields);
  }

  base::Result<Settings> settings() override {
    const auto answer = client_->ask(Kind::kSettings, {});
    if (!answer) return std::unexpected(answer.error());
    return control::decode_settings(answer->fields);
  }

  base::Result<std::vector<model::Mark>> marks(uint32_t pid) override {
    const auto answer = client_->ask(Kind::kMarks, of_process(pid));
    if (answer) return control::decode_marks(answer->fields);
    // Of one that isn't recorded any more its trace has them.
    const auto opened = open_trace(pid);
    if (!opened) return std::unexpected(answer.error());
    return opened->trace->marks();
  }

  base::Result<report::Report> report(ProgramId program, const query::Query& query) override {
    const auto opened = open_trace(program);
    if (!opened) return std::unexpected(opened.error());
    return opened->trace->report(query, opened->bytes);
  }

  base::Result<report::Report> glance(ProgramId program, const query::Query& query) override {
    if (LiveTrace* const known = known_trace_of(program)) return known->glance(query);
    const auto opened = open_trace(program);
    if (!opened) return std::unexpected(opened.error());
    return opened->trace->glance(query);
  }

  [[nodiscard]] Freshness freshness(ProgramId program) override {
    LiveTrace* const known = known_trace_of(program);
    return known != nullptr ? known->freshness() : Freshness{};
  }

  base::Result<std::string> trace_file(ProgramId program) override {
    const auto opened = open_trace(program);
    if (!opened) return std::unexpected(opened.error());
    return opened->trace->path();
  }

  base::Result<> start(uint32_t pid) override { return tell(Kind::kStart, of_process(pid)); }
  base::Result<> stop(uint32_t pid) override { return tell(Kind::kStop, of_process(pid)); }
  base::Result<> reset(uint32_t pid) override { return tell(Kind::kReset, of_process(pid)); }

  base::Result<size_t> mark(uint32_t pid, const std::string& name) override {
    const auto answer =
        client_->ask(Kind::kMark, control::encode(control::MarkRequest{.pid = known(pid), .name = name}));
    if (!answer) return std::unexpected(answer.error());
    return control::decode_marks(answer->fields).size();
  }

  base::Result<ScanResult> scan(uint32_t pid, ScanKind kind) override {
    const auto answer = client_->ask(Kind::kScan, of_process(pid));
    if (!answer) return std::unexpected(answer.error());
    const uint32_t number = control::decode_scanned(answer->fields).number;
    return ScanResult{.number = number, .since = kind == ScanKind::kAll || number < 2 ? 0 : number - 1};
  }

  base::Result<> set_depth(uint32_t depth) override {
    return tell(Kind::kDepth, control::encode(control::DepthRequest{.depth = depth}));
  }

  base::Result<> detach(uint32_t pid) override { return tell(Kind::kDetach, of_process(pid)); }

  base::Result<> kill(uint32_t pid, const std::string& signal) override {
    return tell(Kind::kKill, control::encode(control::KillRequest{.pid = known(pid), .signal = signal}));
  }

  [[nodiscard]] int news_descriptor() const override { return client_->is_connected() ? client_->descriptor() : -1; }

  std::vector<News> take_news() override {
    std::vector<News> all;
    while (const auto fields = client_->next_news()) {
      auto news = control::decode_news(*fields);
      if (!news) continue;
      if (news->kind == News::Kind::kExecuted) current_.erase(news->pid);
      all.push_back(*std::move(news));
    }
    *recorder_lives_ = client_->is_connected();
    if (!client_->is_connected() && !told_loss_) {
      told_loss_ = true;
      all.push_back({.kind = News::Kind::kConnectionLost, .pid = 0, .parent_pid = 0, .number = 0});
    }
    return all;
  }

 private:
  struct Opened {
    LiveTrace* trace = nullptr;
    uint32_t pid = 0;
    uint64_t bytes = 0;  // up to which it is written
  };

  base::Result<> tell(message::Number kind, const message::Fields& fields) {
    const auto answer = client_->ask(kind, fields);
    if (!answer) return std::unexpected(answer.error());
    return {};
  }

  // Null: not open, or the process has executed another program.
  LiveTrace* known_trace_of(ProgramId program) {
    const uint32_t pid = program.pid == 0 ? main_ : program.pid;
    const auto current = current_.find(pid);
    if (program.image == 0 && current == current_.end()) return nullptr;
    const auto found = traces_.find({pid, program.image == 0 ? current->second : program.image});
    return found == traces_.end() ? nullptr : found->second.get();
  }

  // With all events so far. If the recorder can't be asked any more, open traces stay as they are.
  base::Result<Opened> open_trace(ProgramId program) {
    const uint32_t pid = program.pid == 0 ? main_ : program.pid;
    const control::SnapshotRequest request{.pid = known(pid), .image = program.image};
    auto answer = client_->ask(Kind::kSnapshot, control::encode(request));
    *recorder_lives_ = client_->is_connected();
    const bool is_any = program.pid == 0 && program.image == 0 && main_ != 0;
    if (!answer && is_any && client_->is_connected()) answer = client_->ask(Kind::kSnapshot, {});
    if (!answer) {
      LiveTrace* const known = known_trace_of(program);
      if (known == nullptr) return std::unexpected(std::move(answer).error());
      return Opened{known, pid, known->freshness().written_bytes};
    }
    const control::Snapshot snapshot = control::decode_snapshot(answer->fields);
    const std::pair key(snapshot.pid, snapshot.image);
    if (!traces_.contains(key)) HEAPTAP_TRY(add_trace(key, std::move(answer->file), snapshot.trace));
    uint32_t& current = current_[key.first];
    current = std::max(current, key.second);
    return Opened{traces_.at(key).get(), key.first, snapshot.trace_bytes};
  }

  base::Result<> add_trace(std::pair<uint32_t, uint32_t> key, base::UniqueFd file, const std::string& path) {
    auto opened = LiveTrace::open(std::move(file), path, recorder_lives_);
    if (!opened) return std::unexpected(opened.error());
    traces_.emplace(key, std::move(*opened));
    return {};
  }

  std::unique_ptr<client::Client> client_;
  uint32_t main_ = 0;
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<LiveTrace>> traces_;  // by pid and image
  std::map<uint32_t, uint32_t> current_;                                        // by pid: the current image
  bool told_loss_ = false;
  std::shared_ptr<std::atomic<bool>> recorder_lives_ = std::make_shared<std::atomic<bool>>(true);
};

base::Result<std::unique_ptr<Recording>> begin(base::Result<std::unique_ptr<client::Client>> client) {
  if (!client) return std::unexpected(std::move(client).error());
  auto recording = std::make_unique<LiveRecording>(*std::move(client));
  HEAPTAP_TRY(recording->begin());
  return recording;
}

}  // namespace

base::Result<std::unique_ptr<Recording>> connect_to_process(uint32_t pid, const std::string& machine) {
  return begin(client::Client::connect({static_cast<pid_t>(pid), machine}));
}

base::Result<std::unique_ptr<Recording>> connect_to_recording_of(pid_t recorder) {
  for (const endpoint::ProcessName& process : client::processes_with_socket()) {
    const auto reached = client::reach_recorder(process);
    if (reached && reached->recorder == recorder) return begin(client::Client::connect(process));
  }
  return base::fail("heaptap (pid {}) is not recording yet", recorder);
}

base::Result<std::unique_ptr<Recording>> connect_to_socket(const std::string& path) {
  return begin(client::Client::connect(path));
}

std::vector<Offer> recordings_of_this_user() {
  std::vector<Offer> offers;
  std::vector<client::NameQuestion> questions;
  std::vector<size_t> asked;  // by question: the offer
  for (const endpoint::ProcessName& process : client::processes_with_socket()) {
    auto reached = client::reach_recorder(process);
    if (!reached) continue;
    const auto pid = static_cast<uint32_t>(process.pid);
    const bool is_here = process.machine.empty();
    const bool accepts = static_cast<bool>(reached->connection);
    if (!is_here && accepts) {
      questions.push_back({.pid = pid, .connection = std::move(reached->connection)});
      asked.push_back(offers.size());
    }
    offers.push_back({.pid = pid,
                      .program = is_here ? base::name_of_process(process.pid) : std::string(),
                      .machine = process.machine,
                      .recorder = reached->recorder,
                      .answers = accepts});
  }
  const auto names = client::ask_for_names(questions, kNamePatience);
  for (size_t i = 0; i < asked.size(); ++i) {
    offers[asked[i]].answers = names[i].has_value();
    offers[asked[i]].program = names[i].value_or("");
  }
  return offers;
}

std::vector<Offer> recordings_of_machine(const std::string& machine) {
  std::vector<Offer> offers = recordings_of_this_user();
  std::erase_if(offers, [&](const Offer& offer) { return offer.machine != machine; });
  return offers;
}

}  // namespace heaptap::client
