#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "analysis/symbols/resolver.h"
#include "analysis/symbols/rust_demangle.h"

namespace heaptap::symbols {
namespace {

// Demangling is recursive, and its output can grow exponentially with the name; real names are shorter.
constexpr size_t kLongestName = 16 * 1024;

// Suffixes of compilers' copies and parts of a function, which are left out. Each is followed by the end of the name or
// by another '.'.
constexpr std::string_view kCloneSuffixes[] = {".cold",       ".part", ".isra",  ".constprop", ".lto_priv",
                                               ".localalias", ".llvm", ".clone", ".warm",      ".__uniq"};

std::string_view without_version(std::string_view name) {
  const size_t at = name.find('@');
  return at == name.npos || at == 0 ? name : name.substr(0, at);
}

std::string_view without_clone_suffix(std::string_view name) {
  size_t length = name.size();
  for (std::string_view suffix : kCloneSuffixes) {
    const size_t at = name.find(suffix, 1);
    if (at == name.npos || at >= length) continue;
    const size_t end = at + suffix.size();
    if (end == name.size() || name[end] == '.') length = at;
  }
  return name.substr(0, length);
}

// Output buffer of __cxa_demangle, which grows it as needed. One per thread.
class DemangleBuffer {
 public:
  DemangleBuffer() = default;
  ~DemangleBuffer() { std::free(text_); }
  DemangleBuffer(const DemangleBuffer&) = delete;
  DemangleBuffer& operator=(const DemangleBuffer&) = delete;

  const char* demangle(const char* name) {
    int status = 0;
    size_t capacity_bytes = capacity_bytes_;
    char* text = abi::__cxa_demangle(name, text_, &capacity_bytes, &status);
    if (status != 0 || text == nullptr) return nullptr;
    text_ = text;
    capacity_bytes_ = capacity_bytes;
    return text;
  }

 private:
  char* text_ = nullptr;
  size_t capacity_bytes_ = 0;
};

}  // namespace

std::string demangle(const std::string& name) {
  const std::string_view trimmed = without_clone_suffix(without_version(name));
  if (trimmed.size() > kLongestName) return std::string(trimmed);
  if (trimmed.starts_with("_R")) return demangle_rust_v0(trimmed).value_or(std::string(trimmed));
  // "__Z" is Mach-O's prefix; the C++ demangler handles "_GLOBAL_" names too.
  if (!trimmed.starts_with("_Z") && !trimmed.starts_with("_GLOBAL_")) return std::string(trimmed);
  if (auto rust = demangle_rust_legacy(trimmed)) return *std::move(rust);
  static thread_local DemangleBuffer buffer;
  const std::string terminated(trimmed);
  const char* text = buffer.demangle(terminated.c_str());
  return text == nullptr ? terminated : text;
}

}  // namespace heaptap::symbols
