#include "common/endpoint/address.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "common/base/socket_peer.h"
#include "common/base/whole_number.h"

namespace heaptap::endpoint {
namespace {

constexpr std::string_view kAbstractBegin = "@heaptap.recording.";
constexpr std::string_view kFileBegin = "process.";
constexpr std::string_view kFileEnd = ".sock";
constexpr char kBeforeMachine = '@';
constexpr int kBacklog = 64;
// Characters not possible in a file name, and their replacements.
constexpr std::string_view kSlash = "%2F";
constexpr std::string_view kPercent = "%25";

std::string join(const ProcessName& process) {
  std::string name = fmt::format("{}", process.pid);
  if (!process.machine.empty()) name += kBeforeMachine + process.machine;
  return name;
}

std::optional<ProcessName> take_apart(std::string_view name) {
  const std::string_view number = name.substr(0, name.find(kBeforeMachine));
  const auto pid = base::whole_number<pid_t>(number);
  if (!pid || *pid <= 0) return std::nullopt;
  return ProcessName(*pid, number.size() < name.size() ? std::string(name.substr(number.size() + 1)) : std::string());
}

std::string escaped(std::string_view text) {
  std::string made;
  for (const char each : text) {
    if (each == '/') {
      made += kSlash;
    } else if (each == '%') {
      made += kPercent;
    } else {
      made += each;
    }
  }
  return made;
}

std::string unescaped(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const bool is_slash = text.starts_with(kSlash);
    const bool is_percent = text.starts_with(kPercent);
    made += is_slash ? '/' : is_percent ? '%' : text.front();
    text.remove_prefix(is_slash ? kSlash.size() : is_percent ? kPercent.size() : 1);
  }
  return made;
}

}  // namespace

std::string to_text(const ProcessName& process) {
  return process.machine.empty() ? fmt::format("process {}", process.pid)
                                 : fmt::format("process {} of {}", process.pid, process.machine);
}

std::string file_name_of(const ProcessName& process) {
  return fmt::format("{}{}{}", kFileBegin, escaped(join(process)), kFileEnd);
}

std::optional<ProcessName> process_of_file_name(std::string_view name) {
  if (!name.starts_with(kFileBegin) || !name.ends_with(kFileEnd)) return std::nullopt;
  name.remove_prefix(kFileBegin.size());
  if (name.size() < kFileEnd.size()) return std::nullopt;
  name.remove_suffix(kFileEnd.size());
  return take_apart(unescaped(name));
}

std::string abstract_name_of(const ProcessName& process) { return std::string(kAbstractBegin) + join(process); }

std::optional<ProcessName> process_of_abstract_name(std::string_view name) {
  if (!name.starts_with(kAbstractBegin)) return std::nullopt;
  return take_apart(name.substr(kAbstractBegin.size()));
}

std::optional<Address> address_of_process(const ProcessName& process) {
  Address address;
  const std::string name = abstract_name_of(process).substr(1);
  if (name.size() >= sizeof(address.name.sun_path)) return std::nullopt;
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path + 1, name.data(), name.size());  // a leading NUL: the abstract namespace
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

std::optional<Address> address_of_file(const std::string& path) {
  Address address;
  if (path.empty() || path.size() >= sizeof(address.name.sun_path)) return std::nullopt;
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path, path.data(), path.size());
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

base::UniqueFd make_socket() { return base::UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

bool listen_at(int socket, const Address& address) {
  return bind(socket, reinterpret_cast<const sockaddr*>(&address.name), address.bytes) == 0 &&
         listen(socket, kBacklog) == 0;
}

bool connect_to(int socket, const Address& address) {
  return connect(socket, reinterpret_cast<const sockaddr*>(&address.name), address.bytes) == 0;
}

bool may_ask(int connection) { return base::is_own_user_or_root(base::user_of_peer(connection)); }

}  // namespace heaptap::endpoint
