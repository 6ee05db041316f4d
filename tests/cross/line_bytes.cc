// Every message between two machines, and a stream of events, as this machine writes them; or, with a file of another one's, whether
// they mean the same here. Built for several CPUs: all have to write the same bytes, and to read each other's.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "capture/stream/live_heap.h"
#include "capture/stream/raw_stream.h"
#include "capture/stream/scan_bytes.h"
#include "common/frames/capture_frames.h"
#include "common/line/function_codec.h"
#include "common/line/line_messages.h"
#include "common/line/message_fields.h"
#include "common/line/record_order.h"
#include "common/message/common_messages.h"
#include "common/message/message.h"
#include "common/model/note_code.h"

namespace heaptap {
namespace {

using line::Field;
using line::Kind;
using message::Fields;
using message::Message;

// The same numbers on every machine.
class Numbers {
 public:
  uint64_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 16;
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(next() % bound); }

 private:
  uint64_t state_ = 42;
};

class MadeTables : public stream::AgentTables {
 public:
  [[nodiscard]] uint32_t node_count() const override { return wire::kRootCount + 400; }
  [[nodiscard]] uint64_t node(uint32_t number) const override {
    const uint32_t index = number - wire::kRootCount;
    if (index % 4 == 3) return wire::make_node(number - 1, wire::kLabelCode | (1 + index % 3));
    return wire::make_node(index == 0 ? 0 : wire::kRootCount + index / 2 / 4 * 4, index);
  }
  [[nodiscard]] uint32_t code_count() const override { return 400; }
  [[nodiscard]] uint64_t code(uint32_t index) const override { return 0x7f12'3456'7000 + uint64_t{index} * 16; }
  [[nodiscard]] std::optional<model::Label> label(uint32_t number) const override {
    return model::Label{.parent = number - 1, .kind = wire::LabelKind::kTag, .name = "tag " + std::to_string(number)};
  }
};

log::RawEvents some_events(Numbers& numbers, unsigned count, uint64_t& time) {
  log::RawEvents events;
  for (unsigned i = 0; i < count; ++i) {
    const bool is_release = numbers.below(2) == 0;
    const uint64_t address = 0x5555'0000'0000 + uint64_t{numbers.below(5000)} * 16 + (uint64_t{numbers.below(3)} << 40);
    time += numbers.below(100'000);
    events.push_back({.time = time,
                      .tagged_address = wire::make_tagged_address(
                          is_release ? wire::RecordKind::kRelease : wire::RecordKind::kAllocate, 1, address),
                      .size_bytes = is_release ? 0 : numbers.next() >> numbers.below(48),
                      .stack = wire::kRootCount + numbers.below(400),
                      .thread = numbers.below(20)});
  }
  return events;
}

std::string raw_stream() {
  const MadeTables tables;
  stream::RawStreamWriter writer(tables);
  Numbers numbers;
  uint64_t time = uint64_t{1} << 40;
  writer.add_modules({{.path = "/usr/lib/libx.so", .build_id = "\x01\xfe\x80"}});
  writer.add_threads({{.number = 1, .kernel_id = 70'000, .name = "thread"}});
  for (uint64_t drain = 1; drain <= 5; ++drain) {
    const log::RawEvents events = some_events(numbers, 2000, time);
    writer.add_drain(events, 64'000,
                     {.start_ticks = uint64_t{1} << 39,
                      .ticks = drain * 3'000'000'000,
                      .elapsed_ns = drain * 1'000'000'000,
                      .complete_until = time,
                      .lost_events = drain << 33},
                     [](uint32_t) { return std::string(); });
  }
  const std::vector<uint8_t> bytes = writer.take();
  return std::string(line::text_of(bytes));
}

model::Capture some_capture() {
  model::Capture capture;
  capture.command = {"/bin/program", "w\xc3\xb6rd"};
  capture.executable = "/bin/program";
  capture.pid = 4'000'000;
  capture.host_name = "board";
  capture.architecture = "x86_64";
  capture.elf_machine = 62;
  capture.recorder = {
      .architecture = "x86_64", .elf_machine = 62, .word_bytes = 8, .page_bytes = 4096, .big_endian = false};
  capture.via = "agent";
  capture.start_unix_ns = 1'700'000'000'000'000'000;
  capture.time_resolution_ns = 1000;
  capture.exit.code = 7;
  capture.event_count = uint64_t{1} << 40;
  capture.notes.push_back({.kind = model::NoteKind::kReleasesNotSeen, .numbers = {uint64_t{1} << 50}});
  return capture;
}

std::vector<model::ScannedBlock> some_blocks() {
  Numbers numbers;
  std::vector<model::ScannedBlock> blocks;
  uint64_t address = 0x5555'0000'0000;
  for (int i = 0; i < 300; ++i) {
    address += numbers.below(1 << 20) + 16;
    blocks.push_back({.address = address, .size_bytes = numbers.next() >> 20, .number = 0, .site = 0, .type = 0});
  }
  return blocks;
}

line::RecordOrder some_order() {
  return {.command = {"/bin/program", "", "two words"},
          .environment = {"A=1", "B="},
          .user = "1000",
          .processes = {1, 4'194'304},
          .via = "ptrace",
          .follow_fork = true,
          .follow_exec = false,
          .no_cpp = true,
          .leak_scan = true,
          .drop_on_overflow = true,
          .depth = 70'000,
          .release_stacks = wire::ReleaseStacks::kNone,
          .log_memory_bytes = uint64_t{5} << 32,
          .report_signal = 12,
          .omit = {"libodd.so"},
          .fetches = true,
          .compression = line::Compression::kAlways};
}

line::FunctionRequest some_request() {
  return {.build_id = "\x01\xfe\x80", .path = "/bin/program", .names = {"malloc", "_Znwm"}};
}

line::FoundFunctions some_functions() {
  return {.build_id = "\x01\xfe\x80",
          .functions = {{.name = "malloc", .address = uint64_t{0xffff'8000'0000'1000}},
                        {.name = "free", .address = 0x1234, .is_local = true}}};
}

template <typename Bytes>
Fields with(message::Number field, const Bytes& bytes) {
  Fields fields;
  fields.add(Field::kStream, uint64_t{3});
  fields.add(field, line::text_of(bytes));
  return fields;
}

std::vector<Message> all_messages() {
  std::vector<Message> all = {message::hello(), {.kind = Kind::kRecord, .number = 1, .fields = encode(some_order())}};
  frames::ByteBuffer begin;
  frames::write_capture_start(begin, some_capture());
  all.push_back({.kind = Kind::kRecording, .number = 0, .fields = with(Field::kCapture, begin)});
  all.push_back({.kind = Kind::kBytes, .number = 0, .fields = {}});
  all.back().fields.add(Field::kBytes, raw_stream());
  all.push_back({.kind = Kind::kBlocks, .number = 0, .fields = {}});
  all.back().fields.add(Field::kBytes, line::text_of(stream::write_scanned_blocks(some_blocks())));
  all.back().fields.add(Field::kChecksum, stream::fingerprint(some_blocks(), {}));
  stream::ScanAnswer answer;
  answer.word_bytes = 4;
  answer.findings.patterns.resize(300);
  answer.roots.ranges = {{0x1000, 0x7fff'ffff'f000, wire::RootKind::kGlobal, 9}};
  answer.roots.words = {{0x7f12'3456'789a, 77'000, 12}};
  all.push_back({.kind = Kind::kScanned, .number = 0, .fields = {}});
  all.back().fields.add(Field::kBytes, line::text_of(stream::write_scan_answer(answer)));
  frames::ByteBuffer end;
  frames::write_capture_end(end, some_capture());
  all.push_back({.kind = Kind::kEnded, .number = 0, .fields = with(Field::kCapture, end)});
  all.push_back(message_of(some_request()));
  all.push_back(message_of(some_functions()));
  // Those of numbers and texts alone: one number of each length.
  for (int kind = 0; kind < 256; ++kind) {
    Fields fields;
    for (unsigned bits = 0; bits < 64; bits += 7)
      fields.add(message::Number(static_cast<uint8_t>(bits)), uint64_t{1} << bits | 1);
    fields.add(Field::kText, std::string("a text\0with all \xff", 17));
    all.push_back({.kind = message::Number(static_cast<uint8_t>(kind)),
                   .number = uint64_t{0x0123'4567'89ab'cdef},
                   .fields = std::move(fields)});
  }
  return all;
}

std::string write_all() {
  std::string bytes;
  for (const Message& message : all_messages()) bytes += encode(message);
  return bytes;
}

bool expect(bool is_so, const char* what) {
  if (!is_so) std::fprintf(stderr, "not so here: %s\n", what);
  return is_so;
}

bool reads_stream(std::string_view bytes) {
  stream::ReceivedStream stream;
  stream.receive(line::bytes_of(bytes));
  log::RawEvents events;
  while (!stream.state().is_empty) stream.drain(events, true);
  Numbers numbers;
  uint64_t time = uint64_t{1} << 40;
  size_t at = 0;
  bool sound = expect(stream.failure().empty(), stream.failure().c_str());
  for (int drain = 0; drain < 5; ++drain) {
    for (const wire::RawEvent& sent : some_events(numbers, 2000, time)) {
      if (at == events.size()) return expect(false, "as many events");
      const wire::RawEvent& got = events[at++];
      sound = sound && got.tagged_address == sent.tagged_address && got.size_bytes == sent.size_bytes &&
              got.thread == sent.thread && got.time <= sent.time;
    }
  }
  return expect(sound && at == events.size(), "the same events") &&
         expect(stream.state().lost_events == uint64_t{5} << 33, "the stream's state");
}

bool reads_all(const std::string& bytes) {
  message::MessageReader reader(bytes.size());
  reader.add(bytes);
  for (const Message& own : all_messages()) {
    const auto message = reader.next();
    if (!expect(message.has_value() && message->kind == own.kind && message->number == own.number, "a message"))
      return false;
    if (!expect(message->fields.bytes() == own.fields.bytes(), "its fields")) return false;
    const std::string_view text = message->fields.text(Field::kBytes).value_or("");
    if (message->kind == Kind::kBytes && !text.empty() && !reads_stream(text)) return false;
    if (message->kind == Kind::kRecord && message->number == 1) {
      const auto order = line::decode_order(message->fields);
      if (!expect(order && order->log_memory_bytes == some_order().log_memory_bytes && order->depth == 70'000,
                  "an order"))
        return false;
    }
    if (message->kind == Kind::kBlocks && !text.empty()) {
      const auto blocks = stream::read_scanned_blocks(line::bytes_of(text));
      if (!expect(blocks && stream::fingerprint(*blocks, {}) == message->fields.number(Field::kChecksum), "blocks"))
        return false;
    }
    if (message->kind == Kind::kScanned && !text.empty()) {
      const auto answer = stream::read_scan_answer(line::bytes_of(text));
      if (!expect(answer && answer->roots.ranges[0].end == 0x7fff'ffff'f000, "what a scan found")) return false;
    }
    if (message->kind == Kind::kFunctionsWanted && message->number == 0) {
      const auto request = line::decode_function_request(message->fields);
      if (!expect(request && request->names == some_request().names, "which functions are wanted")) return false;
    }
    if (message->kind == Kind::kFunctions && message->number == 0) {
      const auto found = line::decode_functions(message->fields);
      if (!expect(found && found->functions == some_functions().functions, "where functions are")) return false;
    }
    if (message->kind == Kind::kEnded && message->fields.text(Field::kCapture)) {
      const std::string_view capture_bytes = *message->fields.text(Field::kCapture);
      wire::VarintReader in(line::bytes_of(capture_bytes).data(), capture_bytes.size());
      model::Capture capture;
      const bool sound = frames::read_capture(in, capture) && capture.event_count == uint64_t{1} << 40 &&
                         capture.notes.size() == 1 && capture.notes[0].numbers[0] == uint64_t{1} << 50;
      if (!expect(sound, "the end of a capture")) return false;
    }
  }
  return expect(!reader.next() && reader.is_sound() && reader.waiting_bytes() == 0, "nothing behind");
}

}  // namespace
}  // namespace heaptap

int main(int argc, char** argv) {
  using namespace heaptap;
  if (argc < 3) return 2;
  const bool writes = std::strcmp(argv[1], "--write") == 0;
  std::FILE* const file = std::fopen(argv[2], writes ? "wb" : "rb");
  if (file == nullptr) return 2;
  std::string bytes = writes ? write_all() : std::string(size_t{16} << 20, '\0');
  if (writes) return std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fclose(file) == 0 ? 0 : 2;
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  return reads_all(bytes) ? 0 : 1;
}
