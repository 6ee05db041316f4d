// Prints, of a trace, the stacks of the allocations whose numbers it reads from its input: the counterpart of what
// stack_oracle.c writes. dump_stacks [--modules] TRACE <NUMBERS, hexadecimal, ascending
//   first line   how many allocations there are, lost events, 1 if the trace is cut off
//   then         NUMBER SIZE FUNCTION END FRAME…     END is a name of wire::StackEnd
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "record/trace/trace_reader.h"

namespace {

using namespace heaptap;

const char* name_of(wire::StackEnd end) {
  switch (end) {
    case wire::StackEnd::kComplete:
      return "complete";
    case wire::StackEnd::kNoUnwindTable:
      return "no-table";
    case wire::StackEnd::kUnsupportedRule:
      return "unsupported-rule";
    case wire::StackEnd::kUnreadable:
      return "unreadable";
    case wire::StackEnd::kDepthLimit:
      return "depth-limit";
    case wire::StackEnd::kTableFull:
      return "table-full";
    case wire::StackEnd::kNotUnwound:
      return "not-unwound";
    case wire::StackEnd::kMissing:
      return "missing";
  }
  return "unknown";
}

std::vector<uint64_t> read_numbers() {
  std::vector<uint64_t> numbers;
  for (uint64_t number = 0; std::scanf("%" SCNx64, &number) == 1;) numbers.push_back(number);
  return numbers;
}

class StackPrinter : public trace::EventSink {
 public:
  StackPrinter(std::vector<uint64_t> wanted, bool with_modules)
      : wanted_(std::move(wanted)), with_modules_(with_modules) {}

  void on_batch(const model::EventBatch& batch, const model::Tables& tables) override {
    for (const model::Event& event : batch.events) {
      const model::Site& site = tables.sites[event.site];
      if (site.kind != model::EventKind::kAllocate) continue;
      ++allocations_;
      if (next_ < wanted_.size() && wanted_[next_] == allocations_) {
        ++next_;
        print(event.size_or_block, site, tables);
      }
    }
  }

  [[nodiscard]] uint64_t allocations() const { return allocations_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void print(uint64_t size, const model::Site& site, const model::Tables& tables) {
    model::StackId stack = site.stack;
    std::string frames;
    for (; stack >= wire::kRootCount; stack = tables.stacks[stack].parent) {
      print_frame(tables.codes[tables.stacks[stack].code], tables, frames);
    }
    text_ += fmt::format("{:x} {:x} {} {}{}\n", allocations_, size, facts_of(site.function).symbol,
                         name_of(static_cast<wire::StackEnd>(stack)), frames);
  }

  void print_frame(const model::Code& code, const model::Tables& tables, std::string& to) const {
    const model::Module* module = with_modules_ ? tables.module_of(code) : nullptr;
    if (module == nullptr) {
      fmt::format_to(std::back_inserter(to), " {:x}", code.address);
    } else {
      const bool is_main = (module->flags & wire::kModuleIsMain) != 0;
      const std::string name = is_main ? "" : module->path.substr(module->path.rfind('/') + 1);
      fmt::format_to(std::back_inserter(to), " {}+{:x}", name, code.address - module->bias);
    }
    if (code.exact) to += '!';
  }

  std::vector<uint64_t> wanted_;
  size_t next_ = 0;
  bool with_modules_;
  uint64_t allocations_ = 0;
  std::string text_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool with_modules = argc > 2 && std::strcmp(argv[1], "--modules") == 0;
  if (argc != (with_modules ? 3 : 2)) {
    std::fputs("usage: dump_stacks [--modules] TRACE <NUMBERS\n", stderr);
    return 2;
  }
  auto reader = trace::TraceReader::open(argv[argc - 1]);
  StackPrinter printer(read_numbers(), with_modules);
  if (reader) {
    if (const auto replayed = reader->replay(printer); !replayed) reader = std::unexpected(replayed.error());
  }
  if (!reader) {
    std::fprintf(stderr, "dump_stacks: %s\n", reader.error().message.c_str());
    return 1;
  }
  const model::Capture& capture = reader->capture();
  std::printf("%" PRIx64 " %" PRIx64 " %d\n", printer.allocations(), capture.lost_events, capture.truncated ? 1 : 0);
  std::fwrite(printer.text().data(), 1, printer.text().size(), stdout);
  return 0;
}
