// Questions of programs to heaptap (heaptap_report, heaptap_scan, heaptap_is_recording). In a traced program, these functions
// by themselves return that nothing records: a thread at the end of one gets the answer in place of the result.
//
//   at its return instruction ▸ Asked ▸ (heaptap: hold, release; a report) ▸ kAnswer ▸ result and counts ▸ over the instruction
//
// Until then the thread is held. If heaptap or the recording ends before that, it continues with its own result:
// ENOTSUP.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include "capture/tracer/tracer.h"
#include "common/base/sizes.h"

namespace heaptap::tracer {
namespace {

constexpr std::chrono::minutes kLongestPatience{2};  // as include/heaptap/heaptap.h has it

// heaptap_scan_counts: the size that the program knows, in a word, then as many counts as that has room for. (32-bit x86 aligns
// numbers of 64 bits to 4 bytes.) False: the program's memory isn't there.
bool write_counts(AddressSpace& space, uint64_t address, const Answer::Counts& counts) {
  const uint64_t word = space.cpu().word_bytes();
  uint64_t struct_bytes = 0;
  if (address == 0) return true;
  if (!arch::read_word(space.cpu(), space.memory(), address, struct_bytes)) return false;
  if (struct_bytes < word) return true;
  std::array<uint8_t, sizeof(counts)> raw{};
  for (size_t at = 0; at < raw.size(); ++at) {
    const size_t in_number = at % sizeof(uint64_t);
    const size_t shift = space.cpu().is_big_endian() ? sizeof(uint64_t) - 1 - in_number : in_number;
    raw[at] = static_cast<uint8_t>(counts[at / sizeof(uint64_t)] >> 8 * shift);
  }
  return space.memory().write(address + word, raw.data(), base::at_most(raw.size(), struct_bytes - word));
}

// Without a terminator: not a text.
std::string path_at(AddressSpace& space, uint64_t address) {
  std::string text(PATH_MAX, '\0');
  const size_t bytes = address == 0 ? 0 : space.memory().read_some(address, text.data(), text.size());
  const size_t length = strnlen(text.data(), bytes);
  return length < bytes ? text.substr(0, length) : "";
}

}  // namespace

// False: the question is finished, and the registers have the result.
bool Tracer::ask(Tracee& thread, const CallObserver::Resolved& question, arch::RegisterImage& registers) {
  const TracedProcess& process = thread.process();
  AddressSpace& space = *process.space;
  if (process.phase != Phase::kTraced || process.is_vfork_child || closing_) return false;
  const bool is_off = wire::is_switched_off(space.log().header());
  if (question.asked == ApiCall::kIsRecording) {
    space.cpu().set_result(registers, is_off ? 0 : 1);
    return false;
  }
  const bool is_report = question.asked == ApiCall::kReport;
  Packet packet;
  if (is_report) packet.text = path_at(space, question.argument);
  if (is_report && packet.text.empty()) {
    space.cpu().set_result(registers, EINVAL);
    return false;
  }
  thread.question = {.asked = question.asked,
                     .number = ++last_question_,
                     .argument = question.argument,
                     .since = TracedProcess::Clock::now()};
  thread.write_registers(registers);  // stopped at the instruction
  packet.header = {.kind = PacketKind::kAsked, .process = process.id, .parent = thread.id()};
  packet.header.reason = static_cast<uint32_t>(is_report ? Asked::Kind::kReport : Asked::Kind::kScan);
  packet.header.question = last_question_;
  send(std::move(packet));
  return true;
}

void Tracer::take_answer(const PacketHeader& answer) {
  for (const auto& [id, thread] : threads_) {
    if (thread->question.asked == ApiCall::kNone || thread->question.number != answer.question) continue;
    return answer_question(*thread, static_cast<int>(answer.value), answer.counts);
  }
}

void Tracer::answer_question(Tracee& thread, int error, const Answer::Counts& counts) {
  AddressSpace& space = *thread.process().space;
  const Question question = std::exchange(thread.question, {});
  adapt_ticks();
  arch::RegisterImage registers;
  if (!thread.read_registers(registers)) return;  // killed: its exit event follows
  if (error == 0 && question.asked == ApiCall::kScan && !write_counts(space, question.argument, counts)) error = EFAULT;
  space.cpu().set_result(registers, static_cast<uint32_t>(error));
  const Site* const site = space.breakpoints().find(thread.met_address);
  if (site != nullptr && site->planted) {
    go_over(thread, *site, registers);
    end_awaits(thread);
  } else {
    thread.write_registers(registers);
    thread.met_address = 0;
  }
  resume(thread);
}

// For threads that have waited too long; or for all: heaptap doesn't run.
void Tracer::give_up_questions(bool all) {
  const auto now = TracedProcess::Clock::now();
  std::vector<pid_t> late;
  for (const auto& [id, thread] : threads_) {
    const Question& question = thread->question;
    if (question.asked != ApiCall::kNone && (all || now - question.since >= kLongestPatience)) late.push_back(id);
  }
  for (const pid_t id : late) {
    if (const auto known = threads_.find(id); known != threads_.end()) answer_question(*known->second, ETIMEDOUT);
  }
}

bool Tracer::has_questions() const {
  return std::ranges::any_of(threads_,
                             [](const auto& known) { return known.second->question.asked != ApiCall::kNone; });
}

}  // namespace heaptap::tracer
