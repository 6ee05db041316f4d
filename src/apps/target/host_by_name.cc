#include "apps/target/host_by_name.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/small_file.h"
#include "common/channel/random.h"
#include "common/network/dns_message.h"
#include "common/network/ip_address.h"

namespace heaptap::target {
namespace {

constexpr std::string_view kLocal = ".local";
constexpr std::string_view kMulticast = "224.0.0.251";
constexpr uint16_t kMulticastPort = 5353;
constexpr std::array kTypes{network::RecordType::kA, network::RecordType::kAaaa};

bool is_same_name(std::string_view one, std::string_view other) {
  const auto small = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter | 0x20) : letter;
  };
  return std::ranges::equal(one, other, {}, small, small);
}

// A numeric address; one with `:` is in brackets before a port.
std::optional<channel::Address> address_at(std::string_view number, uint16_t port) {
  const bool is_ipv6 = number.find(':') != std::string_view::npos;
  const std::string text = is_ipv6 ? "[" + std::string(number) + "]" : std::string(number);
  auto address = channel::parse_address(text + ":" + std::to_string(port));
  return address && !address->is_file() && !address->is_name() ? std::optional(*std::move(address)) : std::nullopt;
}

std::optional<network::Name> dns_name(const std::string& text) {
  network::Name name;
  for (const std::string& label : base::split(text, '.')) {
    if (!name.append(label)) return std::nullopt;
  }
  return name;
}

// RFC 1035, 4.1: recursion desired.
std::string question_of(uint16_t number, const network::Name& name, network::RecordType type) {
  constexpr char kRecursionDesired = 0x01;
  std::string bytes = network::write_message({.id = number, .questions = {{.name = name, .type = type}}});
  bytes[2] = static_cast<char>(bytes[2] | kRecursionDesired);
  return bytes;
}

// The words after this keyword, of all lines that begin with it.
std::vector<std::string> words_behind(const std::string& text, std::string_view key) {
  std::vector<std::string> found;
  for (const std::string& line : base::split(text, '\n')) {
    const std::vector<std::string> words = base::words_of(line);
    if (!words.empty() && words.front() == key) found.insert(found.end(), words.begin() + 1, words.end());
  }
  return found;
}

}  // namespace

HostByName::HostByName(std::string name, uint16_t port, Files files)
    : name_(std::move(name)), port_(port), files_(std::move(files)) {}

std::vector<channel::Address> HostByName::in_hosts() const {
  std::vector<channel::Address> found;
  for (const std::string& line : base::split(base::read_small_file(files_.hosts), '\n')) {
    const std::vector<std::string> words = base::words_of(line.substr(0, line.find('#')));
    if (words.empty() || std::none_of(words.begin() + 1, words.end(),
                                      [this](const std::string& word) { return is_same_name(word, name_); })) {
      continue;
    }
    if (const auto address = address_at(words.front(), port_)) found.push_back(*address);
  }
  return found;
}

// As resolv.conf(5) says: at most three servers, this machine if none is named; a name without a dot is looked up in
// the domains first.
void HostByName::read_servers() {
  constexpr size_t kMaxServers = 3;
  const std::string file = base::read_small_file(files_.servers);
  servers_ = words_behind(file, "nameserver");
  if (servers_.size() > kMaxServers) servers_.resize(kMaxServers);
  if (servers_.empty()) servers_.emplace_back("127.0.0.1");
  names_ = {name_};
  if (name_.find('.') != std::string::npos) return;
  std::vector<std::string> domains = words_behind(file, "search");
  if (domains.empty()) domains = words_behind(file, "domain");
  for (size_t i = 0; i < domains.size(); ++i) names_.insert(names_.end() - 1, name_ + "." + domains[i]);
}

void HostByName::begin(line::TimePoint now) {
  sockets_.clear();
  was_answered_ = false;
  found_ = in_hosts();
  if (!found_.empty()) return;
  read_servers();
  ask(now);
}

void HostByName::ask(line::TimePoint now) {
  constexpr std::chrono::seconds kLongestAnswer{2};
  sockets_.clear();
  until_ = now + kLongestAnswer;
  answers_left_ = 0;
  std::array<uint8_t, 2> random{};
  (void)channel::fill_random(random);
  question_ = static_cast<uint16_t>(random[0] << 8 | random[1]);
  const auto name = dns_name(names_.front());
  if (!name) return;
  const bool is_local = names_.front().ends_with(kLocal);
  for (const std::string& server : is_local ? std::vector{std::string(kMulticast)} : servers_) {
    const auto address = address_at(server, is_local ? kMulticastPort : files_.server_port);
    const auto to = address ? address->to_socket() : std::nullopt;
    if (!to) continue;
    base::UniqueFd socket(::socket(to->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // A connected socket receives answers of that server only; any machine with the name answers a multicast query.
    if (!socket || (!is_local && connect(socket.get(), to->get(), to->bytes) != 0)) continue;
    for (const network::RecordType type : kTypes) {
      const std::string bytes = question_of(question_, *name, type);
      const sockaddr* const where = is_local ? to->get() : nullptr;
      if (sendto(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL, where, is_local ? to->bytes : 0) > 0) {
        ++answers_left_;
      }
    }
    sockets_.push_back(std::move(socket));
  }
}

void HostByName::hear(base::UniqueFd& socket, line::TimePoint now) {
  constexpr std::chrono::milliseconds kOtherFamily{200};  // the other answer comes at about the same time
  std::array<char, 4096> bytes{};
  while (true) {
    const ssize_t got = recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == ECONNREFUSED) {
      answers_left_ -= std::min<size_t>(answers_left_, 1);
      continue;
    }
    if (got < 2) return;
    const auto head = static_cast<uint16_t>(static_cast<uint8_t>(bytes[0]) << 8 | static_cast<uint8_t>(bytes[1]));
    if (head != question_) continue;
    was_answered_ = true;
    answers_left_ -= std::min<size_t>(answers_left_, 1);
    const auto message = network::read_message({bytes.data(), static_cast<size_t>(got)});
    if (!message || !message->is_response) continue;
    for (const network::Record& record : message->answers) {
      if (std::ranges::find(kTypes, record.type) == kTypes.end()) continue;
      const auto family = record.type == network::RecordType::kA ? network::Family::kIpv4 : network::Family::kIpv6;
      const auto address = address_at(network::IpAddress::of_data(family, record.data).text(), port_);
      const auto is_it = [&](const channel::Address& other) { return other.to_text() == address->to_text(); };
      if (address && std::ranges::none_of(found_, is_it)) found_.push_back(*address);
    }
    if (!found_.empty()) until_ = std::min(until_, now + kOtherFamily);
  }
}

void HostByName::add_waits(std::vector<pollfd>& waits) const {
  for (const base::UniqueFd& socket : sockets_) waits.push_back({socket.get(), POLLIN, 0});
}

std::optional<base::Result<std::vector<channel::Address>>> HostByName::proceed(line::TimePoint now) {
  for (base::UniqueFd& socket : sockets_) hear(socket, now);
  if (!sockets_.empty() && answers_left_ > 0 && now < until_) return std::nullopt;
  if (!found_.empty()) return std::exchange(found_, {});
  if (!names_.empty()) names_.pop_front();
  if (names_.empty()) return std::unexpected(not_found());
  ask(now);
  return std::nullopt;
}

base::Error HostByName::not_found() const {
  const bool is_local = name_.ends_with(kLocal);
  const std::string why = was_answered_ ? "no such name"
                          : is_local    ? "no machine on the local network has this name"
                                        : "no name server of " + files_.servers + " answers";
  return {"can't find the host '" + name_ + "': " + why + "; check the name, add it to " + files_.hosts +
          ", or give its IP address"};
}

}  // namespace heaptap::target
