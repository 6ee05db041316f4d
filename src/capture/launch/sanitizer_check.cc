#include "capture/launch/sanitizer_check.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "capture/elf/elf_headers.h"
#include "capture/elf/symbol_search.h"
#include "capture/process/process_status.h"
#include "common/base/served_files.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::launch {
namespace {

struct Runtime {
  Sanitizer sanitizer;
  std::string_view symbol;                    // in programs built with it
  std::array<std::string_view, 2> libraries;  // in the names of gcc's and clang's libraries
};

constexpr const char* kLeakOptions = "LSAN_OPTIONS";
constexpr const char* kAddressOptions = "ASAN_OPTIONS";

constexpr Runtime kRuntimes[] = {
    {{"AddressSanitizer", kAddressOptions}, "__asan_init", {"libasan.", "libclang_rt.asan"}},
    {{"HWAddressSanitizer", "HWASAN_OPTIONS"}, "__hwasan_init", {"libhwasan.", "libclang_rt.hwasan"}},
    {{"LeakSanitizer", kLeakOptions}, "__lsan_init", {"liblsan.", "libclang_rt.lsan"}},
    {{"ThreadSanitizer", nullptr}, "__tsan_init", {"libtsan.", "libclang_rt.tsan"}},
    {{"MemorySanitizer", nullptr}, "__msan_init", {"libmsan.", "libclang_rt.msan"}},
};

std::string value_of(const Environment& environment, std::string_view name) {
  std::string value;
  for (const std::string& entry : environment) {
    const bool is_it = entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
    if (is_it) value = entry.substr(name.size() + 1);
  }
  return value;
}

const Runtime* find_runtime(const std::string& executable) {
  const base::UniqueFd file(open(executable.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return nullptr;
  const elf::FileBytes bytes(file.get());
  std::array<std::string_view, std::size(kRuntimes)> names;
  std::ranges::transform(kRuntimes, names.begin(), &Runtime::symbol);
  size_t first = names.size();
  if (const auto elf = elf::ElfHeaders::read(bytes)) {
    const auto sections = elf->read_sections(bytes);
    // Symbols from a library are undefined here, but named.
    for (const uint32_t kind : {SHT_DYNSYM, SHT_SYMTAB}) {
      elf::search_symbols(bytes, elf->form(), elf::table_in_file(elf->form(), sections, kind), names,
                          [&](size_t name, const elf::ElfSymbol& symbol, uint64_t) {
                            // A weak undefined symbol only asks whether the runtime is there.
                            const bool asks = symbol.section == SHN_UNDEF && symbol.binding == STB_WEAK;
                            if (!asks) first = std::min(first, name);
                          });
    }
  }
  return first < names.size() ? &kRuntimes[first] : nullptr;
}

const Runtime* runtime_of_symbols(const std::string& executable) {
  const auto look = [executable] { return find_runtime(executable); };
  return base::ServedFiles::of_process().look<const Runtime*>({.path = executable}, look).value_or(nullptr);
}

const Runtime* runtime_preloaded(std::string_view preloaded) {
  const auto runtime = std::ranges::find_if(kRuntimes, [&](const Runtime& candidate) {
    return std::ranges::any_of(candidate.libraries,
                               [&](std::string_view name) { return preloaded.find(name) != std::string_view::npos; });
  });
  return runtime != std::end(kRuntimes) ? &*runtime : nullptr;
}

// In a list of settings as the runtimes parse it, the last one of this name; empty: none.
std::string_view setting(std::string_view settings, std::string_view name) {
  constexpr std::string_view kBetween = ":, \t\r\n";
  std::string_view value;
  while (!settings.empty()) {
    const std::string_view one = settings.substr(0, settings.find_first_of(kBetween));
    settings.remove_prefix(std::min(settings.size(), one.size() + 1));
    if (one.starts_with(name) && one.size() > name.size() && one[name.size()] == '=')
      value = one.substr(name.size() + 1);
  }
  return value;
}

}  // namespace

Environment own_environment(std::span<const std::string> changes) {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  environment.insert(environment.end(), changes.begin(), changes.end());
  return environment;
}

std::optional<Sanitizer> find_sanitizer(const std::string& executable, const Environment& environment) {
  const Runtime* runtime = runtime_of_symbols(executable);
  if (runtime == nullptr) runtime = runtime_preloaded(value_of(environment, "LD_PRELOAD"));
  return runtime != nullptr ? std::optional(runtime->sanitizer) : std::nullopt;
}

// LeakSanitizer's settings apply to all of them, and override.
std::string leak_check_switch(const Sanitizer& sanitizer, const Environment& environment) {
  if (sanitizer.options == nullptr) return {};
  std::string_view set;
  const std::string own = value_of(environment, sanitizer.options);
  const std::string of_leaks = value_of(environment, kLeakOptions);
  for (const std::string* settings : {&own, &of_leaks}) {
    if (const std::string_view value = setting(*settings, "detect_leaks"); !value.empty()) set = value;
  }
  if (set == "0" || set == "no" || set == "false") return {};
  const bool is_set_there = !setting(of_leaks, "detect_leaks").empty();
  const std::string& before = is_set_there ? of_leaks : own;
  return fmt::format("{}={}{}detect_leaks=0", is_set_there ? kLeakOptions : sanitizer.options, before,
                     before.empty() ? "" : ":");
}

base::Result<> check_sanitizer(pid_t process) {
  const std::string directory = fmt::format("/proc/{}/", process);
  Environment environment;
  std::string text = base::read_small_file(directory + "environ");
  for (size_t at = 0; at < text.size();) {
    environment.emplace_back(text.c_str() + at);
    at += environment.back().size() + 1;
  }
  const auto sanitizer = find_sanitizer(directory + "exe", environment);
  const std::string needed = sanitizer ? leak_check_switch(*sanitizer, environment) : "";
  if (needed.empty()) return {};
  return base::fail(
      "process {} runs {}, whose leak check at the program's end can't work while it is traced: it would fail or never "
      "end; start the program with {} in its environment, heaptap looks for leaks itself",
      process, sanitizer->name, needed);
}

}  // namespace heaptap::launch
