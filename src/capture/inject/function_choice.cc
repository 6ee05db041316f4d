#include "capture/inject/function_choice.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/wire/log.h"

namespace heaptap::inject {
namespace {

using tracer::FoundFunction;
using tracer::LoadedObject;
using wire::Family;
using wire::Function;
using wire::InjectedWay;
using wire::Role;

bool is_operator(Function function) { return wire::is_cpp(wire::facts_of(function).family); }

bool is_heaps(const FoundFunction& found) {
  const bool is_call = found.watch == tracer::Watch::kCall || found.watch == tracer::Watch::kResolver;
  const wire::FunctionFacts& facts = wire::facts_of(found.function);
  const bool is_heap = facts.family == Family::kMalloc || wire::is_cpp(facts.family);
  return is_call && found.form == tracer::Form::kPlain && is_heap;
}

bool maps(const FoundFunction& found) {
  const wire::FunctionFacts& facts = wire::facts_of(found.function);
  return found.watch == tracer::Watch::kCall && found.form == tracer::Form::kPlain && facts.family == Family::kMap;
}

// A function of the C library that is about the process.
struct ProcessCall {
  InjectedWay way;
  unsigned arguments;
};

// None: another one. `has_inner`: the library exports what its sigaction leads to.
std::optional<ProcessCall> process_call_of(const FoundFunction& found, bool has_inner) {
  constexpr ProcessCall kSignalAction{InjectedWay::kSignalAction, 3};
  switch (found.watch) {
    case tracer::Watch::kExit:
      return ProcessCall{InjectedWay::kExit, 1};
    case tracer::Watch::kLastExit:
      return ProcessCall{InjectedWay::kLastExit, 1};
    case tracer::Watch::kAction:
      return has_inner ? std::nullopt : std::optional(kSignalAction);
    case tracer::Watch::kInnerAction:
      return kSignalAction;
    case tracer::Watch::kControl:
      return ProcessCall{InjectedWay::kControl, 5};
    case tracer::Watch::kNumber:
      return ProcessCall{InjectedWay::kNumber, 6};
    default:
      return std::nullopt;
  }
}

// Calls of the others are rare, and where these can't be patched they are seen as what they call, or not at all.
bool is_needed(Function function) {
  return function != Function::kValloc && function != Function::kPvalloc && function != Function::kReallocarray &&
         function != Function::kCfree && function != Function::kFreeSized && function != Function::kFreeAlignedSized;
}

bool is_aligned(Function function) {
  return function == Function::kNewAligned || function == Function::kNewAlignedNothrow ||
         function == Function::kNewArrayAligned || function == Function::kNewArrayAlignedNothrow;
}

unsigned arguments_of(Function function) {
  switch (function) {
    case Function::kMalloc:
    case Function::kFree:
    case Function::kCfree:
    case Function::kValloc:
    case Function::kPvalloc:
    case Function::kNew:
    case Function::kNewArray:
    case Function::kDelete:
    case Function::kDeleteArray:
      return 1;
    case Function::kCalloc:
    case Function::kRealloc:
    case Function::kAlignedAlloc:
    case Function::kMemalign:
    case Function::kMunmap:
      return 2;
    case Function::kPkeyMprotect:
      return 4;
    case Function::kMremap:
      return 5;
    case Function::kMmap:
    case Function::kMmap64:
      return 6;
    default:
      return 3;
  }
}

// As a call of malloc or free, where nobody can tell.
Function plain(Function function) {
  const bool releases = wire::facts_of(function).role == Role::kRelease;
  return wire::combined(function, releases ? Function::kFree : Function::kMalloc);
}

enum class Kind : uint8_t { kOther, kAllocator, kLibrary, kOwnOperators };

// An object's functions, in groups of one address.
struct Definitions {
  uint32_t object = 0;
  Kind kind = Kind::kOther;
  std::vector<FoundFunction> functions;

  [[nodiscard]] uint64_t find(Function function) const {
    const auto found = std::ranges::find(functions, function, &FoundFunction::function);
    return found == functions.end() ? 0 : found->address;
  }
  [[nodiscard]] bool has_operators() const {
    return std::ranges::any_of(functions, [](const FoundFunction& found) { return is_operator(found.function); });
  }
};

Definitions definitions_of(const LoadedObject& object, uint32_t index) {
  Definitions made;
  made.object = index;
  if (object.is_loader || (object.flags & wire::kModuleIsVdso) != 0) return made;
  std::ranges::copy_if(object.functions, std::back_inserter(made.functions), is_heaps);
  const bool is_main = (object.flags & wire::kModuleIsMain) != 0;
  if (made.find(Function::kMalloc) != 0 && made.find(Function::kFree) != 0) {
    made.kind = Kind::kAllocator;
  } else if (made.has_operators()) {
    made.kind = object.exceptions.size() != 0 && !is_main ? Kind::kLibrary : Kind::kOwnOperators;
  }
  return made;
}

class Chooser {
 public:
  Chooser(std::span<const LoadedObject> objects, const ChoiceQuestions& questions, std::string why_plain)
      : objects_(objects), questions_(questions) {
    choice_.why_plain = std::move(why_plain);
  }

  base::Result<FunctionChoice> choose() {
    for (uint32_t i = 0; i < objects_.size(); ++i) all_.push_back(definitions_of(objects_[i], i));
    HEAPTAP_TRY(check());
    for (const Definitions& each : all_) {
      if (each.kind == Kind::kAllocator) add_allocator(each);
      if (each.kind == Kind::kLibrary && choice_.why_plain.empty()) add_library(each);
    }
    for (uint32_t i = 0; i < objects_.size(); ++i) {
      if (!objects_[i].is_libc) continue;
      add_mappings(i);
      add_process_calls(i);
    }
    std::ranges::sort(choice_.functions, {}, &ChosenFunction::address);
    return std::move(choice_);
  }

 private:
  const std::string& path(const Definitions& each) const { return objects_[each.object].path; }

  void record_plainly(std::string why) {
    if (choice_.why_plain.empty()) choice_.why_plain = std::move(why);
  }

  base::Result<> check() {
    for (const Definitions& each : all_) {
      if (each.kind == Kind::kAllocator) {
        ++choice_.allocators;
        choice_.is_glibc |= objects_[each.object].is_libc && objects_[each.object].allocator.size() != 0;
        for (const FoundFunction& found : each.functions) {
          if (found.watch == tracer::Watch::kResolver)
            return base::fail("{} chooses its {} as it is loaded (IFUNC)", path(each), name_of(found));
        }
        if (each.has_operators()) HEAPTAP_TRY(check_operators(each));
      }
      if (each.kind == Kind::kOwnOperators)
        record_plainly(base::make_error("{} has operators of its own", path(each)).message);
    }
    for (const Definitions& each : all_) {
      if (each.kind == Kind::kLibrary && allocator_for(each) == nullptr)
        record_plainly(base::make_error("it isn't known what the operators of {} call", path(each)).message);
    }
    return {};
  }

  static const char* name_of(const FoundFunction& found) { return wire::facts_of(found.function).name; }

  // Its blocks have to be malloc's, since that is called.
  base::Result<> check_operators(const Definitions& each) const {
    const uint64_t free_function = each.find(Function::kFree);
    for (const Function function : {Function::kDelete, Function::kDeleteArray}) {
      const uint64_t address = each.find(function);
      const bool is_free = address == 0 || address == free_function || questions_.goes_to_free(each.object, address);
      if (!is_free) return base::fail("operator delete of {} isn't its free", path(each));
    }
    if (each.find(Function::kAlignedAlloc) == 0) return base::fail("{} has no aligned_alloc", path(each));
    return {};
  }

  // Whose malloc the C++ library calls. Null: unknown.
  const Definitions* allocator_for(const Definitions& library) const {
    const uint64_t reached = questions_.reached_malloc(library.object);
    const Definitions* only = nullptr;
    for (const Definitions& each : all_) {
      if (each.kind != Kind::kAllocator) continue;
      const bool is_it = reached != 0 ? each.find(Function::kMalloc) == reached : choice_.allocators == 1;
      if (is_it && each.find(Function::kAlignedAlloc) != 0) only = &each;
    }
    return only;
  }

  struct Group {
    bool is_new = false;  // among them is a form of operator new
    bool is_aligned = false;
  };

  // Adds what make(function of each address) chooses.
  template <typename Make>
  void add_groups(const Definitions& each, const Make& make) {
    for (size_t i = 0; i < each.functions.size();) {
      const FoundFunction& first = each.functions[i];
      ChosenFunction chosen{
          .address = first.address, .size_bytes = first.size_bytes, .function = first.function, .object = each.object};
      Group group;
      for (; i < each.functions.size() && each.functions[i].address == first.address; ++i) {
        chosen.function = wire::combined(chosen.function, each.functions[i].function);
        chosen.size_bytes = std::max(chosen.size_bytes, each.functions[i].size_bytes);
        const Function function = each.functions[i].function;
        chosen.arguments = std::max(chosen.arguments, arguments_of(function));
        group.is_new |= is_operator(function) && wire::facts_of(function).role == Role::kAllocate;
        group.is_aligned |= is_aligned(function);
      }
      if (wire::facts_of(chosen.function).role == Role::kRelease) chosen.way = InjectedWay::kRelease;
      make(chosen, group);
      choice_.functions.push_back(chosen);
    }
  }

  void add_allocator(const Definitions& each) {
    const bool is_plain = !choice_.why_plain.empty();
    add_groups(each, [&](ChosenFunction& chosen, Group group) {
      chosen.is_needed = is_needed(chosen.function);
      if (group.is_new && group.is_aligned) chosen.way = InjectedWay::kAlignedNew;
      if (group.is_new) chosen.call = each.find(group.is_aligned ? Function::kAlignedAlloc : Function::kMalloc);
      if (is_plain && wire::facts_of(chosen.function).family != Family::kMalloc)
        chosen.function = plain(chosen.function);
    });
  }

  // Those of the C library alone: the loader maps for itself.
  void add_mappings(uint32_t object) {
    for (const FoundFunction& found : objects_[object].functions) {
      if (!maps(found)) continue;
      choice_.functions.push_back({.address = found.address,
                                   .size_bytes = found.size_bytes,
                                   .function = found.function,
                                   .way = InjectedWay::kMapping,
                                   .arguments = arguments_of(found.function),
                                   .object = object,
                                   .is_needed = false});
    }
  }

  void add_process_calls(uint32_t object) {
    const auto& functions = objects_[object].functions;
    const bool has_inner =
        std::ranges::find(functions, tracer::Watch::kInnerAction, &FoundFunction::watch) != functions.end();
    for (const FoundFunction& found : functions) {
      const auto call = process_call_of(found, has_inner);
      const bool is_known = !choice_.functions.empty() && choice_.functions.back().address == found.address;
      if (!call || is_known) continue;  // _Exit is _exit
      choice_.functions.push_back({.address = found.address,
                                   .size_bytes = found.size_bytes,
                                   .way = call->way,
                                   .arguments = call->arguments,
                                   .object = object,
                                   .is_needed = false});
    }
  }

  void add_library(const Definitions& each) {
    const Definitions& allocator = *allocator_for(each);
    add_groups(each, [&](ChosenFunction& chosen, Group group) {
      chosen.is_library = true;
      if (!group.is_new) return;
      chosen.way = group.is_aligned ? InjectedWay::kStandardAlignedNew : InjectedWay::kStandardNew;
      chosen.call = allocator.find(group.is_aligned ? Function::kAlignedAlloc : Function::kMalloc);
    });
  }

  std::span<const LoadedObject> objects_;
  const ChoiceQuestions& questions_;
  std::vector<Definitions> all_;
  FunctionChoice choice_;
};

}  // namespace

base::Result<FunctionChoice> choose_functions(std::span<const LoadedObject> objects, const ChoiceQuestions& questions,
                                              std::string why_plain) {
  return Chooser(objects, questions, std::move(why_plain)).choose();
}

}  // namespace heaptap::inject
