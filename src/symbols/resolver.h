// Names for code addresses: function, file, line and inlined frames, from ELF symbol tables and DWARF (elfutils).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/frame.h"
#include "model/symbol_hint.h"
#include "model/tables.h"

namespace heaptap::symbols {

// A variable that has a place of its own: global, static, or thread-local.
struct Variable {
  std::string name;  // demangled; "vtable for Foo" and the like are variables too
  std::string file;  // where it is defined; empty where there is no debug information
  uint32_t line = 0;
  uint64_t begin = 0;       // link-time address; of a thread-local one its offset in the object's thread-local segment
  uint64_t size_bytes = 0;  // 0: not known
};

class NameSource;

// What takes long, while it is done.
struct SymbolWork {
  enum class Kind { kOpening, kDownloading, kDone };
  Kind kind = Kind::kOpening;
  std::string path;    // of the module; empty: of the one before
  uint64_t done = 0;   // bytes of a download
  uint64_t total = 0;  // 0: not known
};
using TellWork = std::function<void(const SymbolWork& work)>;

struct ResolverOptions {
  std::vector<std::string>
      symbol_directories;  // --symbols: a path is tried below it, then with its leading directories taken away one by one
  std::vector<std::string> sysroots;             // --sysroot
  bool debuginfod = false;                       // ask the servers of $DEBUGINFOD_URLS
  std::shared_ptr<NameSource> server = nullptr;  // asked for what isn't found here; null: there is none
  TellWork progress = {};                        // called in the thread that asks for names
};

class Resolver {
 public:
  explicit Resolver(ResolverOptions options);
  Resolver(Resolver&&) noexcept;
  Resolver& operator=(Resolver&&) noexcept;
  ~Resolver();

  // Opens these modules' files in a thread of its own, which takes a while where debug files are large; who needs one of any
  // module's waits for them. For modules that will be needed: changes nothing but when they are opened. `all_over`: names from
  // all over the files will be wanted, so what is compressed of them is inflated, as far as that comes until one is.
  void open_ahead(std::vector<model::Module> modules, bool all_over);

  // The frames of one code address of the trace, innermost first; at least one. For a return address the call before
  // it is meant (address - 1), for Code::exact the address itself. Results are cached per (module, address).
  const std::vector<model::Frame>& resolve(const model::Tables& tables, const model::Code& code);

  // The variable around a link-time address (an address of the process minus Module::bias); null where none is known. The
  // pointer holds as long as the resolver lives.
  const Variable* variable_at(const model::Module& module, uint64_t address);
  // The thread-local variable around an offset in the module's thread-local segment.
  const Variable* thread_local_at(const model::Module& module, uint64_t offset);
  // The class whose vtable lies around a link-time address ("shop::Cart"); empty where none does.
  std::string type_at(const model::Module& module, uint64_t address);

  // The modules whose frames had no names or no lines, with what their symbols lack. Those with most frames without a name
  // first, then those with most without a line; at most `limit`.
  [[nodiscard]] std::vector<model::SymbolHint> hints(size_t limit) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// C++ and Rust names as people write them; what isn't mangled comes back as it is.
std::string demangle(const std::string& name);

}  // namespace heaptap::symbols
