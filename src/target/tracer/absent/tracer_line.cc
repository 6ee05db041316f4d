// In place of a tracer, where there is none: says so.
#include "target/tracer/tracer_line.h"

namespace heaptap::tracer {

struct TracerLine::State {};

std::expected<std::unique_ptr<TracerLine>, std::string> TracerLine::start(const TracerOptions&) {
  return std::unexpected("ptrace is not available in this version of heaptap");
}
TracerLine::TracerLine(std::unique_ptr<State> state) : state_(std::move(state)) {}
TracerLine::~TracerLine() = default;
pid_t TracerLine::process() const { return 0; }
int TracerLine::descriptor() const { return -1; }
std::optional<TracerMessage> TracerLine::receive() { return std::nullopt; }
std::expected<void, std::string> TracerLine::attach_before_exec(pid_t) { return {}; }
void TracerLine::attach(pid_t) {}
void TracerLine::give_log(pid_t, const target::LogMemory&) {}
void TracerLine::refuse_log(pid_t) {}
void TracerLine::detach(pid_t) {}
void TracerLine::detach_all() {}
void TracerLine::end_may_go_on(pid_t) {}
std::expected<target::StoppedProcess, std::string> TracerLine::hold(pid_t) { return std::unexpected("no tracer"); }

}  // namespace heaptap::tracer
