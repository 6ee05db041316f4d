#include "analysis/symbol_server/name_bytes.h"

#include <algorithm>
#include <limits>

#include "common/wire/varint.h"

namespace heaptap::symbol_server {
namespace {

void put(std::string& to, uint64_t value) {
  uint8_t coded[wire::kMaxVarintBytes];
  to.append(reinterpret_cast<const char*>(coded), static_cast<size_t>(wire::write_varint(coded, value) - coded));
}

wire::VarintReader reader_of(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::optional<std::vector<std::string>> read_texts(wire::VarintReader& in) {
  const uint64_t count = in.varint();
  if (!in.ok() || count > in.left()) return std::nullopt;  // each takes at least a byte
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t size = in.varint();
    const uint8_t* const text = in.bytes(size);
    if (text == nullptr) return std::nullopt;
    texts.emplace_back(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
  }
  return texts;
}

std::optional<model::Frame> read_frame(wire::VarintReader& in, const std::vector<std::string>& texts) {
  const uint64_t function = in.varint();
  const uint64_t symbol = in.varint();
  const uint64_t file = in.varint();
  const uint64_t line = in.varint();
  const uint64_t inlined = in.varint();
  const uint64_t count = texts.size();
  const bool is_sound = in.ok() && function < count && symbol < count && file < count &&
                        line <= std::numeric_limits<uint32_t>::max() && inlined <= 1;
  if (!is_sound) return std::nullopt;
  model::Frame frame;
  frame.function = texts[function];
  frame.symbol = texts[symbol];
  frame.file = texts[file];
  frame.line = static_cast<uint32_t>(line);
  frame.inlined = inlined != 0;
  return frame;
}

}  // namespace

std::string write_addresses(std::span<const uint64_t> addresses) {
  std::string bytes;
  put(bytes, addresses.size());
  uint64_t before = 0;
  for (const uint64_t address : addresses) {
    put(bytes, wire::zigzag(static_cast<int64_t>(address - before)));
    before = address;
  }
  return bytes;
}

std::optional<std::vector<uint64_t>> read_addresses(std::string_view bytes) {
  wire::VarintReader in = reader_of(bytes);
  const uint64_t count = in.varint();
  if (!in.ok() || count > kMaxAddresses || count > in.left()) return std::nullopt;
  std::vector<uint64_t> addresses;
  uint64_t before = 0;
  for (uint64_t i = 0; i < count; ++i) {
    before += static_cast<uint64_t>(in.signed_varint());
    addresses.push_back(before);
  }
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return addresses;
}

size_t FrameWriter::number_of(const std::string& text) {
  const auto [place, is_new] = numbers_.try_emplace(text, texts_.size());
  if (is_new) {
    texts_.push_back(text);
    used_bytes_ += text.size() + 2;
  }
  return place->second;
}

bool FrameWriter::add(std::span<const model::Frame> frames) {
  if (used_bytes_ > max_bytes_ && !frames_.empty()) return false;
  frames = frames.first(std::min(frames.size(), kMaxFramesEach));
  std::string bytes;
  put(bytes, frames.size());
  for (const model::Frame& frame : frames) {
    put(bytes, number_of(frame.function));
    put(bytes, number_of(frame.symbol));
    put(bytes, number_of(frame.file));
    put(bytes, frame.line);
    put(bytes, frame.inlined ? 1 : 0);
  }
  used_bytes_ += bytes.size();
  frames_.push_back(std::move(bytes));
  return true;
}

std::string FrameWriter::bytes() const {
  std::string bytes;
  put(bytes, texts_.size());
  for (const std::string& text : texts_) {
    put(bytes, text.size());
    bytes += text;
  }
  put(bytes, frames_.size());
  for (const std::string& frames : frames_) bytes += frames;
  return bytes;
}

std::optional<std::vector<std::vector<model::Frame>>> read_frames(std::string_view bytes) {
  wire::VarintReader in = reader_of(bytes);
  const auto texts = read_texts(in);
  const uint64_t count = in.varint();
  if (!texts || !in.ok() || count > kMaxAddresses) return std::nullopt;
  // A frame's texts are shared, and copied here: this size stands for the others.
  constexpr size_t kMaxTextBytes = size_t{256} << 20;
  size_t text_bytes = 0;
  size_t frame_count = 0;
  std::vector<std::vector<model::Frame>> all;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t depth = in.varint();
    frame_count += depth;
    if (!in.ok() || depth > kMaxFramesEach || frame_count > kMaxFrames) return std::nullopt;
    std::vector<model::Frame>& frames = all.emplace_back();
    for (uint64_t j = 0; j < depth; ++j) {
      auto frame = read_frame(in, *texts);
      if (!frame) return std::nullopt;
      text_bytes += frame->function.size() + frame->symbol.size() + frame->file.size();
      if (text_bytes > kMaxTextBytes) return std::nullopt;
      frames.push_back(*std::move(frame));
    }
  }
  if (!in.at_end()) return std::nullopt;
  return all;
}

}  // namespace heaptap::symbol_server
