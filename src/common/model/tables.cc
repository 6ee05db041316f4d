#include "common/model/tables.h"

namespace heaptap::model {

const Module* find_module(std::span<const Module> modules, const Code& code) {
  for (auto module = modules.rbegin(); module != modules.rend(); ++module) {
    if (code.address >= module->start && code.address < module->end && code.generation == module->generation) {
      return &*module;
    }
  }
  return nullptr;
}

}  // namespace heaptap::model
