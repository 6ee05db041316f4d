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

Frame Tables::named_frame(const Code& code) const {
  Frame frame;
  frame.module = kInterpretedModule;
  frame.line = wire::named_line(code.address);
  LabelId label = wire::named_label(code.address);
  if (label < labels.size() && labels[label].kind == wire::LabelKind::kFunction) {
    frame.function = labels[label].name;
    label = labels[label].parent;
  }
  for (uint32_t depth = 0; depth < wire::kMaxLabelDepth; ++depth) {
    if (label >= labels.size() || labels[label].kind != wire::LabelKind::kSourceFile) break;
    frame.file.insert(0, labels[label].name);
    label = labels[label].parent;
  }
  return frame;
}

}  // namespace heaptap::model
