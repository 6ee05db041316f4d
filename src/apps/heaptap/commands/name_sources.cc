#include "apps/heaptap/commands/name_sources.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/commands/trace_file.h"
#include "common/base/safe_text.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"

namespace heaptap::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSymbols = "--symbols=";
constexpr std::string_view kSysroot = "--sysroot=";
constexpr std::string_view kServer = "--symbols-server=";
constexpr std::string_view kTokenFile = "--token-file=";

// Empty: this user has no home directory.
std::string directory_of_names() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/heaptap/names";
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.local/state/heaptap/names" : "";
}

// Key of one recording; another one could only have it on purpose, which gains nothing.
std::string file_of(const model::Capture& capture) {
  const std::string directory = directory_of_names();
  return directory.empty() ? directory : fmt::format("{}/{:x}-{}", directory, capture.start_unix_ns, capture.pid);
}

bool is_own_file(const std::string& path) {
  struct stat facts{};
  return lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Removes the oldest if there are too many.
void prune(const std::string& directory) {
  constexpr size_t kMaxFiles = 1000;
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::directory_iterator each(directory, error), end; !error && each != end; each.increment(error)) {
    std::error_code ignored;
    files.emplace_back(each->last_write_time(ignored), each->path());
  }
  if (files.size() <= kMaxFiles) return;
  std::ranges::sort(files);
  for (size_t i = 0; i < files.size() - kMaxFiles; ++i) fs::remove(files[i].second, error);
}

std::vector<std::string> words_of_sources(const NameSources& sources) {
  std::vector<std::string> words;
  const auto absolute = [](const std::string& path) {
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    return error ? path : whole.string();
  };
  for (const std::string& path : sources.symbols) words.push_back(std::string(kSymbols) + absolute(path));
  for (const std::string& path : sources.sysroots) words.push_back(std::string(kSysroot) + absolute(path));
  if (sources.server != nullptr && sources.server->is_gone_to()) {
    for (std::string& word : sources.server->words()) {
      const bool is_token = word.starts_with(kTokenFile);
      words.push_back(is_token ? std::string(kTokenFile) + absolute(word.substr(kTokenFile.size())) : std::move(word));
    }
  }
  std::erase_if(words, [](const std::string& word) { return word.contains('\n'); });
  return words;
}

void tell_of_missing(const std::string& option, const std::string& path) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::scoped_lock lock(mutex);
  if (!told.insert(path).second) return;
  print_error(fmt::format(
      "heaptap: hint: at recording time names came from {}, which no longer exists; give its new place with {}DIR\n",
      base::safe_text(path), option));
}

// The options given, or if none were, the remembered ones.
symbols::ResolverOptions with_remembered(symbols::ResolverOptions given, const model::Capture& capture) {
  const std::string path = file_of(capture);
  const bool are_given = !given.symbol_directories.empty() || !given.sysroots.empty() || given.server != nullptr;
  if (are_given || path.empty() || !is_own_file(path)) return given;
  constexpr size_t kMaxKeptBytes = size_t{1} << 20;
  std::shared_ptr<SymbolsServer> server;
  for (const std::string& word : base::split(base::read_small_file(path, kMaxKeptBytes), '\n')) {
    const auto value = [&word](std::string_view option) { return word.substr(option.size()); };
    const auto take_directory = [&](std::string_view option, std::vector<std::string>& directories) {
      if (base::exists(value(option))) {
        directories.push_back(value(option));
      } else {
        tell_of_missing(std::string(option.substr(0, option.size() - 1)) + " ", value(option));
      }
    };
    if (word.starts_with(kSymbols)) take_directory(kSymbols, given.symbol_directories);
    if (word.starts_with(kSysroot)) take_directory(kSysroot, given.sysroots);
    if (word.starts_with(kServer)) {
      server = std::make_shared<SymbolsServer>();
      if (!server->set_address(value(kServer))) server.reset();
    }
    if (word.starts_with(kTokenFile) && server != nullptr) server->set_token_file(value(kTokenFile));
  }
  given.server = std::move(server);
  return given;
}

}  // namespace

void remember_name_sources(const std::string& trace, const NameSources& sources) {
  const std::vector<std::string> words = words_of_sources(sources);
  if (words.empty()) return;
  const auto source = open_trace(trace);
  const std::string path = source ? file_of((*source)->capture()) : "";
  if (path.empty()) return;
  const std::string directory = directory_of_names();
  std::error_code error;
  fs::create_directories(directory, error);
  fs::permissions(directory, fs::perms::owner_all, error);
  const base::UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return;
  std::string text;
  for (const std::string& word : words) text += word + "\n";
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) (void)unlink(path.c_str());
  prune(directory);
}

base::Result<report::Report> analyze_trace(model::EventSource& source, query::Query query) {
  query.symbols = with_remembered(std::move(query.symbols), source.capture());
  return query::analyze(source, query);
}

}  // namespace heaptap::app
