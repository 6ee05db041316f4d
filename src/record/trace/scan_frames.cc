#include "record/trace/scan_frames.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "common/base/check.h"
#include "common/base/large_allocator.h"
#include "common/model/note_code.h"

namespace heaptap::trace {
namespace {

enum class Part : uint64_t { kHead = 0, kBlocks = 1, kPointers = 2, kRoots = 3 };

// Keeps the payload of a frame far below the limit for frames.
constexpr size_t kBlocksEach = 1 << 17;
constexpr size_t kPointersEach = 1 << 18;
constexpr size_t kRootsEach = 1 << 16;
constexpr uint64_t kMaxEach = 1 << 20;  // limit of a reader for each kind in one frame
constexpr uint64_t kMaxScanBlocks = 1u << 30;
constexpr size_t kMaxScanNotes = 1000;
constexpr size_t kMaxNoteBytes = 4096;  // of a name in one
constexpr unsigned kMaxShift = 4;

std::string coded(model::Note note) {
  note.module.resize(std::min(note.module.size(), kMaxNoteBytes));
  note.name.resize(std::min(note.name.size(), kMaxNoteBytes));
  return model::encode(note);
}

// Adds the notes: their number, then each with its size. `make` decodes one.
template <typename Make>
bool read_notes(wire::VarintReader& in, std::vector<model::Note>& notes, Make make) {
  const uint64_t count = in.varint();
  if (count > kMaxScanNotes) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bytes = in.varint();
    const uint8_t* from = in.bytes(bytes);
    if (from == nullptr) return false;
    notes.push_back(make(std::string_view(reinterpret_cast<const char*>(from), bytes)));
  }
  return in.ok();
}

constexpr uint64_t frames_for(size_t count, size_t each) { return (count + each - 1) / each; }

// Start of the next block if it is adjacent, with the layout of glibc's malloc. Other allocators' blocks just compress
// less well.
constexpr uint64_t stride_of(uint64_t size) { return std::max<uint64_t>((size + 8 + 15) & ~uint64_t{15}, 32); }

// A column of differences, each to the previous entry (of the first one to 0).
template <typename Entry, typename Get>
void write_distances(frames::ByteBuffer& out, const std::vector<Entry>& entries, size_t begin, size_t end, Get get) {
  uint64_t previous = 0;
  for (size_t i = begin; i < end; ++i) {
    const uint64_t value = get(entries[i]);
    out.signed_varint(static_cast<int64_t>(value - previous));
    previous = value;
  }
}

// False where a value is not below `limit`.
template <typename Entry, typename Set>
bool read_distances(wire::VarintReader& in, std::vector<Entry>& entries, size_t begin, uint64_t limit, Set set) {
  uint64_t value = 0;
  for (size_t i = begin; i < entries.size(); ++i) {
    value += static_cast<uint64_t>(in.signed_varint());
    if (value > limit) return false;
    set(entries[i], value);
  }
  return in.ok();
}

// Later versions' reasons are like a request.
model::ScanReason reason_of(uint64_t number) {
  if (number == static_cast<uint64_t>(model::ScanReason::kEnd)) return model::ScanReason::kEnd;
  return number == static_cast<uint64_t>(model::ScanReason::kExitBegins) ? model::ScanReason::kExitBegins
                                                                         : model::ScanReason::kAsked;
}

constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kAny32 = std::numeric_limits<uint32_t>::max();

// Maximum number of entries in a payload: each takes at least a byte.
bool read_count(wire::VarintReader& in, uint64_t& count) {
  count = in.varint();
  return in.ok() && count <= in.left() && count <= kMaxEach;
}

}  // namespace

ScanFrameWriter::ScanFrameWriter(const model::HeapScan& scan, uint64_t events_before)
    : scan_(scan), events_before_(events_before) {
  if (!scan.blocks.empty() || !scan.pointers.empty()) {
    HEAPTAP_CHECK(scan.pointers_begin.size() == scan.blocks.size() + 1);
    HEAPTAP_CHECK(scan.lives.empty() || scan.lives.size() == scan.blocks.size());
    HEAPTAP_CHECK(scan.pointers_begin.front() == 0 && scan.pointers_begin.back() == scan.pointers.size());
  }
}

uint64_t ScanFrameWriter::frame_count() const {
  return frames_for(scan_.blocks.size(), kBlocksEach) + frames_for(scan_.pointers.size(), kPointersEach) +
         frames_for(scan_.roots.size(), kRootsEach);
}

const frames::ByteBuffer* ScanFrameWriter::next() {
  if (part_ > frame_count()) return nullptr;
  payload_.clear();
  payload_.varint(scan_.number);
  payload_.varint(part_);
  if (part_ == 0) {
    write_head();
  } else if (blocks_ < scan_.blocks.size()) {
    write_blocks();
  } else if (pointers_ < scan_.pointers.size()) {
    write_pointers();
  } else {
    write_roots();
  }
  ++part_;
  return &payload_;
}

void ScanFrameWriter::write_head() {
  payload_.varint(static_cast<uint64_t>(Part::kHead));
  payload_.varint(static_cast<uint64_t>(scan_.reason));
  payload_.varint(scan_.time_ns);
  payload_.varint(events_before_);
  payload_.varint(scan_.stopped_ns);
  payload_.varint(scan_.total_ns);
  payload_.varint(scan_.read_bytes);
  payload_.varint(scan_.skipped_bytes);
  payload_.varint(scan_.threads);
  payload_.varint(frame_count());
  payload_.varint(scan_.blocks.size());
  payload_.varint(scan_.pointers.size());
  payload_.varint(scan_.roots.size());
  payload_.varint(0);  // sentences, used instead of notes before 2.4
  const size_t note_count = std::min(scan_.notes.size(), kMaxScanNotes);
  payload_.varint(note_count);
  for (size_t i = 0; i < note_count; ++i) payload_.text(coded(scan_.notes[i]));
}

bool read_scan_head(wire::VarintReader& in, ScanSummary& summary, bool has_notes) {
  model::HeapScan& facts = summary.facts;
  const uint64_t number = in.varint();
  const uint64_t part = in.varint();
  if (number > kAny32 || part != 0 || in.varint() != static_cast<uint64_t>(Part::kHead)) return false;
  facts.number = static_cast<uint32_t>(number);
  facts.reason = reason_of(in.varint());
  facts.time_ns = in.varint();
  facts.events_before = in.varint();
  facts.stopped_ns = in.varint();
  facts.total_ns = in.varint();
  facts.read_bytes = in.varint();
  facts.skipped_bytes = in.varint();
  facts.threads = static_cast<uint32_t>(in.varint());
  summary.frame_count = in.varint();
  summary.block_count = in.varint();
  summary.pointer_count = in.varint();
  summary.root_count = in.varint();
  if (!in.ok() || summary.block_count > kMaxScanBlocks || summary.pointer_count > kAny32) return false;
  facts.notes.clear();
  const bool has_sentences = read_notes(in, facts.notes, [](std::string_view text) {
    return model::Note{.kind = model::NoteKind::kText, .name = std::string(text)};
  });
  if (!has_sentences || !has_notes) return has_sentences;
  return read_notes(in, facts.notes, [](std::string_view bytes) {
    return model::decode_note(bytes).value_or(model::Note{model::NoteKind::kUnreadableNote});
  });
}

void ScanFrameWriter::write_blocks() {
  const std::vector<model::ScannedBlock>& blocks = scan_.blocks;
  const size_t begin = blocks_;
  const size_t end = std::min(begin + kBlocksEach, blocks.size());
  uint64_t bits = 0;
  for (size_t i = begin; i < end; ++i) bits |= blocks[i].address;
  const unsigned shift = std::min<unsigned>(static_cast<unsigned>(std::countr_zero(bits)), kMaxShift);
  payload_.varint(static_cast<uint64_t>(Part::kBlocks));
  payload_.varint(end - begin);
  payload_.varint(shift);
  write_sites(begin, end);
  last_values_.assign(fresh_.size(), 0);
  for (size_t i = begin; i < end; ++i) {
    uint64_t& last = last_values_[block_locals_[i - begin]];
    payload_.varint(last == blocks[i].size_bytes + 1 ? 0 : blocks[i].size_bytes + 1);
    last = blocks[i].size_bytes + 1;
  }
  uint64_t expected = 0;
  for (size_t i = begin; i < end; ++i) {
    payload_.signed_varint(static_cast<int64_t>(blocks[i].address - expected) >> shift);
    expected = blocks[i].address + stride_of(blocks[i].size_bytes);
  }
  write_distances(payload_, blocks, begin, end, [](const model::ScannedBlock& block) { return block.number; });
  write_types(begin, end);
  write_lives(begin, end);
  blocks_ = end;
}

// Sites as numbers of this frame, in the order of their first use.
void ScanFrameWriter::write_sites(size_t begin, size_t end) {
  for (const model::SiteId site : fresh_) locals_[site] = 0;
  fresh_.clear();
  block_locals_.clear();
  for (size_t i = begin; i < end; ++i) {
    const model::SiteId site = scan_.blocks[i].site;
    if (site >= locals_.size()) locals_.resize(size_t{site} + 1);
    if (locals_[site] == 0) {
      fresh_.push_back(site);
      locals_[site] = static_cast<uint32_t>(fresh_.size());
    }
    block_locals_.push_back(locals_[site] - 1);
    payload_.varint(block_locals_.back());
  }
  write_distances(payload_, fresh_, 0, fresh_.size(), [](model::SiteId site) { return uint64_t{site}; });
}

void ScanFrameWriter::write_types(size_t begin, size_t end) {
  std::vector<uint64_t> fresh;
  last_values_.assign(fresh_.size(), 0);
  for (size_t i = begin; i < end; ++i) {
    uint64_t& last = last_values_[block_locals_[i - begin]];
    const bool is_new = scan_.blocks[i].type != last;
    payload_.varint(is_new ? 1 : 0);
    last = scan_.blocks[i].type;
    if (is_new) fresh.push_back(last);
  }
  write_distances(payload_, fresh, 0, fresh.size(), [](uint64_t type) { return type; });
}

// Runs of the same liveness; none if all of the scan's blocks are live.
void ScanFrameWriter::write_lives(size_t begin, size_t end) {
  if (scan_.lives.empty()) return;
  for (size_t next = begin; begin < end; begin = next) {
    while (next < end && scan_.lives[next] == scan_.lives[begin]) ++next;
    payload_.varint(static_cast<uint64_t>(scan_.lives[begin]));
    payload_.varint(next - begin);
  }
}

void ScanFrameWriter::write_pointers() {
  const std::vector<model::BlockPointer>& pointers = scan_.pointers;
  const size_t begin = pointers_;
  const size_t end = std::min(begin + kPointersEach, pointers.size());
  struct Run {
    size_t block;
    size_t count;
  };
  std::vector<Run> runs;
  for (size_t at = begin; at < end;) {
    while (scan_.pointers_begin[pointer_block_ + 1] <= at) ++pointer_block_;
    const size_t next = std::min<size_t>(scan_.pointers_begin[pointer_block_ + 1], end);
    runs.push_back({pointer_block_, next - at});
    at = next;
  }
  payload_.varint(static_cast<uint64_t>(Part::kPointers));
  payload_.varint(end - begin);
  payload_.varint(runs.size());
  write_distances(payload_, runs, 0, runs.size(), [](const Run& run) { return run.block; });
  for (const Run& run : runs) payload_.varint(run.count);
  size_t at = begin;
  for (const Run& run : runs) {
    uint64_t previous = run.block;
    for (const size_t last = at + run.count; at < last; ++at) {
      payload_.signed_varint(static_cast<int64_t>(pointers[at].to - previous));
      previous = pointers[at].to;
    }
  }
  at = begin;
  for (const Run& run : runs) {
    uint32_t previous = 0;
    for (const size_t last = at + run.count; at < last; ++at) {
      payload_.varint(pointers[at].offset - previous);
      previous = pointers[at].offset;
    }
  }
  for (at = begin; at < end; ++at) payload_.varint(static_cast<uint64_t>(pointers[at].kind));
  pointers_ = end;
}

void ScanFrameWriter::write_roots() {
  using Root = model::RootPointer;
  const std::vector<Root>& roots = scan_.roots;
  const size_t begin = roots_;
  const size_t end = std::min(begin + kRootsEach, roots.size());
  payload_.varint(static_cast<uint64_t>(Part::kRoots));
  payload_.varint(end - begin);
  write_distances(payload_, roots, begin, end, [](const Root& root) { return root.to; });
  for (size_t i = begin; i < end; ++i) payload_.varint(static_cast<uint64_t>(roots[i].kind));
  for (size_t i = begin; i < end; ++i) payload_.varint(static_cast<uint64_t>(roots[i].root));
  write_distances(payload_, roots, begin, end, [](const Root& root) { return root.thread; });
  write_distances(payload_, roots, begin, end, [](const Root& root) { return root.address; });
  write_distances(payload_, roots, begin, end, [](const Root& root) { return root.frame_code; });
  // 0 for none, so that empty columns are zeros.
  for (size_t i = begin; i < end; ++i) payload_.varint(roots[i].module + uint32_t{1});
  write_distances(payload_, roots, begin, end, [](const Root& root) { return root.module_offset; });
  roots_ = end;
}

bool ScanFrameReader::add(wire::VarintReader& in, const model::Tables& tables) {
  if (!started_) {
    if (!read_scan_head(in, head_, has_notes_)) return false;
    scan_ = head_.facts;
    started_ = true;
    part_ = 1;
    return true;
  }
  const uint64_t number = in.varint();
  const uint64_t part = in.varint();
  if (!in.ok() || number != scan_.number || part != part_ || part > head_.frame_count) return false;
  ++part_;
  switch (static_cast<Part>(in.varint())) {
    case Part::kBlocks:
      return scan_.pointers.empty() && scan_.roots.empty() && add_blocks(in, tables);
    case Part::kPointers:
      return scan_.roots.empty() && scan_.blocks.size() == head_.block_count && add_pointers(in);
    case Part::kRoots:
      return scan_.blocks.size() == head_.block_count && add_roots(in, tables);
    default:
      return false;
  }
}

bool ScanFrameReader::counts_match() const {
  return scan_.blocks.size() == head_.block_count && scan_.pointers.size() == head_.pointer_count &&
         scan_.roots.size() == head_.root_count;
}

model::HeapScan ScanFrameReader::take() {
  HEAPTAP_CHECK(whole());
  close_blocks_up_to(scan_.blocks.size());
  return std::move(scan_);
}

bool ScanFrameReader::add_blocks(wire::VarintReader& in, const model::Tables& tables) {
  uint64_t count = 0;
  if (!read_count(in, count) || count > head_.block_count - scan_.blocks.size()) return false;
  const uint64_t shift = in.varint();
  if (!in.ok() || shift > kMaxShift) return false;
  const size_t begin = scan_.blocks.size();
  base::make_room(scan_.blocks, begin + count);
  scan_.blocks.resize(begin + count);
  return add_sites(in, begin, tables) && add_sizes(in, begin) && add_addresses(in, begin, shift) &&
         read_distances(in, scan_.blocks, begin, kAny,
                        [](model::ScannedBlock& block, uint64_t number) { block.number = number; }) &&
         add_types(in, begin) && add_lives(in, begin);
}

bool ScanFrameReader::add_sites(wire::VarintReader& in, size_t begin, const model::Tables& tables) {
  const size_t count = scan_.blocks.size() - begin;
  block_locals_.clear();
  uint32_t fresh_count = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t local = in.varint();
    if (!in.ok() || local > fresh_count) return false;
    if (local == fresh_count) ++fresh_count;
    block_locals_.push_back(static_cast<uint32_t>(local));
  }
  fresh_.resize(fresh_count);
  if (fresh_count > 0 && tables.sites.empty()) return false;
  if (!read_distances(in, fresh_, 0, tables.sites.size() - 1,
                      [](model::SiteId& site, uint64_t value) { site = static_cast<model::SiteId>(value); })) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) scan_.blocks[begin + i].site = fresh_[block_locals_[i]];
  return true;
}

bool ScanFrameReader::add_sizes(wire::VarintReader& in, size_t begin) {
  last_values_.assign(fresh_.size(), 0);
  for (size_t i = begin; i < scan_.blocks.size(); ++i) {
    const uint64_t value = in.varint();
    uint64_t& last = last_values_[block_locals_[i - begin]];
    if (value != 0) last = value;
    if (last == 0) return false;
    scan_.blocks[i].size_bytes = last - 1;
  }
  return in.ok();
}

bool ScanFrameReader::add_addresses(wire::VarintReader& in, size_t begin, uint64_t shift) {
  uint64_t expected = 0;
  for (size_t i = begin; i < scan_.blocks.size(); ++i) {
    model::ScannedBlock& block = scan_.blocks[i];
    block.address = expected + (static_cast<uint64_t>(in.signed_varint()) << shift);
    if (block.size_bytes > ~block.address || (i > 0 && block.address < scan_.blocks[i - 1].address)) return false;
    expected = block.address + stride_of(block.size_bytes);
  }
  return in.ok();
}

bool ScanFrameReader::add_types(wire::VarintReader& in, size_t begin) {
  const size_t count = scan_.blocks.size() - begin;
  std::vector<bool> is_new(count);
  size_t fresh_count = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t flag = in.varint();
    if (flag > 1) return false;
    is_new[i] = flag != 0;
    fresh_count += flag;
  }
  fresh_types_.resize(fresh_count);
  if (!read_distances(in, fresh_types_, 0, kAny, [](uint64_t& type, uint64_t value) { type = value; })) return false;
  last_values_.assign(fresh_.size(), 0);
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t& last = last_values_[block_locals_[i]];
    if (is_new[i]) last = fresh_types_[next++];
    scan_.blocks[begin + i].type = last;
  }
  return true;
}

bool ScanFrameReader::add_lives(wire::VarintReader& in, size_t begin) {
  const size_t end = scan_.blocks.size();
  if (in.at_end() && scan_.lives.empty()) return in.ok();
  scan_.lives.resize(in.at_end() ? end : begin, model::BlockLife::kAlive);
  while (scan_.lives.size() < end) {
    const uint64_t life = in.varint();
    const uint64_t count = in.varint();
    if (!in.ok() || life >= model::kBlockLifeCount || count == 0 || count > end - scan_.lives.size()) return false;
    scan_.lives.resize(scan_.lives.size() + count, static_cast<model::BlockLife>(life));
  }
  return in.ok();
}

// Blocks before `block` have no more pointers.
void ScanFrameReader::close_blocks_up_to(uint64_t block) {
  while (scan_.pointers_begin.size() <= block) {
    scan_.pointers_begin.push_back(static_cast<uint32_t>(scan_.pointers.size()));
  }
}

bool ScanFrameReader::add_pointers(wire::VarintReader& in) {
  uint64_t pointer_count = 0;
  uint64_t run_count = 0;
  if (!read_count(in, pointer_count) || !read_count(in, run_count) || run_count > pointer_count ||
      pointer_count > head_.pointer_count - scan_.pointers.size() || !add_runs(in, run_count, pointer_count)) {
    return false;
  }
  size_t at = scan_.pointers.size();
  base::make_room(scan_.pointers, at + pointer_count);
  base::make_room(scan_.pointers_begin, scan_.blocks.size() + 1);
  // The last block of the previous frame may continue in this one.
  uint64_t before = scan_.pointers_begin.empty() ? 0 : scan_.pointers_begin.size() - 1;
  for (const Run& run : runs_) {
    if (run.block < before) return false;
    before = run.block;
    close_blocks_up_to(run.block);
    uint64_t to = run.block;
    for (uint32_t i = 0; i < run.count; ++i) {
      to += static_cast<uint64_t>(in.signed_varint());
      if (to >= scan_.blocks.size()) return false;
      scan_.pointers.push_back({.to = static_cast<uint32_t>(to), .offset = 0, .kind = wire::PointerKind::kStart});
    }
  }
  const size_t first = at;
  for (const Run& run : runs_) {
    uint64_t offset = 0;
    uint64_t least = at > scan_.pointers_begin[run.block] ? scan_.pointers[at - 1].offset : 0;
    for (uint32_t i = 0; i < run.count; ++i, ++at) {
      offset += in.varint();
      if (!in.ok() || offset > kAny32 || offset < least || offset >= scan_.blocks[run.block].size_bytes) return false;
      least = offset;
      scan_.pointers[at].offset = static_cast<uint32_t>(offset);
    }
  }
  for (at = first; at < scan_.pointers.size(); ++at) {
    const uint64_t kind = in.varint();
    if (kind >= wire::kPointerKindCount) return false;
    scan_.pointers[at].kind = static_cast<wire::PointerKind>(kind);
  }
  return in.ok();
}

bool ScanFrameReader::add_runs(wire::VarintReader& in, uint64_t run_count, uint64_t pointer_count) {
  if (scan_.blocks.empty()) return run_count == 0 && pointer_count == 0;
  runs_.assign(run_count, Run{});
  if (!read_distances(in, runs_, 0, scan_.blocks.size() - 1,
                      [](Run& run, uint64_t block) { run.block = static_cast<uint32_t>(block); })) {
    return false;
  }
  uint64_t sum = 0;
  for (Run& run : runs_) {
    const uint64_t count = in.varint();
    if (count == 0 || count > pointer_count - sum) return false;
    sum += count;
    run.count = static_cast<uint32_t>(count);
  }
  return in.ok() && sum == pointer_count;
}

bool ScanFrameReader::add_roots(wire::VarintReader& in, const model::Tables& tables) {
  using Root = model::RootPointer;
  uint64_t count = 0;
  if (!read_count(in, count) || count > head_.root_count - scan_.roots.size()) return false;
  if (count > 0 && scan_.blocks.empty()) return false;
  std::vector<Root>& roots = scan_.roots;
  const size_t begin = roots.size();
  roots.resize(begin + count);
  if (!read_distances(in, roots, begin, scan_.blocks.size() - 1,
                      [](Root& root, uint64_t to) { root.to = static_cast<uint32_t>(to); })) {
    return false;
  }
  for (size_t i = begin; i < roots.size(); ++i) {
    const uint64_t kind = in.varint();
    if (kind >= wire::kPointerKindCount) return false;
    roots[i].kind = static_cast<wire::PointerKind>(kind);
  }
  for (size_t i = begin; i < roots.size(); ++i) {
    const uint64_t kind = in.varint();
    if (kind >= wire::kRootKindCount) return false;
    roots[i].root = static_cast<wire::RootKind>(kind);
  }
  if (!read_distances(in, roots, begin, kAny32,
                      [](Root& root, uint64_t thread) { root.thread = static_cast<model::ThreadId>(thread); }) ||
      !read_distances(in, roots, begin, kAny, [](Root& root, uint64_t address) { root.address = address; }) ||
      !read_distances(in, roots, begin, kAny, [](Root& root, uint64_t code) { root.frame_code = code; })) {
    return false;
  }
  for (size_t i = begin; i < roots.size(); ++i) {
    const uint64_t module = in.varint();
    if (module > tables.modules.size()) return false;
    roots[i].module = static_cast<uint32_t>(module) - 1;
  }
  return read_distances(in, roots, begin, kAny, [](Root& root, uint64_t offset) { root.module_offset = offset; });
}

}  // namespace heaptap::trace
