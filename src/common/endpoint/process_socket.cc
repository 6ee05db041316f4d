#include "common/endpoint/process_socket.h"

#include <cerrno>
#include <utility>

#include "common/endpoint/own_directory.h"

namespace heaptap::endpoint {
namespace {

base::Result<SocketFile> file_for(const ProcessName& process) {
  const auto directory = make_own_directory();
  if (!directory) return std::unexpected(directory.error());
  return SocketFile::create(*directory, file_name_of(process));
}

base::Result<base::UniqueFd> abstract_for(const ProcessName& process) {
  const auto address = address_of_process(process);
  if (!address) return base::fail("{}: too long for the name of a socket", to_text(process));
  base::UniqueFd socket = make_socket();
  if (socket && listen_at(socket.get(), *address)) return socket;
  if (errno == EADDRINUSE) return base::fail("the name {} is taken by another process", abstract_name_of(process));
  return base::fail("can't listen at {}: {}", abstract_name_of(process), base::reason_of(errno));
}

}  // namespace

base::Result<ProcessSocket> ProcessSocket::create(const ProcessName& process) {
  ProcessSocket made;
  auto file = file_for(process);
  auto abstract = abstract_for(process);
  if (!file && !abstract) return base::fail("{}; {}", file.error().message, abstract.error().message);
  if (file) made.file_.emplace(*std::move(file));
  if (abstract) made.abstract_ = *std::move(abstract);
  return made;
}

}  // namespace heaptap::endpoint
