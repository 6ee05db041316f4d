// What is loaded in programs of several kinds, and where their functions are: as the programs tell themselves.
#include "capture/tracer/loaded_objects.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include "capture/elf/elf_headers.h"
#include "capture/elf/object_file.h"
#include "capture/elf/symbol_search.h"
#include "capture/tracer/watched_names.h"
#include "child_process.h"
#include "common/base/address_range.h"
#include "common/base/unique_fd.h"
#include "common/wire/log.h"
#include "held_program.h"
#include "kernel_facts.h"

namespace heaptap::tracer {
namespace {

using test::HeldProgram;

const std::string kDirectory = HELD_DIR;

// One look at a process.
struct Look {
  process::TracedMemory memory;
  LoadedObjects objects;
  LoadedObjects::Changes changes;

  // `thread` is a live one.
  Look(pid_t process, pid_t thread) : memory(thread), objects(process, memory, *cpu_of(thread)) {
    changes = objects.refresh();
  }
  explicit Look(pid_t process) : Look(process, process) {}
  // With what another machine told.
  Look(pid_t process, const model::ToldFunctions& told)
      : memory(process), objects(process, memory, *cpu_of(process), &told) {
    changes = objects.refresh();
  }

  static const arch::Cpu* cpu_of(pid_t thread) {
    const int file = open(("/proc/" + std::to_string(thread) + "/exe").c_str(), O_RDONLY);
    const auto elf = elf::ElfHeaders::read(elf::FileBytes(file));
    close(file);
    return arch::cpu_of_elf(elf->machine(), elf->form().word_bytes);
  }

  // Where calls of the function are found.
  [[nodiscard]] std::vector<uint64_t> addresses(wire::Function function, Form form = Form::kPlain) const {
    std::vector<uint64_t> found;
    for (const LoadedObject& object : objects.objects()) {
      for (const FoundFunction& entry : object.functions) {
        if (entry.function == function && entry.watch == Watch::kCall && entry.form == form)
          found.push_back(entry.address);
      }
    }
    return found;
  }
  [[nodiscard]] const LoadedObject* object(const std::string& name) const {
    for (const LoadedObject& entry : objects.objects()) {
      if (entry.path.find(name) != std::string::npos) return &entry;
    }
    return nullptr;
  }
  [[nodiscard]] const LoadedObject& program() const {
    for (const LoadedObject& entry : objects.objects()) {
      if ((entry.flags & wire::kModuleIsMain) != 0) return entry;
    }
    static const LoadedObject kNone;
    return kNone;
  }
};

wire::Function function_of(const std::string& symbol) {
  for (uint8_t number = 1; number < wire::kFunctionCount; ++number) {
    const auto function = static_cast<wire::Function>(number);
    if (wire::facts_of(function).symbol == symbol) return function;
  }
  return wire::Function::kNone;
}

std::string name_of_kind(const testing::TestParamInfo<const char*>& kind) {
  std::string name = kind.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

class HeldPrograms : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kDirectory + "/" + GetParam())) GTEST_SKIP() << "can't be built here";
    if (test::is_beyond_kernel(GetParam())) HEAPTAP_SKIP_32_BITS();
  }
  [[nodiscard]] static bool is_static() { return std::string(GetParam()).starts_with("static"); }
};
INSTANTIATE_TEST_SUITE_P(Kinds, HeldPrograms,
                         testing::Values("dynamic", "fixed", "static", "static-pie", "dynamic-32", "static-32",
                                         "dynamic-musl", "static-musl"),
                         name_of_kind);

TEST_P(HeldPrograms, HaveTheirFunctionsWhereTheySay) {
  HeldProgram program({kDirectory + "/" + GetParam()});
  ASSERT_TRUE(program.is_ready());
  const Look look(program.id());
  const uint64_t mmap = program.told().at("mmap");
  for (const auto& [symbol, address] : program.told()) {
    std::vector<uint64_t> expected{address};
    if (symbol == "mmap64" && address == mmap) expected = {};  // once
    EXPECT_EQ(look.addresses(function_of(symbol)), expected) << symbol;
  }
  EXPECT_TRUE(look.objects.notes().empty()) << static_cast<uint32_t>(look.objects.notes()[0].kind);
}

TEST_P(HeldPrograms, AreListedWithTheirObjects) {
  HeldProgram program({kDirectory + "/" + GetParam()});
  ASSERT_TRUE(program.is_ready());
  const Look look(program.id());
  EXPECT_EQ(look.program().path, kDirectory + "/" + GetParam());
  EXPECT_TRUE(look.objects.is_consistent());
  EXPECT_EQ(look.objects.find(look.objects.entry()), look.objects.find(look.program().start));
  size_t libcs = 0;
  size_t loaders = 0;
  for (uint32_t i = 0; i < look.objects.objects().size(); ++i) {
    const LoadedObject& object = look.objects.objects()[i];
    libcs += object.is_libc;
    loaders += object.is_loader;
    EXPECT_TRUE(look.objects.loaded(i));
    EXPECT_EQ(look.objects.find(object.end - 1), static_cast<int>(i));
    EXPECT_TRUE(std::ranges::is_sorted(object.functions, {}, &FoundFunction::address));
    if (!object.is_libc) continue;
    EXPECT_EQ(std::ranges::count(object.functions, Watch::kExit, &FoundFunction::watch) > 0, true);
    EXPECT_EQ(std::ranges::count(object.functions, Watch::kLastExit, &FoundFunction::watch) > 0, true);
    EXPECT_TRUE(object.unwind_header != 0 || object.unwind_table_bytes != 0);
  }
  EXPECT_EQ(libcs, 1u);
  EXPECT_EQ(loaders, is_static() ? 0u : 1u);
  if (!is_static()) {
    const int holder = look.objects.find(look.objects.change_notice());
    ASSERT_GE(holder, 0);
    EXPECT_TRUE(look.objects.objects()[static_cast<size_t>(holder)].is_loader);
  }
}

class HeldOperators : public HeldPrograms {};
INSTANTIATE_TEST_SUITE_P(Kinds, HeldOperators, testing::Values("operators", "operators-static", "operators-32"),
                         name_of_kind);

TEST_P(HeldOperators, AreFoundUnderTheirMangledNames) {
  HeldProgram program({kDirectory + "/" + GetParam()});
  ASSERT_TRUE(program.is_ready());
  const Look look(program.id());
  const auto expect = [&](const char* name, wire::Function function) {
    EXPECT_EQ(look.addresses(function), std::vector<uint64_t>{program.told().at(name)}) << name;
  };
  expect("kNew", wire::Function::kNew);
  expect("kNewAligned", wire::Function::kNewAligned);
  expect("kNewArray", wire::Function::kNewArray);
  expect("kDelete", wire::Function::kDelete);
  expect("kDeleteSized", wire::Function::kDeleteSized);
  expect("kDeleteArraySizedAligned", wire::Function::kDeleteArraySizedAligned);
}

class ChoosingPrograms : public HeldPrograms {};
INSTANTIATE_TEST_SUITE_P(Kinds, ChoosingPrograms,
                         testing::Values("chosen", "chosen-lazy", "chosen-static", "chosen-32"), name_of_kind);

TEST_P(ChoosingPrograms, HaveTheResolverAndWhatItHasChosen) {
  HeldProgram program({kDirectory + "/" + GetParam()});
  ASSERT_TRUE(program.is_ready());
  Look look(program.id());
  const bool is_static = std::string(GetParam()).ends_with("static");
  EXPECT_EQ(look.addresses(wire::Function::kValloc).size(), is_static ? 0u : 1u);  // libc's
  EXPECT_EQ(std::ranges::count(look.program().functions, Watch::kResolver, &FoundFunction::watch), 1);
  const auto resolved = look.objects.resolved_functions();
  ASSERT_EQ(resolved.size(), 1u);
  EXPECT_EQ(resolved[0].address, program.told().at("valloc"));
  EXPECT_EQ(resolved[0].function, wire::Function::kValloc);
}

TEST(LoadedObjects, OfAStrippedProgramComeFromItsDebugFile) {
  HeldProgram program({kDirectory + "/stripped"});
  ASSERT_TRUE(program.is_ready());
  const Look look(program.id());
  EXPECT_EQ(look.addresses(wire::Function::kMalloc), std::vector<uint64_t>{program.told().at("malloc")});
  EXPECT_TRUE(look.objects.notes().empty());
}

TEST(LoadedObjects, OfAStrippedProgramWithoutDebugFileSayWhatIsMissing) {
  HeldProgram program({kDirectory + "/bare"});
  ASSERT_TRUE(program.is_ready());
  const Look look(program.id());
  EXPECT_TRUE(look.program().functions.empty());
  ASSERT_EQ(look.objects.notes().size(), 1u);
  EXPECT_EQ(look.objects.notes()[0].kind, model::NoteKind::kStaticAndStripped);
  EXPECT_TRUE(look.objects.notes()[0].name.starts_with("/usr/lib/debug/.build-id/"));
}

// A static program without symbols, and what its whole file would tell.
class BarePrograms : public HeldPrograms {
 protected:
  void SetUp() override {
    HeldPrograms::SetUp();
    if (IsSkipped()) return;
    program_ = std::make_unique<HeldProgram>(std::vector{kDirectory + "/" + GetParam()});
    ASSERT_TRUE(program_->is_ready());
    const std::string kind = std::string(GetParam()).substr(std::strlen("bare"));
    const base::UniqueFd file(open((kDirectory + "/static" + kind).c_str(), O_RDONLY | O_CLOEXEC));
    const elf::FileBytes bytes(file.get());
    const auto elf = elf::ElfHeaders::read(bytes);
    const std::vector<uint8_t> id = elf::read_build_id(bytes);
    build_id_.assign(id.begin(), id.end());
    const WatchedNames names(elf->form().word_bytes);
    const auto table = elf::table_in_file(elf->form(), elf->read_sections(bytes), SHT_SYMTAB);
    elf::search_symbols(
        bytes, elf->form(), table, names.symbols(), [&](size_t name, const elf::ElfSymbol& symbol, uint64_t) {
          functions_.push_back(
              {.name = names[name].symbol, .address = symbol.value, .is_local = symbol.binding == STB_LOCAL});
        });
    for (uint64_t i = 0; i < table.count; ++i) {
      const uint64_t at = table.symbols + i * elf::symbol_bytes(elf->form());
      for (const elf::ElfSymbol& symbol : elf::read_symbols(bytes, elf->form(), at, 1)) {
        if (symbol.type == STT_FUNC) code_.push_back({symbol.value, symbol.value + symbol.size_bytes});
      }
    }
  }
  [[nodiscard]] Look look_with(const model::ToldFunctions& told) const { return {program_->id(), told}; }
  // Its only note says what became of what was told.
  static void expect_nothing_of(const Look& look, uint64_t what_became_of_it) {
    EXPECT_TRUE(look.program().functions.empty());
    ASSERT_EQ(look.objects.notes().size(), 1u);
    EXPECT_EQ(look.objects.notes()[0].kind, model::NoteKind::kStaticAndStripped);
    EXPECT_EQ(look.objects.notes()[0].number(0), what_became_of_it);
  }

  std::unique_ptr<HeldProgram> program_;
  std::string build_id_;
  std::vector<model::ToldFunction> functions_;
  std::vector<base::AddressRange> code_;  // of each function
};
INSTANTIATE_TEST_SUITE_P(Kinds, BarePrograms, testing::Values("bare", "bare-pie", "bare-32"), name_of_kind);

TEST_P(BarePrograms, HaveTheirFunctionsWhereAnotherMachineSays) {
  const model::ToldFunctions told{{build_id_, functions_}};
  const Look look = look_with(told);
  const uint64_t mmap = program_->told().at("mmap");
  for (const auto& [symbol, address] : program_->told()) {
    std::vector<uint64_t> expected{address};
    if (symbol == "mmap64" && address == mmap) expected = {};  // once
    EXPECT_EQ(look.addresses(function_of(symbol)), expected) << symbol;
  }
  EXPECT_TRUE(look.objects.notes().empty());
  const auto count_of = [&](Watch watch) {
    return std::ranges::count(look.program().functions, watch, &FoundFunction::watch);
  };
  for (const Watch watch : {Watch::kExit, Watch::kLastExit}) EXPECT_GT(count_of(watch), 0);
  // What the tracer would do something about.
  for (const Watch watch :
       {Watch::kResolver, Watch::kClone, Watch::kNumber, Watch::kAction, Watch::kMask, Watch::kSpoken}) {
    EXPECT_EQ(count_of(watch), 0);
  }
}

TEST_P(BarePrograms, HaveNoFunctionBesideItsBeginning) {
  const model::ToldFunctions nothing;
  const Look before = look_with(nothing);
  expect_nothing_of(before, 1);
  const uint64_t bias = before.program().bias;
  const uint64_t malloc = program_->told().at("malloc") - bias;
  std::vector<uint64_t> lies{0, 1, before.program().end - bias, UINT64_MAX, UINT64_MAX - bias, uint64_t{1} << 47};
  for (uint64_t distance = 1; distance < 64; ++distance) lies.push_back(malloc + distance);
  for (uint64_t distance = 1; distance < 16; ++distance) lies.push_back(malloc - distance);
  for (const uint64_t lie : lies) {
    const model::ToldFunctions told{
        {build_id_, {{.name = "malloc", .address = lie}, {.name = "exit", .address = lie}}}};
    expect_nothing_of(look_with(told), 2);
  }
}

TEST_P(BarePrograms, HaveNoFunctionWithinOneWhateverIsSaid) {
  const model::ToldFunctions nothing;
  const LoadedObject object = look_with(nothing).program();
  model::ToldFunctions told;
  for (const base::AddressRange& code : object.code) {
    for (uint64_t address = code.begin; address < code.end; ++address) {
      told[build_id_].push_back({.name = "malloc", .address = address - object.bias});
    }
  }
  const Look look = look_with(told);
  for (const FoundFunction& function : look.program().functions) {
    const uint64_t address = function.address - object.bias;
    const auto is_within = [address](const base::AddressRange& code) {
      return code.contains(address) && code.begin != address;
    };
    EXPECT_TRUE(std::ranges::none_of(code_, is_within)) << address;
  }
  EXPECT_GT(look.program().functions.size(), 500u);
}

TEST_P(BarePrograms, BelieveNothingOfAnotherBuild) {
  std::string other = build_id_;
  other.back() = static_cast<char>(other.back() ^ 1);
  for (const std::string& build_id : {other, build_id_ + "a", std::string()}) {
    const model::ToldFunctions told{{build_id, functions_}};
    expect_nothing_of(look_with(told), 1);
  }
}

class LoadingPrograms : public HeldPrograms {};
INSTANTIATE_TEST_SUITE_P(Kinds, LoadingPrograms, testing::Values("dynamic", "fixed"), name_of_kind);

TEST_P(LoadingPrograms, ComeAndGo) {
  HeldProgram program({kDirectory + "/" + GetParam(), "libresolv.so.2"});
  ASSERT_TRUE(program.is_ready());
  Look look(program.id());
  const size_t before = look.objects.objects().size();
  EXPECT_EQ(look.changes.came.size(), before);
  ASSERT_TRUE(program.go_on());
  auto changes = look.objects.refresh();
  ASSERT_EQ(changes.came, std::vector<uint32_t>{static_cast<uint32_t>(before)});
  EXPECT_TRUE(changes.went.empty());
  const LoadedObject& added = look.objects.objects()[before];
  EXPECT_TRUE(added.path.ends_with("/libresolv.so.2")) << added.path;
  const uint64_t inside = added.start;
  EXPECT_EQ(look.objects.find(inside), static_cast<int>(before));
  ASSERT_TRUE(program.go_on());
  changes = look.objects.refresh();
  EXPECT_TRUE(changes.came.empty());
  EXPECT_EQ(changes.went, std::vector<uint32_t>{static_cast<uint32_t>(before)});
  EXPECT_FALSE(look.objects.loaded(static_cast<uint32_t>(before)));
  EXPECT_EQ(look.objects.find(inside), -1);
}

TEST(LoadedObjects, OfAForkedProcessKeepTheirIndices) {
  HeldProgram program({kDirectory + "/dynamic", "libresolv.so.2"});
  Look look(program.id());
  ASSERT_TRUE(program.go_on());
  look.objects.refresh();
  const auto& before = look.objects.objects();
  // As a fork has it: the same objects at the same places.
  LoadedObjects copy(program.id(), look.memory, *Look::cpu_of(program.id()));
  copy.inherit(look.objects);
  EXPECT_EQ(copy.find(before[0].start), -1);
  const auto changes = copy.refresh();
  EXPECT_EQ(changes.came.size(), before.size());
  EXPECT_TRUE(copy.is_consistent());
  EXPECT_EQ(copy.change_notice(), look.objects.change_notice());
  for (uint32_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(copy.loaded(i));
    EXPECT_EQ(copy.objects()[i].path, before[i].path);
    EXPECT_EQ(copy.objects()[i].functions.size(), before[i].functions.size());
    EXPECT_EQ(copy.objects()[i].flags, before[i].flags);
  }
}

TEST(LoadedObjects, OfAPreloadedAllocatorAndOfTheLibraryBehindItBothCount) {
  HeldProgram program({kDirectory + "/dynamic"}, {.preload = "libjemalloc.so.2"});
  ASSERT_TRUE(program.is_ready());
  const Look look(program.id());
  const LoadedObject* allocator = look.object("libjemalloc.so.2");
  if (allocator == nullptr) GTEST_SKIP() << "this machine has no libjemalloc.so.2";
  const uint64_t told = program.told().at("malloc");
  EXPECT_TRUE(told >= allocator->start && told < allocator->end);
  const auto found = look.addresses(wire::Function::kMalloc);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(std::ranges::count(found, told), 1);
  EXPECT_FALSE(allocator->is_libc);
  EXPECT_EQ(look.addresses(wire::Function::kMalloc, Form::kAlike).size(), 1u) << "mallocx";
}

TEST(LoadedObjects, OfAProgramThatTheLoaderWasToldToStart) {
  std::string loader;
  {
    HeldProgram program({kDirectory + "/dynamic"});
    const Look look(program.id());
    for (const LoadedObject& object : look.objects.objects()) {
      if (object.is_loader) loader = object.path;
    }
  }
  HeldProgram program({loader, kDirectory + "/dynamic"});
  ASSERT_TRUE(program.is_ready());
  const Look look(program.id());
  EXPECT_EQ(look.program().path, kDirectory + "/dynamic");
  EXPECT_FALSE(look.program().is_loader);
  EXPECT_EQ(look.objects.find(look.objects.entry()), look.objects.find(look.program().start));
  EXPECT_EQ(look.addresses(wire::Function::kMalloc), std::vector<uint64_t>{program.told().at("malloc")});
}

// A program that is traced, and stands before its loader's first instruction.
class StartingProgram {
 public:
  explicit StartingProgram(const std::string& path) : process_(fork()) {
    if (process_ == 0) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      execl(path.c_str(), path.c_str(), nullptr);
      _exit(127);
    }
    waitpid(process_, nullptr, 0);
  }
  ~StartingProgram() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  StartingProgram(const StartingProgram&) = delete;
  StartingProgram& operator=(const StartingProgram&) = delete;
  [[nodiscard]] pid_t id() const { return process_; }

  // Runs until it is at that instruction. False: it ends before.
  bool run_to(uint64_t address, process::TracedMemory& memory, const arch::Cpu& cpu) const {
    const std::span<const uint8_t> breakpoint = cpu.breakpoint();
    std::vector<uint8_t> before(breakpoint.size());
    memory.read(address, before.data(), before.size());
    memory.write(address, breakpoint.data(), breakpoint.size());
    const bool is_there = resume(PTRACE_CONT);
    memory.write(address, before.data(), before.size());
    if (!is_there) return false;
    arch::RegisterImage registers;
    iovec image{registers.bytes, sizeof(registers.bytes)};
    ptrace(PTRACE_GETREGSET, process_, NT_PRSTATUS, &image);
    registers.size = image.iov_len;
    cpu.set_program_counter(registers, address);
    ptrace(PTRACE_SETREGSET, process_, NT_PRSTATUS, &image);
    return true;
  }
  bool step() const { return resume(PTRACE_SINGLESTEP); }

 private:
  bool resume(__ptrace_request request) const {
    int status = 0;
    ptrace(request, process_, nullptr, nullptr);
    waitpid(process_, &status, 0);
    return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }

  pid_t process_;
};

class StartingPrograms : public HeldPrograms {};
INSTANTIATE_TEST_SUITE_P(Kinds, StartingPrograms, testing::Values("dynamic", "fixed", "dynamic-32", "dynamic-musl"),
                         name_of_kind);

TEST_P(StartingPrograms, HaveTheirObjectsWhenTheLoaderTellsSo) {
  const StartingProgram program(kDirectory + "/" + GetParam());
  Look look(program.id());
  EXPECT_FALSE(look.objects.is_consistent());
  EXPECT_EQ(look.program().path, kDirectory + "/" + GetParam());
  EXPECT_EQ(look.objects.find(look.objects.entry()), look.objects.find(look.program().start));
  const uint64_t notice = look.objects.change_notice();
  const int holder = look.objects.find(notice);
  ASSERT_TRUE(holder >= 0 && look.objects.objects()[static_cast<size_t>(holder)].is_loader);
  const arch::Cpu& cpu = *Look::cpu_of(program.id());
  for (bool is_whole = false; !is_whole;) {
    ASSERT_TRUE(program.run_to(notice, look.memory, cpu));
    look.objects.refresh();
    EXPECT_EQ(look.objects.change_notice(), notice);
    is_whole = look.objects.is_consistent();
    ASSERT_TRUE(program.step());
  }
  EXPECT_EQ(look.addresses(wire::Function::kMalloc).size(), 1u);
  const size_t objects = look.objects.objects().size();
  ASSERT_TRUE(program.run_to(look.objects.entry(), look.memory, cpu));
  EXPECT_TRUE(look.objects.refresh().came.empty());
  EXPECT_EQ(look.objects.objects().size(), objects);
}

// A directory of its own, gone with the test.
struct TemporaryDirectory {
  std::filesystem::path path;
  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "heaptap_objects_XXXXXX";
    path = mkdtemp(name.data());
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
};

TEST(LoadedObjects, OfAnotherRootAreFoundBelowIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can change a process's root";
  const TemporaryDirectory root;
  std::filesystem::copy(kDirectory + "/stripped", root.path / "program");
  {
    HeldProgram program({"/program"}, {.root = root.path});
    ASSERT_TRUE(program.is_ready());
    const Look look(program.id());
    EXPECT_EQ(look.program().path, "/program");
    ASSERT_EQ(look.objects.notes().size(), 1u);  // its debug file is elsewhere
  }
  std::filesystem::create_directories(root.path / "usr/lib/debug");
  std::filesystem::copy(kDirectory + "/.debug/static.debug", root.path / "usr/lib/debug/static.debug");
  HeldProgram program({"/program"}, {.root = root.path});
  ASSERT_TRUE(program.is_ready());
  const Look look(program.id());
  EXPECT_EQ(look.addresses(wire::Function::kMalloc), std::vector<uint64_t>{program.told().at("malloc")});
  EXPECT_TRUE(look.objects.notes().empty());
}

// A user other than root can't open what a process has mapped, but only what is at the path.
int look_at_deleted_program(const std::filesystem::path& copy) {
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 1;
  HeldProgram program({copy});
  if (!program.is_ready()) return 2;
  if (unlink(copy.c_str()) != 0) return 3;
  Look look(program.id());
  if (look.objects.notes().size() != 1 || look.objects.notes()[0].kind != model::NoteKind::kObjectNotReadable) return 4;
  if (std::ranges::count(look.program().functions, Watch::kResolver, &FoundFunction::watch) != 1) return 5;
  const auto resolved = look.objects.resolved_functions();
  if (resolved.size() != 1 || resolved[0].address != program.told().at("valloc")) return 6;
  return look.addresses(wire::Function::kMalloc).size() == 1 ? 0 : 7;
}

TEST(LoadedObjects, OfADeletedProgramComeFromItsMemory) {
  const TemporaryDirectory directory;
  std::filesystem::copy(kDirectory + "/chosen", directory.path / "program");
  std::filesystem::permissions(directory.path, std::filesystem::perms(0777));
  EXPECT_EXIT(_exit(look_at_deleted_program(directory.path / "program")), testing::ExitedWithCode(0), "");
}

TEST(LoadedObjects, OfAProcessWhoseFirstThreadHasEndedAreFoundThroughAnother) {
  const test::ChildProcess child([](int out) {
    std::thread([out] {
      [[maybe_unused]] const ssize_t sent = write(out, "x", 1);
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);  // this thread alone
  });
  char ready;
  ASSERT_TRUE(child.receive(ready));
  ASSERT_TRUE(test::wait_for_state(child.id(), "Z"));
  const auto threads = process::list_threads(child.id());
  const auto alive = std::ranges::find_if(threads, [&](pid_t thread) { return thread != child.id(); });
  ASSERT_NE(alive, threads.end());
  const Look look(child.id(), *alive);
  EXPECT_EQ(look.program().path, std::filesystem::read_symlink("/proc/self/exe"));
  // Sanitizers have one of their own besides the C library's.
  EXPECT_THAT(look.addresses(wire::Function::kMalloc), testing::Contains(reinterpret_cast<uint64_t>(&malloc)));
  EXPECT_TRUE(look.objects.is_consistent());
}

}  // namespace
}  // namespace heaptap::tracer
