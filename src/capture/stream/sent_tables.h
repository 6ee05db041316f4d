// Sender's numbering of an agent's tables in a raw stream: entries are numbered in the order in which events need them.
// Keeps the numbers, and only the new entries.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "capture/stream/event_stream.h"
#include "capture/stream/node_numbers.h"
#include "common/frames/byte_buffer.h"
#include "common/frames/table_frames.h"

namespace heaptap::stream {

class SentTables {
 public:
  explicit SentTables(const AgentTables& from) : from_(from), stacks_(from) {}

  // Number of the agent's node; without the label where that is unreadable (yet). Adds all unsent entries that it depends on.
  uint32_t number_of(uint32_t node) {
    const uint32_t known = stacks_.known(node);
    return known != NodeNumbers::kNone ? known : add_stack_of(node);
  }

  // Whether there are enough new entries to write them.
  [[nodiscard]] bool has_many() const { return new_stacks_.size() >= kMany || new_labels_.size() >= kMany; }
  // Payload of a frame with the new entries. False: none. Codes and labels come before stacks.
  bool write_codes(frames::ByteBuffer& out);
  // Codes written since the last call, numbered consecutively.
  std::vector<model::Code> take_written_codes() { return std::exchange(written_codes_, {}); }
  bool write_labels(frames::ByteBuffer& out);
  bool write_stacks(frames::ByteBuffer& out);

 private:
  // One event adds at most 4 Mi more, all nodes of a log, which fit into a frame.
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
  std::vector<uint32_t> codes_;   // by the agent's index: sent number + 1
  std::vector<uint32_t> labels_;  // by the agent's number: sent number; wire::kNoLabel: none yet
  uint32_t code_of_none_ = 0;     // sent number of the placeholder for missing codes, + 1
  std::vector<model::Code> new_codes_;
  std::vector<model::Code> written_codes_;
  std::vector<model::Stack> new_stacks_;
  std::vector<model::Label> new_labels_;
  frames::TableCounts written_;
};

}  // namespace heaptap::stream
