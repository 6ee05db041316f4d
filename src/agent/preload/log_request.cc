#include "agent/preload/log_request.h"

#include "agent/core/exit_signals.h"
#include "agent/core/kernel.h"
#include "agent/core/platform.h"
#include "agent/core/report_signal.h"
#include "agent/core/string.h"
#include "agent/preload/collector_socket.h"
#include "agent/preload/line.h"
#include "agent/preload/preload_only_collector.h"
#include "common/arch/native.h"

namespace heaptap::agent {

constinit LogRequest g_log_request{};

void set_socket_name(const char* text) {
  size_t bytes = 0;
  while (text[bytes] != '\0' && text[bytes] != wire::kSecretSeparator) ++bytes;
  const size_t all = length_of(text);
  if (bytes == 0 || all >= sizeof(g_log_request.socket_name) || all != bytes + 1 + wire::kSecretBytes) return;
  copy_bytes(g_log_request.socket_name, text, all + 1);
  g_log_request.socket_name_bytes = static_cast<uint8_t>(bytes);
}

void set_collectors_filters(const char* text) {
  uint32_t count = 0;
  for (; *text >= '0' && *text <= '9'; ++text) count = count * 10 + static_cast<uint32_t>(*text - '0');
  g_log_request.filters = count;
}

namespace {

// A forked child sends its parent's state, whose log it still has: it may be the only one that knows it.
bool begins_off(wire::StartReason reason) {
  if (reason != wire::StartReason::kFork || g_session.log == nullptr) return g_log_request.begins_off;
  return wire::is_switched_off(*g_session.log);
}

// Yama permits only ancestors, and a process that it names, to look at it. The program's own choice stays.
void allow_reader(const Socket& socket) {
  constexpr long kNameReader = 0x59616d61;  // PR_SET_PTRACER
  const int collector = socket.peer();
  if (collector <= 0 || (g_session.ptracer != 0 && g_session.ptracer != static_cast<unsigned long>(collector))) return;
  g_session.ptracer = static_cast<unsigned long>(collector);
  kernel::system_call(__NR_prctl, kNameReader, collector);
}

}  // namespace

wire::Hello make_hello(wire::StartReason reason) {
  wire::Hello hello{wire::kHelloMagic,
                    wire::kHandshakeVersion,
                    wire::kLogVersion,
                    sizeof(void*),
                    begins_off(reason) ? uint16_t{wire::kBeginsOff} : uint16_t{0},
                    static_cast<uint32_t>(arch::native::kArchitecture),
                    reason,
                    kernel::process_id(),
                    kernel::parent_process_id(),
                    {}};
  copy_bytes(hello.secret, g_log_request.socket_name + g_log_request.socket_name_bytes + 1, sizeof(hello.secret));
  return hello;
}

namespace platform {

bool has_log_source() { return g_log_request.socket_name_bytes != 0 || g_log_request.output != nullptr; }

uint32_t filters_at_start() { return g_log_request.filters; }

LogMemory get_log(wire::StartReason reason) {
  using Answer = LogMemory::Answer;
  if (g_log_request.socket_name_bytes == 0 && !start_own_collector()) return {Answer::kNobodyThere, nullptr, 0};
  Socket socket;
  const wire::Hello hello = make_hello(reason);
  const bool is_by_name = socket.connect_to_collector() && socket.send(&hello, sizeof(hello));
  const bool is_by_line = !is_by_name && ask_by_line(socket, hello);
  if (is_by_line) g_log_request.may_need_line = true;
  if (!is_by_name && !is_by_line) return {Answer::kNobodyThere, nullptr, 0};
  wire::Welcome welcome{};
  int descriptor = -1;
  if (!socket.receive(&welcome, sizeof(welcome), descriptor)) return {Answer::kNobodyThere, nullptr, 0};
  if (descriptor < 0) return {Answer::kRefused, nullptr, 0};
  void* memory = nullptr;
  if (welcome.magic == wire::kHelloMagic && welcome.accepted == 1 && welcome.log_bytes >= sizeof(wire::LogHeader) &&
      welcome.log_bytes <= SIZE_MAX) {
    memory = kernel::map_shared(descriptor, own_address(welcome.log_bytes));
  }
  kernel::close(descriptor);
  if (memory != nullptr && is_by_name && (welcome.flags & wire::kIsNoAncestor) != 0) allow_reader(socket);
  if (memory == nullptr) return {Answer::kRefused, nullptr, 0};
  return {Answer::kGiven, memory, welcome.log_bytes};
}

void note_session(wire::StartReason reason, wire::LogHeader* log) {
  if (reason == wire::StartReason::kStart) settle_line(log != nullptr);
  if (log == nullptr) return;
  tell_own_scopes(*log);
  report_signal::arm();  // first: it may be a fatal one
  arm_signals();
}

}  // namespace platform
}  // namespace heaptap::agent
