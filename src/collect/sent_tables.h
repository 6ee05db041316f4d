// What a sender of a raw stream has sent of an agent's tables, and by which numbers: in the order in which events need them. It keeps
// the numbers, and of the entries only those that are new.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "collect/event_stream.h"
#include "collect/node_numbers.h"
#include "trace/byte_buffer.h"
#include "trace/table_frames.h"

namespace heaptap::collect {

class SentTables {
 public:
  explicit SentTables(const AgentTables& from) : from_(from), stacks_(from) {}

  // Of the agent's node; a stack without its label where that can't be read (yet). What it needs and wasn't sent is new then.
  uint32_t number_of(uint32_t node) {
    const uint32_t known = stacks_.known(node);
    return known != NodeNumbers::kNone ? known : add_stack_of(node);
  }

  // So many entries are new that they want to be written.
  [[nodiscard]] bool has_many() const { return new_stacks_.size() >= kMany || new_labels_.size() >= kMany; }
  // The payload of a frame of what is new. False: nothing is. Codes and labels go before stacks.
  bool write_codes(trace::ByteBuffer& out);
  // Those that were written since the last call; they have the next numbers.
  std::vector<model::Code> take_written_codes() { return std::exchange(written_codes_, {}); }
  bool write_labels(trace::ByteBuffer& out);
  bool write_stacks(trace::ByteBuffer& out);

 private:
  // One event brings 4 Mi more at most, all nodes of a log, which fit into a frame.
  static constexpr size_t kMany = 65536;

  uint32_t add_stack_of(uint32_t node);
  uint32_t add_stack(const model::Stack& stack);
  model::CodeId code_of(uint32_t index);
  model::CodeId add_code(uint64_t entry);
  [[nodiscard]] model::LabelId known_label(uint32_t number) const {
    return number < labels_.size() ? labels_[number] : wire::kNoLabel;
  }
  model::LabelId label_of(uint32_t number);

  const AgentTables& from_;
  NodeNumbers stacks_;
  std::vector<uint32_t> codes_;   // by the agent's index: its number here + 1
  std::vector<uint32_t> labels_;  // by the agent's number: that here; wire::kNoLabel: none yet
  uint32_t code_of_none_ = 0;     // of an index that there is no code for: that number + 1
  std::vector<model::Code> new_codes_;
  std::vector<model::Code> written_codes_;
  std::vector<model::Stack> new_stacks_;
  std::vector<model::Label> new_labels_;
  trace::TableCounts written_;
};

}  // namespace heaptap::collect
