// Symbolizer of code addresses: function, file, line and inlined frames, from ELF symbol tables and DWARF (elfutils).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/model/frame.h"
#include "common/model/symbol_hint.h"
#include "common/model/tables.h"

namespace heaptap::symbols {

// Variable with static storage: global, static, or thread-local.
struct Variable {
  std::string name;  // demangled; "vtable for Foo" and the like count
  std::string file;  // of its definition; empty without debug information
  uint32_t line = 0;
  uint64_t begin = 0;       // link-time address; if thread-local, offset in the object's thread-local segment
  uint64_t size_bytes = 0;  // 0: unknown
};

class FilePool;
class NameSource;

// Progress of slow symbol work.
struct SymbolWork {
  enum class Kind { kOpening, kDownloading, kDone };
  Kind kind = Kind::kOpening;
  std::string path;    // of the module; empty: the same as before
  uint64_t done = 0;   // downloaded bytes
  uint64_t total = 0;  // 0: unknown
};
using TellWork = std::function<void(const SymbolWork& work)>;

struct ResolverOptions {
  // --symbols: a path is tried below it, then with its leading directories taken away one by one.
  std::vector<std::string> symbol_directories;
  std::vector<std::string> sysroots;             // --sysroot
  bool debuginfod = false;                       // query the servers of $DEBUGINFOD_URLS
  std::shared_ptr<NameSource> server = nullptr;  // for symbols not found here; null: none
  std::shared_ptr<FilePool> files = nullptr;     // shared with resolvers of equal options; null: with none
  TellWork progress = {};                        // called in the resolver's thread
};

class Resolver {
 public:
  explicit Resolver(const ResolverOptions& options);
  Resolver(Resolver&&) noexcept;
  Resolver& operator=(Resolver&&) noexcept;
  ~Resolver();

  // Opens these modules' files in a background thread, which takes long for large debug files; a lookup in any module waits for it.
  // A hint for modules that will be needed, without effect on results. `all_over`: addresses all over the files will be looked up, so
  // compressed sections are inflated until the first lookup.
  void open_ahead(std::vector<model::Module> modules, bool all_over);

  // Frames of one code address of the trace, innermost first; at least one. A return address stands for the call before it
  // (address - 1), Code::exact for the address itself. Results are cached per (module, address).
  const std::vector<model::Frame>& resolve(const model::Tables& tables, const model::Code& code);

  // Variable at a link-time address (process address minus Module::bias); null if none is known. The pointer is valid as long as the
  // resolver.
  const Variable* variable_at(const model::Module& module, uint64_t address);
  // Thread-local variable at an offset in the module's thread-local segment.
  const Variable* thread_local_at(const model::Module& module, uint64_t offset);
  // Class whose vtable contains a link-time address ("shop::Cart"); empty if none.
  std::string type_at(const model::Module& module, uint64_t address);

  // Modules whose frames lack names or lines, and what their symbols lack. Ordered by frames without a name, then by frames without a
  // line, most first; at most `limit`.
  [[nodiscard]] std::vector<model::SymbolHint> hints(size_t limit) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Demangled C++ or Rust name; a name that isn't mangled is returned unchanged.
std::string demangle(const std::string& name);

}  // namespace heaptap::symbols
