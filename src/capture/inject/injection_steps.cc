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
#include <cstddef>
#include <cstring>
#include <optional>

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
constexpr size_t kMaxThreadsBytes = size_t{64} << 20;

bool has_failed(const std::optional<int64_t>& result) { return !result || (*result < 0 && *result > -4096); }

int64_t or_lost(const std::optional<int64_t>& result) { return result.value_or(-ESRCH); }

// Argument of a system call.
constexpr uint64_t word(int64_t value) { return static_cast<uint64_t>(value); }

// The agent's code and data in the process, while they are written: the code is never writable there.
class RemoteImage {
 public:
  RemoteImage(RemoteThread& thread, const MemoryFile& memory) : thread_(thread), memory_(memory) {}

  bool map(uint64_t start, size_t bytes) {
    const auto mapped = thread_.call(kMapCall, {start, bytes, PROT_READ | PROT_EXEC,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, word(-1), 0});
    if (has_failed(mapped)) return false;
    if (word(*mapped) == start) return true;
    thread_.call(SYS_munmap, {word(*mapped), bytes, 0, 0, 0, 0});  // by a kernel that doesn't know the flag
    return false;
  }

  bool make_writable(uint64_t start, size_t bytes) {
    return !has_failed(thread_.call(SYS_mprotect, {start, bytes, PROT_READ | PROT_WRITE, 0, 0, 0}));
  }

  bool write(uint64_t address, const void* from, size_t bytes) const { return memory_.write(address, from, bytes); }
  bool read(uint64_t address, void* to, size_t bytes) const { return memory_.read(address, to, bytes); }

 private:
  RemoteThread& thread_;
  const MemoryFile& memory_;
};

// A descriptor of this process, in the other one: sent over a pair of sockets that it makes. `scratch`: its memory for that.
class SentDescriptor {
 public:
  SentDescriptor(pid_t process, RemoteThread& thread, const RemoteImage& image, uint64_t scratch)
      : process_(process), thread_(thread), image_(image), scratch_(scratch) {}
  ~SentDescriptor() {
    for (const int64_t descriptor : {sent_, ends_[0], ends_[1]}) {
      if (descriptor >= 0) thread_.call(SYS_close, {word(descriptor), 0, 0, 0, 0, 0});
    }
  }
  SentDescriptor(const SentDescriptor&) = delete;
  SentDescriptor& operator=(const SentDescriptor&) = delete;

  // Its number there; negative: -errno.
  int64_t send(int descriptor) {
    const auto paired = thread_.call(SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, scratch_, 0, 0});
    int numbers[2] = {-1, -1};
    if (has_failed(paired)) return or_lost(paired);
    if (!image_.read(scratch_, numbers, sizeof(numbers))) return -EFAULT;
    std::ranges::copy(numbers, ends_);
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
    if (!image_.write(scratch_, &there, sizeof(there))) return -EFAULT;
    const auto got = thread_.call(SYS_recvmsg, {word(ends_[0]), scratch_, MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0, 0, 0});
    if (has_failed(got)) return or_lost(got);
    if (!image_.read(scratch_, &there, sizeof(there)) || there.message.msg_controllen < CMSG_LEN(sizeof(int)))
      return -EBADF;
    int number = -1;
    std::memcpy(&number, there.control + (CMSG_LEN(sizeof(int)) - sizeof(int)), sizeof(number));
    sent_ = number;
    return number;
  }

  pid_t process_;
  RemoteThread& thread_;
  const RemoteImage& image_;
  uint64_t scratch_;
  int64_t ends_[2] = {-1, -1};
  int64_t sent_ = -1;
};

base::Error refusal_of(wire::InjectedStart start) {
  if (start == wire::InjectedStart::kUnknownLibrary)
    return base::make_error("its C library keeps thread numbers at an unknown place");
  return base::make_error("the agent can't begin there (is its address space limited?)");
}

}  // namespace

base::Result<> Injection::put_in(const GivenLog& log) {
  choose_functions(log);
  HEAPTAP_TRY(find_places());
  HEAPTAP_TRY(make_trampolines());
  const StepOutcome outcome = in_own_process([&](StepOutcome& result) { put_in_here(log, result); });
  if (!outcome.is_done) {
    areas_.clear();
    return base::fail("{}", outcome.why);
  }
  others_.assign(outcome.ranges, outcome.ranges + outcome.range_count);
  return {};
}

// A thread of the process, stopped, that makes calls for the injector; for a process of its own, which traces nothing else: another stop
// would last as long as this waits.
base::Result<RemoteThread> Injection::stop_one() {
  const pid_t id = wait_for_thread(process_);
  if (id == 0) return base::fail("all its threads wait in calls that can't be interrupted unnoticed");
  if (ptrace(PTRACE_SEIZE, id, nullptr, PTRACE_O_TRACESYSGOOD) != 0)
    return std::unexpected(process::ptrace_refusal(process_, id, errno));
  return RemoteThread::stop(id, return_code_, file_);
}

// In a process of its own.
void Injection::put_in_here(const GivenLog& log, StepOutcome& result) {
  auto thread = stop_one();
  if (!thread) return result.fail(thread.error().message);
  RemoteImage image(*thread, file_);
  std::vector<base::AddressRange> made;
  for (const base::AddressRange& range : mapped()) {
    if (image.map(range.begin, base::size_of_known(range.size()))) made.push_back(range);
  }
  const base::Result<> filled =
      made.size() == areas_.size() ? fill(*thread, image, log, result) : base::fail("no memory near its functions");
  result.is_done = filled.has_value();
  if (filled) return;
  result.fail(filled.error().message);
  // Of a failed beginning, what the agent mapped by itself.
  unmap(*thread, std::span(result.ranges, result.range_count));
  unmap(*thread, made);
}

void Injection::unmap(RemoteThread& thread, std::span<const base::AddressRange> ranges) {
  for (const base::AddressRange& range : ranges) thread.call(SYS_munmap, {range.begin, range.size(), 0, 0, 0, 0});
}

base::Result<> Injection::fill(RemoteThread& thread, auto& image, const GivenLog& log, StepOutcome& result) {
  const std::vector<uint8_t> content = make_image(log);
  const uint64_t data = image_start() + image_.data_offset();
  const bool are_there = std::ranges::all_of(
      areas_, [&](const Area& area) { return image.write(area.start, area.code.data(), area.code.size()); });
  const bool is_written = are_there && image.write(image_start(), content.data(), content.size()) &&
                          image.make_writable(data, image_.bytes() - image_.data_offset());
  if (!is_written) return base::fail("the agent can't be written into its memory");
  wire::InjectedAgent contract;
  std::memcpy(&contract, content.data() + image_.contract_offset(), sizeof(contract));
  constexpr uint64_t kScratch = 32768;  // at the other end of that stack
  const auto stack_top = reinterpret_cast<uintptr_t>(contract.begin_stack_top);
  {
    SentDescriptor sent(process_, thread, image, stack_top - kScratch);
    const int64_t descriptor = sent.send(log.descriptor);
    if (descriptor < 0)
      return base::fail("the log can't be handed over: {}", base::reason_of(static_cast<int>(-descriptor)));
    const auto mapped_log =
        thread.call(kMapCall, {0, log.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, word(descriptor), 0});
    if (has_failed(mapped_log)) return base::fail("no memory for the log");
    contract.log = word(*mapped_log);
    result.ranges[result.range_count++] = {contract.log, contract.log + log.bytes};
  }
  constexpr size_t kLogOffset = offsetof(wire::InjectedAgent, log);
  image.write(image_start() + image_.contract_offset() + kLogOffset, &contract.log, sizeof(contract.log));
  const auto begun = thread.run(reinterpret_cast<uintptr_t>(contract.begin), stack_top);
  note_own_mappings(log, result);
  if (!begun) return base::fail("the agent has failed as it began");
  const auto start = static_cast<wire::InjectedStart>(*begun);
  if (start != wire::InjectedStart::kRecording) return std::unexpected(refusal_of(start));
  return {};
}

// What the agent has mapped by itself, which is all that it ever maps, and what it left of the log.
void Injection::note_own_mappings(const GivenLog& log, StepOutcome& result) {
  struct stat status{};
  if (fstat(log.descriptor, &status) != 0) return;
  result.range_count = 0;
  const auto map = process::read_memory_map(process::find_live_thread(process_));
  const auto add = [&result](base::AddressRange range) {
    if (result.range_count < StepOutcome::kMaxRanges) result.ranges[result.range_count++] = range;
  };
  for (const Mapping& mapping : map) {
    if (mapping.shared && mapping.inode == status.st_ino) add(mapping.range);
  }
  for (const base::AddressRange& area : log::read_own_areas(*log.parts)) {
    const Mapping* const there = process::find_mapping(map, area.begin);
    if (there != nullptr && there->is_anonymous() && area.end <= there->range.end) add(area);
  }
}

base::Result<> Injection::quiesce(bool installs) {
  std::vector<Replacement> replacements;
  for (const Function& function : functions_) {
    const std::vector<uint8_t> patch = make_patch(function.plan, function.entry);
    const std::span<const uint8_t> own = function.plan.replaced();
    const std::vector<uint8_t> program(own.begin(), own.end());
    if (patch.empty()) return base::fail("no memory near its code");
    replacements.push_back({.site = function.plan.site,
                            .from = installs ? program : patch,
                            .to = installs ? patch : program,
                            .program = program});
  }
  const StepOutcome outcome = in_own_process([&](StepOutcome& result) {
    Quiesce threads(process_, file_);
    base::Result<> done = threads.seize();
    if (done) done = threads.replace(replacements);
    result.is_done = done.has_value();
    if (!done) result.fail(done.error().message);
    result.figures = threads.figures();
  });
  figures_ = outcome.figures;
  if (outcome.has_died) put_back(replacements);
  if (!outcome.is_done) return base::fail("{}", outcome.why);
  return {};
}

// After a step that was killed, whose breakpoints nobody answers any more: the first byte last.
void Injection::put_back(const std::vector<Replacement>& replacements) const {
  for (const Replacement& each : replacements) {
    file_.write(each.site + 1, each.from.data() + 1, each.from.size() - 1);
    file_.write(each.site, each.from.data(), 1);
  }
}

base::Result<> Injection::patch() { return quiesce(true); }

base::Result<> Injection::unpatch() {
  const wire::InjectedAgent contract = read_contract();
  const auto off = static_cast<uint32_t>(contract.state_off);
  if (contract.magic != wire::kInjectedAgentMagic) return base::fail("the agent isn't there");
  file_.write(reinterpret_cast<uintptr_t>(contract.state), &off, sizeof(off));
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
  HEAPTAP_TRY(wait_until_left());
  const StepOutcome outcome = in_own_process([&](StepOutcome& result) {
    // A filter that has come in between might end the program for the calls.
    if (read_injection_facts(process_, process::find_live_thread(process_)).is_filtered)
      return result.fail("it restricts its system calls now");
    auto thread = stop_one();
    if (!thread) return result.fail(thread.error().message);
    unmap(*thread, others_);
    unmap(*thread, mapped());
    result.is_done = true;
  });
  if (!outcome.is_done) return base::fail("{}", outcome.why);
  areas_.clear();
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
