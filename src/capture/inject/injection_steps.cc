// Steps of an injection that touch the process: see injection.h.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "capture/inject/injection.h"
#include "capture/inject/injection_check.h"
#include "capture/inject/own_step.h"
#include "capture/inject/remote_thread.h"
#include "capture/inject/thread_choice.h"
#include "capture/log/area_reader.h"
#include "capture/process/memory_map.h"
#include "capture/process/open_files.h"
#include "capture/process/process_status.h"
#include "capture/process/ptrace_refusal.h"
#include "common/arch/native.h"
#include "common/base/descriptor_message.h"
#include "common/base/sizes.h"

namespace heaptap::inject {
namespace {

using process::Mapping;

constexpr uint64_t kMapCall = arch::native::kMapCall;
constexpr std::chrono::milliseconds kTrapsPatience{100};
constexpr size_t kMaxThreadsBytes = size_t{64} << 20;

bool has_failed(const std::optional<int64_t>& result) { return !result || (*result < 0 && *result > -4096); }

int64_t or_lost(const std::optional<int64_t>& result) { return result.value_or(-ESRCH); }

// Argument of a system call.
constexpr uint64_t word(int64_t value) { return static_cast<uint64_t>(value); }

// Anonymous memory of the process: the code that is written to it later is never writable there.
bool map_at(RemoteThread& thread, const base::AddressRange& range) {
  const auto mapped = thread.call(kMapCall, {range.begin, range.size(), PROT_READ | PROT_EXEC,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, word(-1), 0});
  if (has_failed(mapped)) return false;
  if (word(*mapped) == range.begin) return true;
  thread.call(SYS_munmap, {word(*mapped), range.size(), 0, 0, 0, 0});  // by a kernel that doesn't know the flag
  return false;
}

// A descriptor of this process, in the other one: sent over a pair of sockets that it makes. `scratch`: its memory for that.
class SentDescriptor {
 public:
  // `opened`: what is there as long as this lives.
  SentDescriptor(pid_t process, RemoteThread& thread, const MemoryFile& memory, uint64_t scratch, OpenedThere& opened)
      : process_(process), thread_(thread), memory_(memory), scratch_(scratch), opened_(opened) {}
  ~SentDescriptor() {
    for (int& descriptor : opened_.descriptors) {
      if (descriptor >= 0) thread_.call(SYS_close, {word(descriptor), 0, 0, 0, 0, 0});
      descriptor = -1;
    }
  }
  SentDescriptor(const SentDescriptor&) = delete;
  SentDescriptor& operator=(const SentDescriptor&) = delete;

  // Its number there; negative: -errno.
  int64_t send(int descriptor) {
    const auto paired = thread_.call(SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, scratch_, 0, 0});
    int numbers[2] = {-1, -1};
    if (has_failed(paired)) return or_lost(paired);
    if (!memory_.read(scratch_, numbers, sizeof(numbers))) return -EFAULT;
    std::ranges::copy(numbers, opened_.descriptors);
    const base::UniqueFd end = process::copy_descriptor(process_, numbers[1]);
    if (!end) return -errno;
    if (base::send_message(end.get(), ".", descriptor) != 1) return -errno;
    return receive();
  }

 private:
  // [message][part][control][byte]
  int64_t receive() {
    struct {
      msghdr message;
      iovec part;
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
      char byte;
    } there{};
    const auto at = [&](size_t offset) { return reinterpret_cast<void*>(scratch_ + offset); };
    there.message.msg_iov = static_cast<iovec*>(at(offsetof(decltype(there), part)));
    there.message.msg_iovlen = 1;
    there.message.msg_control = at(offsetof(decltype(there), control));
    there.message.msg_controllen = sizeof(there.control);
    there.part = {at(offsetof(decltype(there), byte)), 1};
    if (!memory_.write(scratch_, &there, sizeof(there))) return -EFAULT;
    const auto got =
        thread_.call(SYS_recvmsg, {word(opened_.descriptors[0]), scratch_, MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0, 0, 0});
    if (has_failed(got)) return or_lost(got);
    if (!memory_.read(scratch_, &there, sizeof(there)) || there.message.msg_controllen < CMSG_LEN(sizeof(int)))
      return -EBADF;
    int number = -1;
    std::memcpy(&number, there.control + (CMSG_LEN(sizeof(int)) - sizeof(int)), sizeof(number));
    opened_.descriptors[2] = number;
    return number;
  }

  pid_t process_;
  RemoteThread& thread_;
  const MemoryFile& memory_;
  uint64_t scratch_;
  OpenedThere& opened_;
};

base::Error refusal_of(wire::InjectedStart start) {
  if (start == wire::InjectedStart::kUnknownLibrary)
    return base::make_error("its C library keeps thread numbers at an unknown place");
  return base::make_error("the agent can't begin there (is its address space limited?)");
}

}  // namespace

// In two short stops: nobody is stopped while the image is written.
base::Result<> Injection::put_in(const GivenLog& log) {
  choose_functions(log);
  HEAPTAP_TRY(find_places());
  HEAPTAP_TRY(make_trampolines());
  const std::vector<uint8_t> image = make_image(log);
  wire::InjectedAgent contract;
  std::memcpy(&contract, image.data() + image_.contract_offset(), sizeof(contract));
  StepOutcome outcome = in_own_process([&](StepOutcome& result) { map_areas(contract, result); });
  const bool may_be_mapped = outcome.is_done || outcome.has_died;
  if (outcome.is_done && !write_image(image)) outcome.fail("the agent can't be written into its memory");
  if (outcome.is_done) {
    has_traps_ = true;
    outcome = in_own_process([&](StepOutcome& result) { begin(log, contract, result); });
  }
  if (outcome.is_done) {
    others_ = find_own_mappings(log);
    tell_mappings();
    return {};
  }
  if (may_be_mapped) take_out_beginning(log, outcome.opened);
  areas_.clear();
  return base::fail("{}", outcome.why);
}

// A thread of the process, stopped, that makes calls for the injector; for a process of its own, which traces nothing else: another stop
// would last as long as this waits.
base::Result<RemoteThread> Injection::stop_one(std::chrono::milliseconds patience) {
  // A filter that has come since might end the program for a call.
  if (is_filtered(process_)) return base::fail("it restricts its system calls now");
  std::set<pid_t> unfit;  // on a stack that it shares with others, or gone
  while (const pid_t id = wait_for_thread(process_, patience, unfit)) {
    unfit.insert(id);
    if (ptrace(PTRACE_SEIZE, id, nullptr, PTRACE_O_TRACESYSGOOD) != 0) {
      if (errno == ESRCH) continue;
      return std::unexpected(process::ptrace_refusal(process_, id, errno));
    }
    auto thread = RemoteThread::stop(id, return_code_, file_);
    if (thread && is_thread_filtered(id)) return base::fail("it restricts its system calls now");
    if (thread) return thread;
  }
  if (unfit.empty()) return base::fail("all its threads wait in calls that can't be interrupted unnoticed");
  return base::fail("its threads run on stacks with an unknown amount of room");
}

// In a process of its own. The contract goes there at once: by it a later injector knows what this is, should this one be killed.
void Injection::map_areas(const wire::InjectedAgent& contract, StepOutcome& result) {
  auto thread = stop_one(kPatience);
  if (!thread) return result.fail(thread.error().message);
  const base::AddressRange data{image_start() + image_.data_offset(), image_start() + image_.bytes()};
  std::vector<base::AddressRange> made;
  for (const base::AddressRange& range : mapped()) {
    if (map_at(*thread, range)) made.push_back(range);
  }
  const bool are_mapped = made.size() == areas_.size();
  if (are_mapped) file_.write(image_start() + image_.contract_offset(), &contract, sizeof(contract));
  result.is_done =
      are_mapped && !has_failed(thread->call(SYS_mprotect, {data.begin, data.size(), PROT_READ | PROT_WRITE, 0, 0, 0}));
  if (result.is_done) return;
  result.fail("no memory near its functions");
  unmap(*thread, made);
}

void Injection::unmap(RemoteThread& thread, std::span<const base::AddressRange> ranges) {
  for (const base::AddressRange& range : ranges) thread.call(SYS_munmap, {range.begin, range.size(), 0, 0, 0, 0});
}

bool Injection::write_image(const std::vector<uint8_t>& image) const {
  return file_.write(image_start(), image.data(), image.size()) && std::ranges::all_of(areas_, [&](const Area& area) {
           return file_.write(area.start, area.code.data(), area.code.size());
         });
}

// In a process of its own. The agent maps more by itself, and what the log takes of it stays, however this ends.
void Injection::begin(const GivenLog& log, const wire::InjectedAgent& contract, StepOutcome& result) {
  auto thread = stop_one(kPatience);
  if (!thread) return result.fail(thread.error().message);
  constexpr uint64_t kScratch = 32768;  // at the other end of that stack
  const auto stack_top = reinterpret_cast<uintptr_t>(contract.enter_stack_top);
  uint64_t mapped_at = 0;
  {
    SentDescriptor sent(process_, *thread, file_, stack_top - kScratch, result.opened);
    const int64_t descriptor = sent.send(log.descriptor);
    if (descriptor < 0) {
      const std::string why = base::reason_of(static_cast<int>(-descriptor));
      return result.fail(base::make_error("the log can't be handed over: {}", why).message);
    }
    const auto mapped_log =
        thread->call(kMapCall, {0, log.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, word(descriptor), 0});
    if (has_failed(mapped_log)) return result.fail("no memory for the log");
    mapped_at = word(*mapped_log);
  }
  constexpr size_t kLogOffset = offsetof(wire::InjectedAgent, log);
  file_.write(image_start() + image_.contract_offset() + kLogOffset, &mapped_at, sizeof(mapped_at));
  const auto begun = give_order(*thread, wire::InjectedOrder::kBegin);
  if (!begun) return result.fail("the agent has failed as it began");
  const auto start = static_cast<wire::InjectedStart>(*begun);
  if (start != wire::InjectedStart::kRecording) return result.fail(refusal_of(start).message);
  set_traps(*thread, true);
  result.is_done = true;
}

TrapAction Injection::trap_action() const {
  constexpr size_t kOffset = offsetof(wire::InjectedAgent, trap_action);
  return {.code = return_code_,
          .address = has_traps_ && !is_filtered(process_) ? image_start() + image_.contract_offset() + kOffset : 0};
}

// To who may have to take it out.
void Injection::tell_mappings() const {
  struct {
    uint64_t count;
    wire::InjectedSpan mappings[wire::kMaxInjectedMappings];
  } told{.count = std::min<uint64_t>(others_.size(), wire::kMaxInjectedMappings), .mappings = {}};
  for (size_t i = 0; i < told.count; ++i) told.mappings[i] = {others_[i].begin, others_[i].end};
  static_assert(offsetof(wire::InjectedAgent, others) ==
                offsetof(wire::InjectedAgent, other_count) + sizeof(told.count));
  file_.write(image_start() + image_.contract_offset() + offsetof(wire::InjectedAgent, other_count), &told,
              sizeof(told));
}

// Of SIGTRAP. False: the thread is gone.
bool Injection::set_traps(RemoteThread& thread, bool takes) {
  using Agent = wire::InjectedAgent;
  const uint64_t contract = image_start() + image_.contract_offset();
  const uint64_t own = contract + offsetof(Agent, trap_action);
  const uint64_t programs = contract + offsetof(Agent, programs_trap_action);
  const auto exchange = [&](uint64_t wanted, uint64_t before) {
    return !has_failed(thread.call(SYS_rt_sigaction, {SIGTRAP, wanted, before, sizeof(uint64_t), 0, 0}));
  };
  if (!exchange(0, contract + offsetof(Agent, trap_action_now))) return false;
  const Agent now = read_contract();
  const bool is_own = now.trap_action_now.handler == now.trap_action.handler;
  if (takes) return is_own || exchange(own, programs);
  // The kernel takes a handler away where a thread that blocks the signal comes to a breakpoint.
  const bool is_lost = now.trap_action_now.handler == nullptr && now.programs_trap_action.handler != nullptr;
  return (!is_own && !is_lost) || exchange(programs, 0);
}

StepOutcome Injection::exchange_traps(bool takes) {
  return in_own_process([&](StepOutcome& result) {
    auto thread = stop_one(kTrapsPatience);
    result.is_done = thread && set_traps(*thread, takes);
  });
}

// Who comes to a breakpoint goes on by himself then, should the process be killed that answers it.
void Injection::take_traps() {
  const StepOutcome outcome = exchange_traps(true);
  has_traps_ = has_traps_ || outcome.is_done || outcome.has_died;
}

void Injection::give_back_traps() {
  if (has_traps_) has_traps_ = !exchange_traps(false).is_done;
}

// The thread obeys in the agent. Its result; none: it isn't known to have done so.
std::optional<uint64_t> Injection::give_order(RemoteThread& thread, wire::InjectedOrder order) const {
  using Agent = wire::InjectedAgent;
  const Agent agent = read_contract();
  const uint64_t contract = image_start() + image_.contract_offset();
  const auto read_result = [&]() -> std::optional<uint64_t> {
    uint64_t result = wire::kNoResult;
    if (!file_.read(contract + offsetof(Agent, result), &result, sizeof(result)) || result == wire::kNoResult)
      return std::nullopt;
    return result;
  };
  const bool is_told = agent.magic == wire::kInjectedAgentMagic &&
                       file_.write(contract + offsetof(Agent, result), &wire::kNoResult, sizeof(wire::kNoResult)) &&
                       file_.write(contract + offsetof(Agent, order), &order, sizeof(order));
  if (!is_told) return std::nullopt;
  const base::AddressRange code{reinterpret_cast<uintptr_t>(agent.enter), reinterpret_cast<uintptr_t>(agent.enter_end)};
  return thread.run(code, reinterpret_cast<uintptr_t>(agent.enter_stack_top), read_result);
}

// In a process of its own. After one that was killed the thread may still be on the stack for that.
std::optional<uint64_t> Injection::have_obeyed(wire::InjectedOrder order, std::chrono::milliseconds patience) {
  if (may_be_borrowed_ && !wait_for_borrowed()) return std::nullopt;
  may_be_borrowed_ = false;
  const StepOutcome outcome = in_own_process([&](StepOutcome& result) {
    auto thread = stop_one(patience);
    if (!thread) return;
    const auto obeyed = give_order(*thread, order);
    result.is_done = obeyed.has_value();
    result.order_result = obeyed.value_or(0);
  });
  may_be_borrowed_ = outcome.has_died;
  return outcome.is_done && outcome.order_result != wire::kNotObeyed ? std::optional(outcome.order_result)
                                                                     : std::nullopt;
}

bool Injection::settle() {
  give_back_traps();
  if (wants_signals_ && is_filtered(process_)) wants_signals_ = false;
  constexpr int kTries = 20;
  if (wants_signals_ && !has_traps_ && have_left_actions()) {
    has_signals_ = true;
    const bool is_done = have_obeyed(wire::InjectedOrder::kTakeSignals, kTrapsPatience).has_value();
    wants_signals_ = !is_done && ++tries_for_signals_ != kTries;
  }
  return !has_traps_ && !wants_signals_;
}

// No thread is in the function that hands out actions, behind where it is hooked. Once for all.
bool Injection::have_left_actions() {
  std::vector<base::AddressRange> functions;
  for (const Function& function : functions_) {
    if (function.told.way == wire::InjectedWay::kSignalAction)
      functions.push_back({function.told.begin, function.told.end});
  }
  if (!have_left_actions_) {
    const StepOutcome outcome = in_own_process([&](StepOutcome& result) {
      Quiesce threads(process_, file_);
      result.is_done = threads.seize() && threads.wait_until_left(functions);
    });
    have_left_actions_ = outcome.is_done;
  }
  return have_left_actions_;
}

// After a step that was killed: the thread that was borrowed may be in the agent, or be about to make the call that it was asked for. That
// goes on without the step. False: it isn't known to be done.
bool Injection::wait_for_borrowed() {
  const StepOutcome left = in_own_process([&](StepOutcome& result) {
    Quiesce threads(process_, file_);
    std::vector<base::AddressRange> memory = mapped();
    memory.push_back(return_code_.call);
    memory.push_back(return_code_.signal);
    result.is_done = threads.seize() && threads.wait_until_left(memory);
  });
  return left.is_done;
}

// Of an agent that hasn't begun, or whose beginning isn't known to be whole. No code leads there.
void Injection::take_out_beginning(const GivenLog& log, const OpenedThere& opened) {
  if (!wait_for_borrowed()) return;
  std::vector<base::AddressRange> ranges = find_own_mappings(log);
  const auto map = read_map();
  for (const base::AddressRange& range : mapped()) {
    const Mapping* const there = process::find_mapping(map, range.begin);
    if (there != nullptr && there->range.begin == range.begin && there->is_anonymous()) ranges.push_back(range);
  }
  if (is_there()) give_back_traps();
  (void)in_own_process([&](StepOutcome&) {
    auto thread = stop_one(kPatience);
    for (const int descriptor : opened.descriptors) {
      if (thread && descriptor >= 0) thread->call(SYS_close, {word(descriptor), 0, 0, 0, 0, 0});
    }
  });
  (void)remove_mappings(ranges);
}

// What the agent has mapped by itself, which is all that it ever maps, and what it left of the log.
std::vector<base::AddressRange> Injection::find_own_mappings(const GivenLog& log) const {
  std::vector<base::AddressRange> found;
  struct stat status{};
  if (fstat(log.descriptor, &status) != 0) return found;
  const auto map = read_map();
  for (const Mapping& mapping : map) {
    if (mapping.shared && mapping.inode == status.st_ino) found.push_back(mapping.range);
  }
  for (const base::AddressRange& area : log::read_own_areas(*log.parts)) {
    const Mapping* const there = process::find_mapping(map, area.begin);
    if (there != nullptr && there->is_anonymous() && area.end <= there->range.end) found.push_back(area);
  }
  return found;
}

base::Result<> Injection::quiesce(bool installs) {
  std::vector<Replacement> replacements = sites_;
  for (Replacement& each : replacements) {
    if (!installs) std::swap(each.from, each.to);
  }
  const StepOutcome outcome = in_own_process([&](StepOutcome& result) {
    Quiesce threads(process_, file_, trap_action(), &result.replaced);
    base::Result<> done = threads.seize();
    if (done) done = threads.replace(replacements);
    result.is_done = done.has_value();
    if (!done) result.fail(done.error().message);
    result.figures = threads.figures();
  });
  figures_ = outcome.figures;
  if (outcome.has_died && finish(replacements, outcome.replaced)) return {};
  if (!outcome.is_done) return base::fail("{}", outcome.why);
  return {};
}

namespace {

// Of those that were forked while breakpoints stood in the code, and their children: they have a copy of them.
void repair_children(pid_t process, const std::vector<Replacement>& replacements) {
  std::vector<pid_t> children;
  for (const pid_t thread : process::list_threads(process)) {
    const std::vector<pid_t> its = process::list_children(process, thread);
    children.insert(children.end(), its.begin(), its.end());
  }
  for (const pid_t child : children) {
    if (process::share_memory(process, child).value_or(false)) continue;
    const MemoryFile memory(child);
    for (const Replacement& each : replacements) {
      uint8_t first = 0;
      if (!memory.read(each.site, &first, 1) || first != kBreakpointByte) continue;
      memory.write(each.site + 1, each.program.data() + 1, each.program.size() - 1);
      memory.write(each.site, each.program.data(), 1);
    }
    repair_children(child, replacements);
  }
}

}  // namespace

// What a step has left that was killed, whose breakpoints nobody answers but the agent's handler. True: all is replaced.
bool Injection::finish(const std::vector<Replacement>& replacements, Replaced replaced) const {
  const bool is_behind = replaced == Replaced::kBehind;
  if (replaced == Replaced::kPlanted || is_behind) {
    for (const Replacement& each : replacements)
      file_.write(each.site, is_behind ? each.to.data() : each.from.data(), 1);
  }
  if (replaced != Replaced::kNothing) repair_children(process_, replacements);
  if (replaced == Replaced::kPartly) put_back(replacements);
  return is_behind;
}

// False: a thread doesn't come to a point where that is possible.
bool Injection::put_back(const std::vector<Replacement>& replacements) const {
  constexpr int kTries = 5;
  StepOutcome outcome;
  for (int i = 0; i < kTries && !outcome.is_done; ++i) {
    outcome = in_own_process([&](StepOutcome& result) {
      Quiesce threads(process_, file_, trap_action());
      result.is_done = threads.seize() && threads.put_back(replacements);
    });
  }
  repair_children(process_, replacements);
  return outcome.is_done;
}

base::Result<> Injection::patch() {
  const base::Result<> done = quiesce(true);
  if (done) give_back_traps();
  return done;
}

// False: the agent isn't there.
bool Injection::stop_recording() {
  const wire::InjectedAgent contract = read_contract();
  const auto off = static_cast<uint32_t>(contract.state_off);
  return contract.magic == wire::kInjectedAgentMagic &&
         file_.write(reinterpret_cast<uintptr_t>(contract.state), &off, sizeof(off));
}

void Injection::answer_ends(bool answers) const {
  const uint64_t value = answers ? 1 : 0;
  if (!is_there()) return;
  file_.write(image_start() + image_.contract_offset() + offsetof(wire::InjectedAgent, answers_ends), &value,
              sizeof(value));
}

base::Result<> Injection::unpatch() {
  if (!stop_recording()) return base::fail("the agent isn't there");
  // Before the program could see them. Where it has a filter they have gone before that.
  if (has_signals_ && !is_filtered(process_) && !have_obeyed(wire::InjectedOrder::kGiveBackSignals, kPatience))
    return base::fail("its signals can't be given back to it now");
  take_traps();
  return quiesce(false);
}

wire::InjectedAgent Injection::read_contract() const {
  wire::InjectedAgent contract{};
  const uint64_t at = is_mapped() ? image_start() + image_.contract_offset() : 0;
  if (at == 0 || !file_.read(at, &contract, sizeof(contract))) contract.magic = 0;
  return contract;
}

bool Injection::is_there() const {
  uint64_t magic = 0;
  return is_mapped() && file_.read(image_start() + image_.contract_offset(), &magic, sizeof(magic)) &&
         magic == wire::kInjectedAgentMagic;
}

// Whether a thread is in the agent, or in a function that the agent called.
bool Injection::is_within() const {
  const wire::InjectedAgent contract = read_contract();
  const auto count = base::as_size(contract.thread_count);
  const auto bytes = base::as_size(contract.thread_bytes);
  if (!count || !bytes || *bytes < sizeof(wire::InjectedThread) || *count > kMaxThreadsBytes / *bytes) return true;
  std::vector<uint8_t> table(*count * *bytes);
  if (!file_.read(reinterpret_cast<uintptr_t>(contract.threads), table.data(), table.size())) return true;
  for (size_t i = 0; i < *count; ++i) {
    wire::InjectedThread thread;
    std::memcpy(&thread, table.data() + i * *bytes, sizeof(thread));
    const bool lives = thread.number != 0 && process::read_thread_status(static_cast<pid_t>(thread.number)).has_value();
    if (thread.is_within != 0 && lives) return true;
  }
  return false;
}

base::Result<> Injection::take_out() {
  if (!is_removing_) {
    HEAPTAP_TRY(wait_until_left());
    HEAPTAP_TRY(give_back_signals());
    const std::vector<base::AddressRange> own = mapped();
    others_.insert(others_.end(), own.rbegin(), own.rend());  // the agent's data last
    is_removing_ = true;
  }
  HEAPTAP_TRY(remove_mappings(others_));
  areas_.clear();
  return {};
}

// Again, now that no thread is in a hook, where it might set a handler. Who has come into one meanwhile goes on in there.
base::Result<> Injection::give_back_signals() {
  if (!has_signals_) return {};
  if (!have_obeyed(wire::InjectedOrder::kGiveBackSignals, kPatience))
    return base::fail("its signals can't be given back to it now");
  has_signals_ = false;
  wait_for_children();
  return wait_until_left();
}

// Children that share the memory have handlers of their own until they execute a program, or end.
void Injection::wait_for_children() const {
  constexpr int kTries = 500;
  constexpr useconds_t kBetweenUs = 1000;
  const std::vector<pid_t> children = list_sharing_children(process_);
  const auto shares = [this](pid_t child) { return process::share_memory(process_, child).value_or(false); };
  for (int i = 0; i < kTries && std::ranges::any_of(children, shares); ++i) usleep(kBetweenUs);
}

// Each one once: where a step was killed, memory of the program may be in the place of those that it had removed.
base::Result<> Injection::remove_mappings(std::vector<base::AddressRange>& ranges) {
  constexpr int kMaxDeaths = 5;  // without any progress
  int deaths = 0;
  StepOutcome outcome;
  while (outcome.has_died && !ranges.empty()) {
    outcome = in_own_process([&](StepOutcome& result) {
      auto thread = stop_one(kPatience);
      if (!thread) return result.fail(thread.error().message);
      if (has_traps_ && is_there()) set_traps(*thread, false);
      for (const base::AddressRange& range : ranges) {
        ++result.removed_count;
        unmap(*thread, std::span(&range, 1));
      }
      result.is_done = true;
    });
    ranges.erase(ranges.begin(), ranges.begin() + outcome.removed_count);
    if (outcome.has_died && outcome.removed_count == 0 && ++deaths == kMaxDeaths) break;
  }
  if (!ranges.empty()) return base::fail("{}", outcome.why);
  return {};
}

// No code leads to the agent any more. Once each thread was outside, who comes there again is in a function that the agent has called, and
// is known to be; once nobody is in one, who is outside stays there: nobody needs to be traced after this.
base::Result<> Injection::wait_until_left() {
  const StepOutcome outcome = in_own_process([&](StepOutcome& result) {
    Quiesce threads(process_, file_);
    result.is_done =
        threads.seize() && threads.wait_until_left(mapped()) && !is_within() && threads.wait_until_left(mapped());
    result.figures = threads.figures();
    if (!result.is_done) result.fail("a thread may still be in the agent");
  });
  figures_ = outcome.figures;
  if (!outcome.is_done) return base::fail("{}", outcome.why);
  return {};
}

}  // namespace heaptap::inject
