#include "capture/stream/scan_bytes.h"

#include <algorithm>
#include <utility>

#include "common/frames/byte_buffer.h"
#include "common/wire/varint.h"

namespace heaptap::stream {
namespace {

using frames::ByteBuffer;
using wire::VarintReader;

// Before a candidate: the source of the following ones. No candidate's value is 0.
constexpr uint64_t kOrigin = 0;

std::vector<uint8_t> bytes_of(const ByteBuffer& buffer) { return {buffer.data(), buffer.data() + buffer.size()}; }

// Calls read(entry) for each of a list's entries, which take at least this many bytes each; false: one is invalid, or there are fewer.
template <typename Entry, typename Read>
bool read_list(VarintReader& in, size_t least_bytes, std::vector<Entry>& list, Read read) {
  const size_t count = in.entry_count(least_bytes);
  if (!in.ok()) return false;
  list.resize(count);
  return std::ranges::all_of(list, [&](Entry& entry) { return read(entry) && in.ok(); });
}

// Numbers mostly near the previous one.
class Steps {
 public:
  void write(ByteBuffer& out, uint64_t value) {
    out.signed_varint(static_cast<int64_t>(value - last_));
    last_ = value;
  }
  uint64_t read(VarintReader& in) { return last_ += static_cast<uint64_t>(in.signed_varint()); }

 private:
  uint64_t last_ = 0;
};

bool read_u32(VarintReader& in, uint32_t& value) {
  const uint64_t wide = in.varint();
  value = static_cast<uint32_t>(wide);
  return wide <= UINT32_MAX;
}

bool read_root_kind(VarintReader& in, wire::RootKind& kind) {
  const uint64_t number = in.varint();
  kind = static_cast<wire::RootKind>(number);
  return number < wire::kRootKindCount;
}

void write_ranges(ByteBuffer& out, const std::vector<wire::RootRange>& ranges) {
  out.varint(ranges.size());
  Steps at;
  for (const wire::RootRange& range : ranges) {
    at.write(out, range.begin);
    at.write(out, range.end);
    out.varint(static_cast<uint64_t>(range.kind));
    out.varint(range.thread_id);
  }
}

bool read_ranges(VarintReader& in, std::vector<wire::RootRange>& ranges) {
  Steps at;
  return read_list(in, 4, ranges, [&](wire::RootRange& range) {
    range.begin = at.read(in);
    range.end = at.read(in);
    return read_root_kind(in, range.kind) && read_u32(in, range.thread_id);
  });
}

void write_words(ByteBuffer& out, const std::vector<wire::RootWord>& words) {
  out.varint(words.size());
  for (const wire::RootWord& word : words) {
    out.varint(word.value);
    out.varint(word.thread_id);
    out.varint(word.register_number);
    out.varint(static_cast<uint64_t>(word.kind));
  }
}

bool read_words(VarintReader& in, std::vector<wire::RootWord>& words) {
  return read_list(in, 4, words, [&](wire::RootWord& word) {
    word.value = in.varint();
    if (!read_u32(in, word.thread_id)) return false;
    const uint64_t number = in.varint();
    word.register_number = static_cast<uint16_t>(number);
    return number <= UINT16_MAX && read_root_kind(in, word.kind);
  });
}

void write_frames(ByteBuffer& out, const std::vector<wire::StackFrame>& frames) {
  out.varint(frames.size());
  Steps cfa;
  Steps code;
  for (const wire::StackFrame& frame : frames) {
    cfa.write(out, frame.cfa);
    code.write(out, frame.code);
    out.varint(frame.thread_id);
  }
}

bool read_frames(VarintReader& in, std::vector<wire::StackFrame>& frames) {
  Steps cfa;
  Steps code;
  return read_list(in, 3, frames, [&](wire::StackFrame& frame) {
    frame.cfa = cfa.read(in);
    frame.code = code.read(in);
    return read_u32(in, frame.thread_id);
  });
}

void write_segments(ByteBuffer& out, const std::vector<scan::ThreadSegment>& segments) {
  out.varint(segments.size());
  Steps at;
  Steps base;
  for (const scan::ThreadSegment& segment : segments) {
    at.write(out, segment.begin);
    at.write(out, segment.end);
    out.varint(segment.thread_id);
    base.write(out, segment.module_base);
    out.varint(segment.segment_offset);
  }
}

bool read_segments(VarintReader& in, std::vector<scan::ThreadSegment>& segments) {
  Steps at;
  Steps base;
  return read_list(in, 5, segments, [&](scan::ThreadSegment& segment) {
    segment.begin = at.read(in);
    segment.end = at.read(in);
    if (!read_u32(in, segment.thread_id)) return false;
    segment.module_base = base.read(in);
    segment.segment_offset = in.varint();
    return true;
  });
}

void write_lives(ByteBuffer& out, const std::vector<model::BlockLife>& lives) {
  out.varint(lives.size());
  for (const model::BlockLife life : lives) out.varint(static_cast<uint64_t>(life));
}

bool read_lives(VarintReader& in, std::vector<model::BlockLife>& lives) {
  return read_list(in, 1, lives, [&](model::BlockLife& life) {
    const uint64_t number = in.varint();
    life = static_cast<model::BlockLife>(number);
    return number < model::kBlockLifeCount;
  });
}

// Few blocks have a type.
void write_types(ByteBuffer& out, const std::vector<uint64_t>& types) {
  out.varint(static_cast<uint64_t>(std::ranges::count_if(types, [](uint64_t type) { return type != 0; })));
  Steps block;
  Steps address;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == 0) continue;
    block.write(out, i);
    address.write(out, types[i]);
  }
}

bool read_types(VarintReader& in, std::vector<uint64_t>& types) {
  size_t count = in.entry_count(2);
  if (!in.ok()) return false;
  Steps block;
  Steps address;
  for (; count > 0; --count) {
    const uint64_t at = block.read(in);
    const uint64_t type = address.read(in);
    if (!in.ok() || at >= types.size()) return false;
    types[static_cast<size_t>(at)] = type;
  }
  return true;
}

// The rest besides the candidates.
void write_heads(ByteBuffer& out, const scan::Findings& findings) {
  for (const uint64_t bytes : {findings.read_bytes, findings.skipped_bytes, findings.unread_bytes}) out.varint(bytes);
  out.varint(findings.patterns.size());
  out.bytes(findings.patterns.data(), findings.patterns.size());
  write_types(out, findings.types);
  out.varint(findings.inner_vtables.size());
  Steps at;
  for (const uint64_t position : findings.inner_vtables) at.write(out, position);
}

bool read_heads(VarintReader& in, scan::Findings& findings) {
  findings.read_bytes = in.varint();
  findings.skipped_bytes = in.varint();
  findings.unread_bytes = in.varint();
  const std::span<const uint8_t> patterns = in.sized_bytes();
  if (!in.ok()) return false;
  findings.patterns.assign(patterns.begin(), patterns.end());
  findings.types.resize(patterns.size());
  if (!read_types(in, findings.types)) return false;
  Steps at;
  return read_list(in, 1, findings.inner_vtables, [&](uint64_t& position) {
    position = at.read(in);
    return true;
  });
}

// Up to the end of the bytes.
void write_candidates(ByteBuffer& out, scan::CandidateLog& candidates, const PutPiece& put) {
  Steps position;
  std::optional<uint32_t> origin;
  candidates.drain([&](const scan::Candidate& candidate) {
    if (candidate.origin != origin) {
      out.varint(kOrigin);
      out.varint(candidate.origin);
      origin = candidate.origin;
    }
    out.varint(candidate.value << 1 | (candidate.form == scan::WordForm::kAddress ? 0 : 1));
    position.write(out, candidate.position | (candidate.form == scan::WordForm::kRelative ? 1 : 0));
    if (out.size() < kAnswerPieceBytes) return;
    put({out.data(), out.size()}, false);
    out.clear();
  });
}

bool read_candidates(VarintReader& in, scan::CandidateLog& candidates) {
  Steps position;
  bool has_origin = false;
  for (uint32_t origin = 0; !in.at_end();) {
    const uint64_t formed_value = in.varint();
    if (formed_value == kOrigin) {
      if (!read_u32(in, origin)) return false;
      candidates.begin(origin);
      has_origin = true;
      continue;
    }
    const uint64_t formed_position = position.read(in);
    const scan::WordForm form = (formed_value & 1) == 0      ? scan::WordForm::kAddress
                                : (formed_position & 1) == 0 ? scan::WordForm::kTagged
                                                             : scan::WordForm::kRelative;
    const uint64_t value = formed_value >> 1;
    const uint64_t at = form == scan::WordForm::kRelative ? formed_position - 1 : formed_position;
    if (!has_origin || !scan::CandidateLog::can_hold(value, at)) return false;
    candidates.add(value, at, form);
  }
  return in.ok();
}

}  // namespace

std::vector<uint8_t> write_scanned_blocks(std::span<const model::ScannedBlock> blocks) {
  ByteBuffer out;
  out.varint(blocks.size());
  Steps address;
  for (const model::ScannedBlock& block : blocks) address.write(out, block.address);
  for (const model::ScannedBlock& block : blocks) out.varint(block.size_bytes);
  return bytes_of(out);
}

std::optional<std::vector<model::ScannedBlock>> read_scanned_blocks(std::span<const uint8_t> bytes) {
  VarintReader in(bytes.data(), bytes.size());
  const size_t count = in.entry_count(2);
  if (!in.ok()) return std::nullopt;
  std::vector<model::ScannedBlock> blocks(count);
  Steps address;
  for (model::ScannedBlock& block : blocks) block.address = address.read(in);
  for (model::ScannedBlock& block : blocks) block.size_bytes = in.varint();
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return blocks;
}

std::vector<uint8_t> write_unsettled(const Unsettled& unsettled) {
  ByteBuffer out;
  out.varint(unsettled.owed.size());
  for (const auto& [address, until] : unsettled.owed) {
    out.varint(address);
    out.varint(until);
  }
  out.varint(unsettled.released.size());
  for (const auto& [thread, address, size_bytes] : unsettled.released) {
    out.varint(thread);
    out.varint(address);
    out.varint(size_bytes);
  }
  return bytes_of(out);
}

std::optional<Unsettled> read_unsettled(std::span<const uint8_t> bytes) {
  VarintReader in(bytes.data(), bytes.size());
  Unsettled unsettled;
  unsettled.owed.resize(in.entry_count(2));
  for (auto& [address, until] : unsettled.owed) {
    address = in.varint();
    until = in.varint();
  }
  unsettled.released.resize(in.entry_count(3));
  for (auto& [thread, address, size_bytes] : unsettled.released) {
    thread = static_cast<uint32_t>(in.varint());
    address = in.varint();
    size_bytes = in.varint();
  }
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return unsettled;
}

void write_scan_answer(ScanAnswer& answer, const PutPiece& put) {
  ByteBuffer out;
  out.varint(answer.word_bytes);
  write_heads(out, answer.findings);
  write_lives(out, answer.lives);
  write_ranges(out, answer.roots.ranges);
  write_words(out, answer.roots.words);
  write_frames(out, answer.roots.frames);
  write_segments(out, answer.roots.thread_locals);
  write_candidates(out, answer.findings.candidates, put);
  put({out.data(), out.size()}, true);
}

std::vector<uint8_t> write_scan_answer(ScanAnswer& answer) {
  std::vector<uint8_t> bytes;
  write_scan_answer(answer, [&](std::span<const uint8_t> piece, bool /*is_last*/) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

std::optional<ScanAnswer> read_scan_answer(std::span<const uint8_t> bytes) {
  VarintReader in(bytes.data(), bytes.size());
  ScanAnswer answer;
  const uint64_t word_bytes = in.varint();
  if (word_bytes != sizeof(uint32_t) && word_bytes != sizeof(uint64_t)) return std::nullopt;
  answer.word_bytes = static_cast<unsigned>(word_bytes);
  scan::Roots& roots = answer.roots;
  if (!read_heads(in, answer.findings) || !read_lives(in, answer.lives) || !read_ranges(in, roots.ranges) ||
      !read_words(in, roots.words) || !read_frames(in, roots.frames) || !read_segments(in, roots.thread_locals) ||
      !read_candidates(in, answer.findings.candidates)) {
    return std::nullopt;
  }
  return answer;
}

}  // namespace heaptap::stream
