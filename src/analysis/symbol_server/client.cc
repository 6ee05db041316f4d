#include "analysis/symbol_server/client.h"

#include <poll.h>

#include <algorithm>
#include <span>
#include <utility>

#include "analysis/symbol_server/name_bytes.h"
#include "analysis/symbol_server/symbol_messages.h"
#include "common/base/byte_span.h"
#include "common/message/common_messages.h"

namespace heaptap::symbol_server {
namespace {

using channel::Clock;
using message::Fields;
using message::Message;
using symbols::SymbolLevel;

constexpr size_t kMaxRowBytes = size_t{64} << 20;

base::Error wrong() { return base::make_error("invalid answer"); }

}  // namespace

Client::Client(ClientOptions options) : options_(std::move(options)) {}

Client::~Client() = default;

void Client::give_up(const base::Error& why) {
  connection_.reset();
  if (std::exchange(is_given_up_, true) || !options_.tell) return;
  options_.tell(base::make_error("no symbols from {}: {}", options_.name, why.message));
}

// One step of the exchange: sends and receives as much as possible, or waits.
base::Result<> Client::exchange(channel::Time until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  if (left.count() <= 0) return base::fail("no answer in time");
  if (options_.is_interrupted && options_.is_interrupted()) return base::fail("interrupted");
  std::vector<pollfd> waits;
  connection_->add_waits(waits);
  constexpr std::chrono::milliseconds kLongestPause{200};
  (void)poll(waits.data(), waits.size(), static_cast<int>(std::min(left, kLongestPause).count()));
  connection_->proceed(Clock::now());
  std::vector<uint8_t> came;
  if (connection_->read(came) > 0) reader_.add({reinterpret_cast<const char*>(came.data()), came.size()});
  if (!reader_.is_sound()) return std::unexpected(wrong());
  if (came.empty() && connection_->is_gone()) {
    return base::fail("{}", connection_->why().empty() ? "it closed the connection" : connection_->why());
  }
  return {};
}

base::Result<Message> Client::next_message(channel::Time until) {
  while (true) {
    if (auto message = reader_.next()) return *std::move(message);
    HEAPTAP_TRY(exchange(until));
  }
}

base::Result<> Client::send(const Message& message, channel::Time until) {
  const std::string bytes = message::encode(message);
  for (size_t done = 0; done < bytes.size();) {
    const size_t taken = connection_->write(base::bytes_of(bytes).subspan(done));
    done += taken;
    if (taken == 0) HEAPTAP_TRY(exchange(until));
  }
  connection_->flush();
  return {};
}

base::Result<> Client::say_hello(channel::Time until) {
  HEAPTAP_TRY(send(message::hello(), until));
  const auto hello = next_message(until);
  if (!hello) return std::unexpected(hello.error());
  if (message::is_hello_of_this_version(*hello)) return {};
  return base::fail("it speaks another version of the protocol");
}

// Other machines that connect during this time are ignored.
base::Result<> Client::await_server() {
  const channel::Time until = Clock::now() + options_.connecting;
  while (!connection_) {
    if (options_.is_interrupted && options_.is_interrupted()) return base::fail("interrupted");
    if (Clock::now() >= until) {
      return base::fail(
          "no server connected; run `heaptap symbols serve --connect HOST:PORT DIR...` there to connect to this "
          "machine");
    }
    std::vector<pollfd> waits;
    options_.listener->add_waits(waits);
    constexpr int kPauseMs = 200;
    (void)poll(waits.data(), waits.size(), kPauseMs);
    options_.listener->proceed(Clock::now());
    while (options_.listener->next_failed()) {
    }
    if (auto connection = options_.listener->next()) connection_ = *std::move(connection);
  }
  reader_ = message::MessageReader(message::kMaxAnswerBytes);
  auto done = say_hello(until);
  if (!done) connection_.reset();
  return done;
}

base::Result<> Client::connect() {
  if (options_.listener) return await_server();
  base::Error why = base::make_error("it has no address");
  const channel::Time until = Clock::now() + options_.connecting;
  for (const channel::Address& address : options_.addresses) {
    auto connection = channel::Connection::connect(address, options_.security, {}, Clock::now());
    if (!connection) {
      why = connection.error();
      continue;
    }
    connection_ = *std::move(connection);
    reader_ = message::MessageReader(message::kMaxAnswerBytes);
    base::Result<> ready;
    while (ready && !connection_->is_ready()) ready = exchange(until);
    if (ready) ready = say_hello(until);
    if (ready) return {};
    why = ready.error();
    connection_.reset();
  }
  return std::unexpected(why);
}

// A server closes an idle connection: connect again.
void Client::look_at_connection() {
  if (!connection_) return;
  connection_->proceed(Clock::now());
  std::vector<uint8_t> came;
  connection_->read(came);
  if (connection_->is_gone()) connection_.reset();
}

base::Result<Fields> Client::ask(message::Number kind, Fields fields) {
  look_at_connection();
  if (!connection_) HEAPTAP_TRY(connect());
  const uint64_t number = ++last_number_;
  const channel::Time began = Clock::now();
  const channel::Time until =
      began + std::min<Clock::duration>(options_.answer, std::chrono::nanoseconds(options_.in_all) - waited_);
  HEAPTAP_TRY(send({kind, number, std::move(fields)}, until));
  auto message = next_message(until);
  waited_ += Clock::now() - began;
  if (!message) return std::unexpected(message.error());
  if (message->number != number) return std::unexpected(wrong());
  if (message->kind == message::CommonKind::kRefusal)
    return base::fail("{}", message::decode_refusal(message->fields).message);
  if (message->kind != message::CommonKind::kAnswer) return std::unexpected(wrong());
  return std::move(message->fields);
}

std::optional<Fields> Client::ask_or_give_up(message::Number kind, Fields fields) {
  if (is_given_up_) return std::nullopt;
  auto answer = ask(kind, std::move(fields));
  if (answer) return *std::move(answer);
  give_up(answer.error());
  return std::nullopt;
}

SymbolLevel Client::level_of(const std::string& build_id) {
  const std::scoped_lock lock(mutex_);
  if (const auto known = levels_.find(build_id); known != levels_.end()) return known->second;
  const auto answer = ask_or_give_up(Kind::kSymbolLevels, encode(LevelsRequest{.build_ids = {build_id}}));
  SymbolLevel level = SymbolLevel::kNothing;
  if (answer) {
    const std::vector<uint64_t> levels = decode_levels_answer(*answer).levels;
    const uint64_t value = levels.empty() ? 0 : levels.front();
    if (value <= static_cast<uint64_t>(SymbolLevel::kLines)) {
      level = static_cast<SymbolLevel>(value);
    } else {
      give_up(wrong());
    }
  }
  return levels_.emplace(build_id, level).first->second;
}

std::vector<std::vector<model::Frame>> Client::frames_at(const std::string& build_id,
                                                         std::span<const uint64_t> addresses) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::vector<model::Frame>> all;
  while (all.size() < addresses.size()) {
    const auto piece = addresses.subspan(all.size(), std::min(kMaxAddresses, addresses.size() - all.size()));
    const FramesRequest request{.build_id = build_id, .addresses = write_addresses(piece)};
    const auto answer = ask_or_give_up(Kind::kFramesAt, encode(request));
    const auto bytes = answer ? decode_frames_answer(*answer).frames : std::nullopt;
    if (!bytes) break;
    auto frames = read_frames(*bytes);
    if (!frames || frames->empty() || frames->size() > piece.size()) {
      give_up(wrong());
      break;
    }
    std::ranges::move(*frames, std::back_inserter(all));
  }
  return all;
}

std::optional<symbols::Variable> Client::variable_at(const std::string& build_id, uint64_t address,
                                                     bool is_thread_local) {
  const std::scoped_lock lock(mutex_);
  const VariableRequest request{.build_id = build_id, .address = address, .is_thread_local = is_thread_local};
  const auto answer = ask_or_give_up(Kind::kVariableAt, encode(request));
  return answer ? decode_variable_answer(*answer) : std::nullopt;
}

model::RowTable Client::rows_of(const std::string& build_id, std::optional<uint64_t> wanted) {
  const std::scoped_lock lock(mutex_);
  std::string bytes;
  for (bool more = true; more;) {
    const RowsRequest request{.build_id = build_id, .address = wanted, .begins = bytes.size()};
    const auto answer = ask_or_give_up(Kind::kRowsOf, encode(request));
    const RowsAnswer rows = answer ? decode_rows_answer(*answer) : RowsAnswer{};
    if (!rows.rows) return {};
    more = rows.more;
    if (rows.rows->empty() || bytes.size() + rows.rows->size() > kMaxRowBytes) {
      give_up(wrong());
      return {};
    }
    bytes += *rows.rows;
  }
  auto rows = model::decode_rows(base::bytes_of(bytes));
  if (!rows) give_up(wrong());
  return rows ? *std::move(rows) : model::RowTable{};
}

}  // namespace heaptap::symbol_server
