#include "record/trace/event_frame.h"

#include <algorithm>

#include "common/wire/frame.h"
#include "common/wire/mapping.h"

namespace heaptap::trace {
namespace {

using model::EventKind;

// Events a frame may hold: bounds what a damaged count can make a reader allocate.
constexpr uint64_t kMaxEvents = 1u << 20;
constexpr uint64_t kMaxBlockNumber = uint64_t{1} << 62;  // an age times two plus a bit is a number

// In the column of releases; of what is above the lowest bit says which of the two it is.
constexpr uint64_t kGuessed = 0;
constexpr uint64_t kUnknown = 1;
constexpr uint64_t kFirstNear = 2;  // + twice the distance from the block named last, in zigzag form
constexpr uint64_t kFirstAge = 3;   // + twice the age

// The shorter of the two, but distances have to be clearly shorter, since ages repeat more often.
uint64_t code_of_block(model::BlockNumber block, model::BlockNumber last_named, model::BlockNumber next) {
  const uint64_t age = next - block;
  const uint64_t distance = wire::zigzag(static_cast<int64_t>(block - last_named));
  constexpr uint64_t kClearly = 8;
  return distance < age / kClearly ? kFirstNear + 2 * distance : kFirstAge + 2 * age;
}

// Which of the batch's allocations, counted from its first one, a matching release in the same batch names: a release
// by a wrong function has its address.
void find_released(const model::EventBatch& batch, const std::vector<model::Site>& sites, std::vector<bool>& released) {
  released.clear();
  std::vector<wire::Family> families;
  for (const model::Event& event : batch.events) {
    const model::Site& site = sites[event.site];
    if (site.kind == EventKind::kAllocate) {
      families.push_back(wire::facts_of(site.function).family);
      released.push_back(false);
    } else if (site.kind == EventKind::kRelease && event.size_or_block >= batch.first_block &&
               event.size_or_block - batch.first_block < released.size()) {
      const uint64_t index = event.size_or_block - batch.first_block;
      released[index] = families[index] == wire::facts_of(site.function).family;
    }
  }
}

}  // namespace

void EventFrameWriter::add(const model::EventBatch& batch, std::span<const model::Site> sites) {
  if (event_count_ == 0) first_block_ = next_block_ = last_named_ = batch.first_block;
  if (states_.size() < sites.size()) states_.resize(sites.size());
  add_marks(batch);
  for (model::BadRelease bad : batch.bad_releases) {
    bad.event += static_cast<uint32_t>(event_count_);
    bad_.push_back(bad);
  }
  add_events(batch, sites);
  event_count_ += batch.events.size();
}

// Every batch begins with a mark, which may be redundant within a frame.
void EventFrameWriter::add_marks(const model::EventBatch& batch) {
  for (model::TimeMark mark : batch.time_marks) {
    if (!marks_.empty() && mark.first_event == 0 && marks_.back().time_ns == mark.time_ns) continue;
    mark.first_event += static_cast<uint32_t>(event_count_);
    marks_.push_back(mark);
  }
}

void EventFrameWriter::end_thread_run(size_t end) {
  if (end == run_begin_) return;
  threads_.varint(thread_);
  threads_.varint(end - run_begin_);
  run_begin_ = end;
}

void EventFrameWriter::add_events(const model::EventBatch& batch, std::span<const model::Site> sites) {
  constexpr size_t kAhead = 12;     // prefetch of its site
  constexpr size_t kNearAhead = 6;  // and of the frame's state for it
  const size_t count = batch.events.size();
  const model::Event* events = batch.events.data();
  SiteState* states = states_.data();
  Pass pass = begin_pass(count);
  for (size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      __builtin_prefetch(&states[events[i + kAhead].site], 1);
      __builtin_prefetch(&pass.sites.sites[states[events[i + kNearAhead].site].local], 1);
    }
    const model::Event& event = events[i];
    SiteState site = states[event.site];
    const bool is_new = site.local == 0;
    if (is_new) [[unlikely]] {
      site = states[event.site] = begin_site(event.site, sites[event.site]);
      pass.sites.sites = sites_.cursor().sites;
    }
    if (event.thread != thread_) [[unlikely]] {
      end_thread_run(event_count_ + i);
      thread_ = event.thread;
    }
    sites_.put(pass.sites, site.local, is_new);
    if (site.kind == EventKind::kAllocate) {
      add_allocation(event, site, pass);
    } else if (site.kind == EventKind::kRelease) {
      add_release(event, site, pass);
    } else if (site.kind != EventKind::kUndo) {
      add_range(event, site.kind);
    }
  }
  end_pass(pass);
}

EventFrameWriter::Pass EventFrameWriter::begin_pass(size_t events) {
  const auto blocks = static_cast<size_t>(next_block_ - first_block_) + 1;
  if (allocated_.size() < blocks + events) allocated_.resize(std::max(blocks + events, allocated_.size() * 2));
  guess_.expect(events);
  return {.sizes = sizes_.begin_varints(events),
          .releases = releases_.begin_varints(events),
          .allocated = allocated_.data(),
          .sites = sites_.cursor(),
          .guess = guess_.cursor(),
          .before_first = first_block_ - 1,
          .last_named = last_named_};
}

void EventFrameWriter::end_pass(const Pass& pass) {
  sizes_.end_at(pass.sizes);
  releases_.end_at(pass.releases);
  sites_.keep(pass.sites);
  guess_.keep(pass.guess);
  next_block_ = pass.before_first + pass.guess.count();
  last_named_ = pass.last_named;
}

EventFrameWriter::SiteState EventFrameWriter::begin_site(model::SiteId site, const model::Site& facts) {
  frame_sites_.push_back(site);
  return {sites_.add(site), facts.kind, wire::facts_of(facts.function).family};
}

[[gnu::always_inline]] inline void EventFrameWriter::add_allocation(const model::Event& event, SiteState site,
                                                                    Pass& pass) {
  SiteModel::Site& facts = pass.sites.sites[site.local];
  const uint64_t size = event.size_or_block + 1;
  pass.sizes = wire::write_varint(pass.sizes, size == facts.last_size ? 0 : size);
  facts.last_size = size;
  pass.allocated[pass.guess.count()] = event.address;
  pass.guess.allocate(facts, site.local, static_cast<uint8_t>(site.family));
}

[[gnu::always_inline]] inline void EventFrameWriter::add_release(const model::Event& event, SiteState site,
                                                                 Pass& pass) {
  if (event.size_or_block == model::kUnknownBlock) [[unlikely]] {
    pass.releases = wire::write_varint(pass.releases, kUnknown);
    return;
  }
  const model::BlockNumber next = pass.before_first + pass.guess.count();
  const bool is_of_frame = event.size_or_block > pass.before_first;
  const auto block = static_cast<ReleaseGuess::FrameBlock>(is_of_frame ? event.size_or_block - pass.before_first : 0);
  SiteModel::Site& facts = pass.sites.sites[site.local];
  const bool is_guessed = is_of_frame && block == pass.guess.guess(pass.sites.sites, facts);
  const uint64_t code = is_guessed ? kGuessed : code_of_block(event.size_or_block, pass.last_named, next);
  pass.releases = wire::write_varint(pass.releases, code);
  pass.last_named = event.size_or_block;
  if (!is_of_frame) return;
  pass.guess.release(facts, block);
  pass.guess.match(block, static_cast<uint8_t>(site.family));
}

void EventFrameWriter::add_range(const model::Event& event, EventKind kind) {
  ranges_.signed_varint(static_cast<int64_t>(event.address - last_range_));
  last_range_ = event.address;
  if (kind != EventKind::kMap && kind != EventKind::kProtect) return ranges_.varint(event.size_or_block);
  ranges_.varint(wire::mapped_length(event.size_or_block));
  *memory_.append(1) = wire::number_of(wire::memory_of(event.size_or_block));
}

const frames::ByteBuffer& EventFrameWriter::finish(uint64_t resolution_ns) {
  payload_.clear();
  payload_.varint(event_count_);
  payload_.varint(first_block_);
  write_marks(resolution_ns);
  end_thread_run(event_count_);
  sites_.end();
  write_addresses();
  write_bad_releases();
  for (const frames::ByteBuffer* column : {&time_marks_, &threads_, &sites_.ranks, &sites_.misses, &sites_.fresh,
                                           &sizes_, &releases_, &addresses_, &ranges_, &bad_releases_, &memory_}) {
    append_column(*column);
  }
  clear();
  return payload_;
}

void EventFrameWriter::clear() {
  for (frames::ByteBuffer* column :
       {&time_marks_, &threads_, &sizes_, &releases_, &addresses_, &ranges_, &bad_releases_, &memory_})
    column->clear();
  sites_.begin();
  guess_.begin();
  for (const model::SiteId site : frame_sites_) states_[site] = {};
  frame_sites_.clear();
  marks_.clear();
  bad_.clear();
  event_count_ = run_begin_ = 0;
  last_range_ = 0;
}

void EventFrameWriter::write_marks(uint64_t resolution_ns) {
  time_marks_.varint(marks_.size());
  uint32_t event = 0;
  for (const model::TimeMark& mark : marks_) {
    time_marks_.varint(mark.first_event - event);
    event = mark.first_event;
  }
  uint64_t time = 0;
  for (const model::TimeMark& mark : marks_) {
    time_marks_.varint(mark.time_ns / resolution_ns - time);
    time = mark.time_ns / resolution_ns;
  }
}

void EventFrameWriter::write_addresses() {
  uint64_t address = 0;
  const auto blocks = static_cast<ReleaseGuess::FrameBlock>(next_block_ - first_block_);
  for (ReleaseGuess::FrameBlock block = 1; block <= blocks; ++block) {
    if (guess_.matched(block)) continue;
    addresses_.signed_varint(static_cast<int64_t>(allocated_[block] - address));
    address = allocated_[block];
  }
}

void EventFrameWriter::write_bad_releases() {
  bad_releases_.varint(bad_.size());
  uint32_t event = 0;
  for (const model::BadRelease& bad : bad_) {
    bad_releases_.varint(bad.event - event);
    bad_releases_.varint(static_cast<uint64_t>(bad.kind));
    bad_releases_.varint(bad.address);
    bad_releases_.varint(bad.block_known ? 1 : 0);
    if (bad.block_known) {
      bad_releases_.varint(bad.block_size);
      bad_releases_.varint(bad.allocated_at);
      bad_releases_.varint(bad.first_released_at);
    }
    event = bad.event;
  }
}

void EventFrameWriter::append_column(const frames::ByteBuffer& column) {
  const std::vector<uint8_t>& compressed = compressor_.compress(column.data(), column.size());
  const bool is_smaller = !compressed.empty();
  payload_.varint(static_cast<uint64_t>(is_smaller ? wire::Codec::kZstd : wire::Codec::kNone));
  payload_.varint(column.size());
  payload_.varint(is_smaller ? compressed.size() : column.size());
  if (is_smaller) {
    payload_.bytes(compressed.data(), compressed.size());
  } else {
    payload_.bytes(column.data(), column.size());
  }
}

bool EventFrameReader::begin(wire::VarintReader& in, const model::Tables& tables, uint64_t resolution_ns,
                             bool with_addresses) {
  count_ = in.varint();
  first_block_ = next_block_ = last_named_ = in.varint();
  if (!in.ok() || count_ > kMaxEvents || first_block_ == 0 || first_block_ > kMaxBlockNumber) return false;
  done_ = mark_ = bad_release_ = last_range_ = thread_run_ = 0;
  runs_left_ = count_;
  with_addresses_ = with_addresses;
  guess_.begin();
  const bool columns = read_column(in, &marks_column_) && read_column(in, &threads_) && read_column(in, &ranks_) &&
                       read_column(in, &misses_) && read_column(in, &fresh_) && read_column(in, &sizes_) &&
                       read_column(in, &releases_) && read_column(in, with_addresses ? &addresses_ : nullptr) &&
                       read_column(in, &ranges_) && read_column(in, &bad_column_);
  memory_.bytes.clear();
  memory_.reader = wire::VarintReader(nullptr, 0);
  const bool has_memory = columns && in.left() != 0;
  if (!columns || (has_memory && !read_column(in, &memory_)) || !read_marks(marks_column_.reader, resolution_ns) ||
      !read_bad_releases(bad_column_.reader, tables.sites.size()) ||
      !sites_.begin(tables.sites.size(), count_, ranks_.bytes, misses_.bytes, fresh_.bytes)) {
    return false;
  }
  in_one_batch_ = with_addresses ||
                  sites_.names([&tables](model::SiteId site) { return tables.sites[site].kind == EventKind::kUndo; });
  return true;
}

bool EventFrameReader::next(const model::Tables& tables, model::EventBatch& batch) {
  return next_events(in_one_batch_ ? count_ : kBatchEvents, tables, batch);
}

bool EventFrameReader::read(wire::VarintReader& in, const model::Tables& tables, uint64_t resolution_ns,
                            bool with_addresses, model::EventBatch& batch) {
  return begin(in, tables, resolution_ns, with_addresses) && next_events(count_, tables, batch);
}

bool EventFrameReader::next_events(uint64_t most, const model::Tables& tables, model::EventBatch& batch) {
  batch.first_block = next_block_;
  batch.events.resize(std::min(most, count_ - done_));
  guess_.expect(batch.events.size());
  take_marks(batch);
  if (!read_events(tables, batch) || (with_addresses_ && !read_addresses(tables, batch)) ||
      !take_bad_releases(tables, batch)) {
    return false;
  }
  done_ += batch.events.size();
  return true;
}

bool EventFrameReader::read_marks(wire::VarintReader& in, uint64_t resolution_ns) {
  const uint64_t count = in.varint();
  if (!in.ok() || count > in.left()) return false;
  marks_.clear();
  uint64_t event = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t events_on = in.varint();
    event += events_on;
    if (events_on > count_ || event > count_) return false;
    marks_.push_back({static_cast<uint32_t>(event), 0});
  }
  uint64_t time = 0;
  for (model::TimeMark& mark : marks_) {
    const uint64_t time_on = in.varint();
    time += time_on;
    constexpr uint64_t kLongest = uint64_t{1} << 62;  // ns, over a century
    if (time_on > kLongest / resolution_ns || time > kLongest / resolution_ns) return false;
    mark.time_ns = time * resolution_ns;
  }
  const bool has_start = count_ == 0 || (count > 0 && marks_[0].first_event == 0);
  return in.ok() && has_start;
}

// Marks of the next events; the last one before them applies at their start.
void EventFrameReader::take_marks(model::EventBatch& batch) {
  const uint64_t end = done_ + batch.events.size();
  batch.time_marks.clear();
  const bool restarts = mark_ < marks_.size() && marks_[mark_].first_event == done_;
  if (mark_ > 0 && !restarts) batch.time_marks.push_back({0, marks_[mark_ - 1].time_ns});
  for (; mark_ < marks_.size() && (marks_[mark_].first_event < end || end == count_); ++mark_) {
    batch.time_marks.push_back({static_cast<uint32_t>(marks_[mark_].first_event - done_), marks_[mark_].time_ns});
  }
}

// Decodes a column into `column`, or skips it if that is null.
bool EventFrameReader::read_column(wire::VarintReader& in, Column* column) {
  const auto codec = static_cast<wire::Codec>(in.varint());
  const uint64_t raw_bytes = in.varint();
  const uint64_t stored_bytes = in.varint();
  const uint8_t* stored = in.bytes(stored_bytes);
  constexpr uint64_t kMaxBytesAnEvent = 80;  // a bad release has eight numbers
  if (stored == nullptr || raw_bytes > kMaxBytesAnEvent * (count_ + 1)) return false;
  if (column == nullptr) return true;
  if (codec == wire::Codec::kZstd) {
    if (!decompressor_.decompress(stored, stored_bytes, raw_bytes, column->bytes)) return false;
  } else if (codec == wire::Codec::kNone && raw_bytes == stored_bytes) {
    column->bytes.assign(stored, stored + stored_bytes);
  } else {
    return false;
  }
  column->reader = wire::VarintReader(column->bytes.data(), column->bytes.size());
  return true;
}

bool EventFrameReader::read_events(const model::Tables& tables, model::EventBatch& batch) {
  model::Event* event = batch.events.data();
  ReleaseGuess::Cursor guess = guess_.cursor();
  for (uint64_t left = batch.events.size(); left > 0;) {
    if (thread_run_ == 0 && !next_thread()) return false;
    const uint64_t run = std::min(left, thread_run_);
    thread_run_ -= run;
    left -= run;
    for (const model::Event* end = event + run; event != end; ++event) {
      model::SiteId site = 0;
      if (!sites_.next(site)) return false;
      *event = {site, thread_, 0, 0};
      switch (tables.sites[site].kind) {
        case EventKind::kAllocate:
          if (!read_allocation(*event, guess)) return false;
          break;
        case EventKind::kRelease:
          if (!read_release(*event, guess)) return false;
          break;
        case EventKind::kUndo:
          break;
        case EventKind::kPoolAllocate:
        case EventKind::kPoolRelease:
        case EventKind::kPoolDestroy:
        case EventKind::kMap:
        case EventKind::kUnmap:
        case EventKind::kProtect:
          read_range(*event, tables.sites[site].kind);
          break;
      }
    }
  }
  guess_.keep(guess);
  return sizes_.reader.ok() && releases_.reader.ok() && ranges_.reader.ok();
}

// The next run of one thread's events; a run ends with its frame.
bool EventFrameReader::next_thread() {
  wire::VarintReader& in = threads_.reader;
  thread_ = static_cast<model::ThreadId>(in.varint());
  thread_run_ = in.varint();
  if (!in.ok() || thread_run_ == 0 || thread_run_ > runs_left_ || thread_ > wire::kMaxThreads) return false;
  runs_left_ -= thread_run_;
  return true;
}

inline bool EventFrameReader::read_allocation(model::Event& event, ReleaseGuess::Cursor& guess) {
  SiteModel::Site& facts = sites_.model().site(sites_.local());
  const uint64_t coded = sizes_.reader.varint();
  if (coded != 0) facts.last_size = coded;
  if (facts.last_size == 0) return false;
  event.size_or_block = facts.last_size - 1;
  guess.allocate(facts, sites_.local());
  ++next_block_;
  return true;
}

inline bool EventFrameReader::read_release(model::Event& event, ReleaseGuess::Cursor& guess) {
  const uint64_t coded = releases_.reader.varint();
  if (coded == kUnknown) {
    event.size_or_block = model::kUnknownBlock;
    return true;
  }
  SiteModel::Site& facts = sites_.model().site(sites_.local());
  if (coded == kGuessed) {
    const ReleaseGuess::FrameBlock guessed = guess.guess(&sites_.model().site(0), facts);
    if (guessed == 0) return false;
    event.size_or_block = first_block_ + guessed - 1;
  } else if ((coded & 1) == (kFirstAge & 1)) {
    event.size_or_block = next_block_ - (coded - kFirstAge) / 2;
  } else {
    event.size_or_block = last_named_ + static_cast<uint64_t>(wire::unzigzag((coded - kFirstNear) / 2));
  }
  if (event.size_or_block == 0 || event.size_or_block >= next_block_) return false;
  last_named_ = event.size_or_block;
  if (event.size_or_block >= first_block_) guess.release(facts, event.size_or_block - first_block_ + 1);
  return true;
}

// Values that the column doesn't have are unknown: a later version added them.
void EventFrameReader::read_range(model::Event& event, EventKind kind) {
  event.address = last_range_ += static_cast<uint64_t>(ranges_.reader.signed_varint());
  event.size_or_block = ranges_.reader.varint();
  if (kind != EventKind::kMap && kind != EventKind::kProtect) return;
  const uint8_t* const memory = memory_.reader.left() != 0 ? memory_.reader.bytes(1) : nullptr;
  event.size_or_block =
      wire::make_mapped(event.size_or_block, memory != nullptr ? wire::mapped_memory(*memory) : wire::MappedMemory{});
}

bool EventFrameReader::read_addresses(const model::Tables& tables, model::EventBatch& batch) {
  find_released(batch, tables.sites, released_);
  size_t allocation = 0;
  uint64_t address = 0;
  for (model::Event& event : batch.events) {
    if (tables.sites[event.site].kind != EventKind::kAllocate || released_[allocation++]) continue;
    event.address = address += static_cast<uint64_t>(addresses_.reader.signed_varint());
  }
  return addresses_.reader.ok();
}

bool EventFrameReader::read_bad_releases(wire::VarintReader& in, size_t site_count) {
  const uint64_t count = in.varint();
  if (count > in.left()) return false;
  bad_.clear();
  uint64_t event = 0;
  for (uint64_t i = 0; i < count; ++i) {
    model::BadRelease bad{};
    const uint64_t events_on = in.varint();
    event += events_on;
    const uint64_t kind = in.varint();
    bad.address = in.varint();
    bad.block_known = in.varint() != 0;
    if (bad.block_known) {
      bad.block_size = in.varint();
      bad.allocated_at = static_cast<model::SiteId>(in.varint());
      bad.first_released_at = static_cast<model::SiteId>(in.varint());
    }
    if (!in.ok() || events_on > count_ || event >= count_ ||
        kind > static_cast<uint64_t>(model::BadReleaseKind::kInterior) ||
        (bad.block_known && (bad.allocated_at >= site_count || bad.first_released_at >= site_count))) {
      return false;
    }
    bad.event = static_cast<uint32_t>(event);
    bad.kind = static_cast<model::BadReleaseKind>(kind);
    bad_.push_back(bad);
  }
  return true;
}

// Those of the events just decoded.
bool EventFrameReader::take_bad_releases(const model::Tables& tables, model::EventBatch& batch) {
  batch.bad_releases.clear();
  for (; bad_release_ < bad_.size() && bad_[bad_release_].event < done_ + batch.events.size(); ++bad_release_) {
    model::BadRelease bad = bad_[bad_release_];
    bad.event -= static_cast<uint32_t>(done_);
    model::Event& named = batch.events[bad.event];
    if (tables.sites[named.site].kind != EventKind::kRelease || named.size_or_block != model::kUnknownBlock)
      return false;
    named.address = bad.address;
    batch.bad_releases.push_back(bad);
  }
  return true;
}

}  // namespace heaptap::trace
