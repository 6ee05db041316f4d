#include "analysis/symbols/resolver.h"

#include <map>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/symbols/file_pool.h"
#include "analysis/symbols/hints.h"
#include "analysis/symbols/module_file.h"
#include "analysis/symbols/open_files.h"
#include "analysis/symbols/served_names.h"

namespace heaptap::symbols {
namespace {

// The kernel's code has no file; its name in gdb and in the loader.
bool has_no_file(const model::Module& module) {
  return (module.flags & wire::kModuleIsVdso) != 0 || module.path.empty() || module.path.starts_with('[') ||
         module.path.starts_with("linux-vdso") || module.path.starts_with("linux-gate");
}

}  // namespace

class Resolver::Impl {
 public:
  explicit Impl(const ResolverOptions& options)
      : progress_(options.progress),
        server_(options.server),
        pool_(options.files),
        files_(pool_ != nullptr ? pool_->take(options) : std::make_unique<OpenFiles>(options)),
        hints_(files_->servers()) {}
  ~Impl() {
    stop_opening_ahead();
    if (pool_ != nullptr) pool_->give_back(std::move(files_));
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::vector<model::Frame>& resolve(const model::Tables& tables, const model::Code& code) {
    const model::Module* module = tables.module_of(code);
    if (module == nullptr) return resolve_outside(code);
    Mapping& mapping = mapping_of(tables, *module);
    auto [place, is_new] = mapping.frames[code.exact].try_emplace(code.address);
    if (is_new) place->second = resolve_inside(mapping, *module, tables, code);
    return place->second;
  }

  const Variable* variable_at(const model::Module& module, uint64_t address, bool is_thread_local) {
    if (has_no_file(module)) return nullptr;
    ModuleFile& file = file_of(module);
    if (ServedNames* const served = served_of(module, file)) return served->variable_at(address, is_thread_local);
    return file.variable_at(address, is_thread_local);
  }

  [[nodiscard]] std::vector<model::SymbolHint> hints(size_t limit) const { return hints_.list(limit); }

  void open_ahead(std::vector<model::Module> modules, bool all_over) {
    if (ahead_.joinable() || std::thread::hardware_concurrency() < 2) return;
    ahead_ = std::jthread([this, all_over, modules = std::move(modules)](const std::stop_token& stop) {
      try {
        for (const model::Module& module : modules) open_file_of(module);
        for (const model::Module& module : modules) {
          ModuleFile& file = open_file_of(module);
          while (all_over && !stop.stop_requested() && file.unpack_more()) continue;
        }
      } catch (...) {
        return;  // users of the file try again
      }
    });
  }

 private:
  using FramesByAddress = std::unordered_map<uint64_t, std::vector<model::Frame>>;

  // File mapped with one bias. Several modules of a trace can share a mapping.
  struct Mapping {
    std::string path;
    std::string build_id;
    uint64_t bias = 0;
    ModuleFile* file = nullptr;            // null: has none
    KnownFrames::OfFile* known = nullptr;  // its frames found so far by all resolvers; null: not shared
    ServedNames* served = nullptr;         // not null: used instead
    FramesByAddress frames[2];             // of return addresses, of exact ones
  };

  const std::vector<model::Frame>& resolve_outside(const model::Code& code) {
    auto [place, is_new] = outside_.try_emplace(code.address);
    if (is_new) {
      model::Frame frame;
      frame.offset = code.address;
      frame.address = code.address;
      place->second.push_back(std::move(frame));
    }
    return place->second;
  }

  Mapping& mapping_of(const model::Tables& tables, const model::Module& module) {
    // Most calls have the tables of the last one. The entry is compared, since other tables may have the same address.
    const auto index = static_cast<size_t>(&module - tables.modules.data());
    if (index >= last_.size()) last_.resize(index + 1);
    Mapping*& last = last_[index];
    if (last != nullptr && last->bias == module.bias && last->path == module.path &&
        last->build_id == module.build_id) {
      return *last;
    }
    auto& slot = mappings_[{module.path, module.build_id, module.bias}];
    if (slot == nullptr) {
      slot = std::make_unique<Mapping>(
          Mapping{.path = module.path, .build_id = module.build_id, .bias = module.bias, .frames = {}});
      if (!has_no_file(module)) {
        slot->file = &file_of(module);
        if (pool_ != nullptr) slot->known = &pool_->known_frames().of_file(place_of(module), module.build_id);
        slot->served = served_of(module, *slot->file);
      }
    }
    last = slot.get();
    return *last;
  }

  void stop_opening_ahead() {
    if (!ahead_.joinable()) return;
    ahead_.request_stop();
    ahead_.join();
  }

  ModuleFile& file_of(const model::Module& module) {
    stop_opening_ahead();
    if (!progress_ || files_->contains(place_of(module), module.build_id)) return open_file_of(module);
    progress_({.kind = SymbolWork::Kind::kOpening, .path = module.path});
    ModuleFile& file = open_file_of(module);
    progress_({.kind = SymbolWork::Kind::kDone, .path = {}});
    return file;
  }

  // Null: no source has more names than this machine's file.
  ServedNames* served_of(const model::Module& module, const ModuleFile& file) {
    if (server_ == nullptr || module.build_id.empty()) return nullptr;
    auto [place, is_new] = served_.try_emplace({module.path, module.build_id});
    if (is_new && level_of(file.source()) < SymbolLevel::kLines) {
      const SymbolLevel level = server_->level_of(module.build_id);
      if (level > level_of(file.source())) {
        place->second = std::make_unique<ServedNames>(*server_, module.build_id, level);
      }
    }
    return place->second.get();
  }

  // The program is named by the link that was executed, and its file is known besides: links to programs are sooner gone than those.
  static const std::string& place_of(const model::Module& module) {
    const bool is_program = (module.flags & wire::kModuleIsMain) != 0;
    return is_program && !module.file.empty() ? module.file : module.path;
  }

  ModuleFile& open_file_of(const model::Module& module) { return files_->open(place_of(module), module.build_id); }

  static FileFrames frames_in_file(const Mapping& mapping, uint64_t address) {
    const auto look_up = [&] {
      return FileFrames{.frames = mapping.file->frames_at(address),
                        .missing_part = mapping.file->missing_part(address)};
    };
    return mapping.known == nullptr ? look_up() : mapping.known->at(address, look_up);
  }

  std::vector<model::Frame> resolve_inside(const Mapping& mapping, const model::Module& module,
                                           const model::Tables& tables, const model::Code& code) {
    const uint64_t offset = code.address - mapping.bias;
    std::vector<model::Frame> frames;
    const auto* served = mapping.served == nullptr ? nullptr : mapping.served->frames_at(module, tables, code);
    if (served != nullptr) {
      frames = *served;
      hints_.count({mapping.path, mapping.build_id}, source_of(mapping.served->level()), nullptr, frames);
    } else if (mapping.file != nullptr) {
      FileFrames found = frames_in_file(mapping, code.exact ? offset : offset - 1);
      frames = std::move(found.frames);
      hints_.count({mapping.path, mapping.build_id}, mapping.file->source(), mapping.file, frames);
      if (!found.missing_part.empty()) {
        hints_.count_part(mapping.path, found.missing_part, mapping.file->has_package());
      }
    } else {
      frames.emplace_back();
    }
    for (model::Frame& frame : frames) {
      frame.module = module.path;
      frame.offset = offset;
      frame.address = code.address;
      frame.of_interpreter = (module.flags & wire::kModuleIsInterpreter) != 0;
    }
    return frames;
  }

  TellWork progress_;
  std::shared_ptr<NameSource> server_;
  std::shared_ptr<FilePool> pool_;
  std::unique_ptr<OpenFiles> files_;
  Hints hints_;
  FramesByAddress outside_;
  std::map<std::tuple<std::string, std::string, uint64_t>, std::unique_ptr<Mapping>> mappings_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<ServedNames>> served_;  // null: not more than here
  std::vector<Mapping*> last_;  // by number of the module in the tables
  std::jthread ahead_;          // while it runs, it alone uses files_
};

Resolver::Resolver(const ResolverOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Resolver::Resolver(Resolver&&) noexcept = default;
Resolver& Resolver::operator=(Resolver&&) noexcept = default;
Resolver::~Resolver() = default;

void Resolver::open_ahead(std::vector<model::Module> modules, bool all_over) {
  std::erase_if(modules, has_no_file);
  impl_->open_ahead(std::move(modules), all_over);
}

const std::vector<model::Frame>& Resolver::resolve(const model::Tables& tables, const model::Code& code) {
  return impl_->resolve(tables, code);
}

const Variable* Resolver::variable_at(const model::Module& module, uint64_t address) {
  return impl_->variable_at(module, address, false);
}

const Variable* Resolver::thread_local_at(const model::Module& module, uint64_t offset) {
  return impl_->variable_at(module, offset, true);
}

std::string Resolver::type_at(const model::Module& module, uint64_t address) {
  const Variable* variable = variable_at(module, address);
  if (variable == nullptr) return {};
  const std::string_view name = variable->name;
  constexpr std::string_view kVtable = "vtable for ";
  constexpr std::string_view kPartly = "construction vtable for ";  // "BASE-in-CLASS", while CLASS is being made
  if (name.starts_with(kVtable)) return std::string(name.substr(kVtable.size()));
  const size_t in = name.rfind("-in-");
  return name.starts_with(kPartly) && in != name.npos ? std::string(name.substr(in + 4)) : std::string();
}

std::vector<model::SymbolHint> Resolver::hints(size_t limit) const { return impl_->hints(limit); }

}  // namespace heaptap::symbols
