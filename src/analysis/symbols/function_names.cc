#include "analysis/symbols/function_names.h"

#include <dwarf.h>

#include "analysis/symbols/resolver.h"

namespace heaptap::symbols {
namespace {

constexpr int kOriginLimit = 16;  // a copy of an inlined copy of a member declared elsewhere: 3; a cycle: endless
constexpr uint32_t kScopeDepthLimit = 64;

const char* string_of(Dwarf_Die& die, unsigned int attribute) {
  Dwarf_Attribute value;
  return dwarf_attr(&die, attribute, &value) == nullptr ? nullptr : dwarf_formstring(&value);
}

const char* linkage_name_of(Dwarf_Die& die) {
  const char* name = string_of(die, DW_AT_linkage_name);
  return name != nullptr ? name : string_of(die, DW_AT_MIPS_linkage_name);
}

// "sort<int*>" without "<int*>".
std::string without_arguments(const std::string& name) {
  return name.starts_with("operator") ? "operator" : name.substr(0, name.find('<', 1));
}

// From a copy to its origin, from a definition to its declaration.
bool go_to_origin(Dwarf_Die& die) {
  for (unsigned int attribute : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Attribute value;
    Dwarf_Die origin;
    if (dwarf_attr(&die, attribute, &value) != nullptr && dwarf_formref_die(&value, &origin) != nullptr) {
      die = origin;
      return true;
    }
  }
  return false;
}

}  // namespace

uint32_t FunctionNames::add_scope(Dwarf* dwarf, Dwarf_Off offset, uint32_t parent) {
  scopes_.push_back({.dwarf = dwarf, .offset = offset, .parent = parent, .is_named = false, .text = {}});
  return static_cast<uint32_t>(scopes_.size() - 1);
}

const FunctionName& FunctionNames::name_of(Dwarf_Die die) {
  auto [place, is_new] = names_.try_emplace(die.addr);
  if (is_new) place->second = find_name(die);
  return place->second;
}

FunctionName FunctionNames::find_name(Dwarf_Die die) {
  std::string plain;
  uint32_t scope = kNoScope;
  for (int step = 0; step < kOriginLimit; ++step) {
    if (const char* linkage_name = linkage_name_of(die)) {
      return {.text = demangle(linkage_name), .linkage = linkage_name, .plain = {}, .is_complete = true};
    }
    if (const char* name = plain.empty() ? string_of(die, DW_AT_name) : nullptr) plain = name;
    if (scope == kNoScope) scope = scope_of(die);
    if (!go_to_origin(die)) break;
  }
  // With LTO inlined functions refer to the unit in which they were compiled.
  if (scope == kNoScope) {
    walk_unit_(die);
    scope = scope_of(die);
  }
  std::string text = plain.empty() || scope == kNoScope ? plain : text_of(scope) + "::" + plain;
  return {.text = std::move(text), .linkage = {}, .plain = without_arguments(plain)};
}

uint32_t FunctionNames::scope_of(const Dwarf_Die& die) const {
  const auto found = scope_of_.find(die.addr);
  return found == scope_of_.end() ? kNoScope : found->second;
}

const std::string& FunctionNames::text_of(uint32_t scope) {
  std::vector<uint32_t> chain;
  for (uint32_t each = scope; each != kNoScope && !scopes_[each].is_named && chain.size() < kScopeDepthLimit;
       each = scopes_[each].parent) {
    chain.push_back(each);
  }
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    Scope& place = scopes_[*each];
    Dwarf_Die die;
    const char* name = nullptr;
    if (dwarf_offdie(place.dwarf, place.offset, &die) != nullptr) name = string_of(die, DW_AT_name);
    if (place.parent != kNoScope) place.text = scopes_[place.parent].text + "::";
    place.text += name != nullptr ? name : "(anonymous namespace)";
    place.is_named = true;
  }
  return scopes_[scope].text;
}

}  // namespace heaptap::symbols
