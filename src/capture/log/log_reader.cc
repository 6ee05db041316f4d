#include "capture/log/log_reader.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "capture/log/futex.h"
#include "common/base/sizes.h"
#include "common/wire/log_streams.h"

// How streams that know nothing of each other become one order. Each is in order by itself; the reader merges them by time, and
// hands on an event once nothing older can still come from any stream. What could still come is bounded by a time that the reader
// publishes with each drain: a record may use a reading of the clock that is shared between several, but none from before the
// published time. So whatever a stream that is idle now will ever bring is newer than what was published at the drain before
// (`settled_`); a stream in the middle of a record (an odd `activity`) may bring something as old as its last record, and holds
// the others up, but not for longer than kStallTicks. Clocks of two processors are nearly equal, and kSlackTicks is what
// may lie between a reading and the visibility of its record; what is still out of order the event coder repairs by blocks.
// Streams that are quiet since the last look cost one load each. All that is read is another process's memory: each index and
// count is checked as it was copied, a stream that can't be right is given up and counted, and no loop is longer than the log.
namespace heaptap::log {
namespace {

// Maximum time between a reading of the clock and the visibility of its record, in clock ticks (over 5 µs on any
// machine: stores drain within a fraction of that).
constexpr uint64_t kSlackTicks = 50'000;
// A thread stopped in the middle of a hook delays all others for at most this long (ticks, about 0.1 s).
constexpr uint64_t kStallTicks = 300'000'000;
// Maximum of events of one stream held here at a time (about: chunks are read whole); the rest stays in the log until
// the next drain. So few that they stay in the processor's cache until the trace's columns are made of them.
constexpr size_t kMaxHeld = 2048;
// Chunks filled while the collector sleeps, before it is woken: half a megabyte.
constexpr uint32_t kFilledAtRest = 64;
// From this many used chunks on, finished chunks are copied out of the log, which is the target's memory too, and
// returned before they are read.
constexpr uint32_t kCrowded = 128;
constexpr size_t kMaxSpare = 256;
constexpr auto kEnded = static_cast<uint32_t>(wire::StreamState::kEnded);
constexpr uint32_t kToBeRead = 1;  // a time that no idle stream has
static_assert(wire::is_in_record(kToBeRead));

}  // namespace

struct LogReader::Stream {
  struct Kept {
    std::unique_ptr<uint8_t[]> bytes;
    uint32_t committed;
    uint64_t base_time;
  };
  uint32_t slot = 0;
  uint32_t chunk = 0;
  std::deque<Kept> kept;  // copies of the chunks before that one
  // Position read so far, in the first kept chunk, or in `chunk`.
  uint32_t offset = sizeof(wire::ChunkHeader);
  uint64_t base_time = 0;
  uint64_t last_time = 0;
  uint32_t activity = 0;  // before it was read
  uint64_t lost = 0;      // events so far
  uint32_t thread = 0;
  bool base_known = false;
  bool ended = false;   // its thread had exited before the stream was read
  bool closed = false;  // and all of it was read
  bool unread = false;  // more than kMaxHeld are left
  RawEvents events;
  size_t taken = 0;
  // Looked at up to here, and drained until all others are.
  struct Place {
    uint32_t chunk;
    uint32_t offset;
  };
  std::optional<Place> looked_at;

  // The events not passed on yet, for a reader that only looks.
  [[nodiscard]] std::unique_ptr<Stream> copied() const {
    auto copy = std::make_unique<Stream>();
    copy->slot = slot;
    copy->chunk = chunk;
    for (const Kept& from : kept) {
      copy->kept.push_back({std::make_unique_for_overwrite<uint8_t[]>(from.committed), from.committed, from.base_time});
      std::memcpy(copy->kept.back().bytes.get(), from.bytes.get(), from.committed);
    }
    copy->offset = offset;
    copy->base_time = base_time;
    copy->last_time = last_time;
    copy->activity = activity;
    copy->thread = thread;
    copy->base_known = base_known;
    copy->ended = ended;
    copy->closed = closed;
    copy->events.assign(events.begin() + static_cast<ptrdiff_t>(taken), events.end());
    return copy;
  }
  [[nodiscard]] bool is_at_look() const { return looked_at && looked_at->chunk == chunk; }

  void begin_chunk() {
    offset = sizeof(wire::ChunkHeader);
    base_known = false;
  }
  // Removes events that were passed on: of a busy thread some are always left. Only if there are fewer of these, since
  // they are moved.
  void drop_taken() {
    if (taken < events.size() - taken) return;
    events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(taken));
    taken = 0;
  }
  [[nodiscard]] bool empty() const { return taken == events.size(); }
  [[nodiscard]] uint64_t front_time() const { return events[taken].time; }
};

LogReader::LogReader(const LogParts& log)
    : log_(log.header),
      clock_(log.header),
      slots_(log.slots),
      chunks_(log.chunks),
      chunk_count_(log.chunk_count()),
      start_chunks_(log.start_chunks),
      writers_wait_(log.writers_wait),
      usable_chunks_(start_chunks_),
      node_room_(log),
      published_(std::min(log_.coarse_clock.load(std::memory_order_relaxed), clock_.now())),
      settled_(published_) {}

LogReader::LogReader(const LogReader& other, LookOnly /*only*/)
    : log_(other.log_),
      clock_(other.log_),
      slots_(other.slots_),
      chunks_(other.chunks_),
      chunk_count_(other.chunk_count_),
      start_chunks_(other.start_chunks_),
      writers_wait_(other.writers_wait_),
      usable_chunks_(other.usable_chunks_),
      node_room_(other.node_room_),
      quiet_at_(other.quiet_at_),
      published_(other.published_),
      settled_(other.settled_),
      only_looks_(true) {
  for (const auto& stream : other.streams_) streams_.push_back(stream ? stream->copied() : nullptr);
  kept_ = other.kept_;
}

LogReader::~LogReader() = default;

wire::StreamSlot& LogReader::slot(uint32_t index) const { return slots_[index]; }

wire::ChunkHeader& LogReader::chunk(uint32_t index) const {
  return *reinterpret_cast<wire::ChunkHeader*>(chunks_.data() + uint64_t{index} * wire::kChunkBytes);
}

uint64_t LogReader::drain(RawEvents& events, bool last) {
  bytes_read_ = 0;
  freed_ = 0;
  const uint64_t now = clock_.now();
  if (!only_looks_) publish(now);
  find_active();
  if (!only_looks_) keep_chunks();
  const bool is_whole = last || look_;  // no earlier event can come
  uint64_t busy_until = is_whole ? UINT64_MAX : settled_;
  uint64_t unread_until = UINT64_MAX;
  for (Stream* stream : active_) {
    read_stream(*stream);
    if (stream->unread) {
      unread_until = std::min(unread_until, stream->last_time);
    } else if (!is_whole && !stream->closed && wire::is_in_record(stream->activity)) {
      busy_until = std::min(busy_until, stream->last_time);
    }
  }
  has_unread_ = unread_until != UINT64_MAX;
  if (!is_whole && is_alone()) busy_until = UINT64_MAX;
  // A thread stopped in the middle of a hook delays the others, but not for ever.
  if (!is_whole) busy_until = std::max(busy_until, now - kStallTicks);
  merge(events, std::min(busy_until, unread_until));
  complete_until_ = std::min({busy_until, unread_until, look_.value_or(settled_)});
  settle_active();
  if (look_ && is_empty()) pass_look();
  // (Not while the program is stopped for a scan, whose drains end with nothing, too.)
  if (bytes_read_ == 0 && has_dropped_ && !last && !look_ && !only_looks_) {  // idle again
    has_dropped_ = false;
    malloc_trim(0);  // what was dropped lies between other memory
  }
  written_lately_ += bytes_read_;
  const bool has_grown = !last && grow();
  if (!last && lender_ != nullptr) {
    make_ahead();
    node_room_.look(*lender_);
    if (!has_grown) look_for_unused();
  }
  if (freed_ > 0 || has_grown) {
    log_.chunks_returned.fetch_add(1, std::memory_order_release);
    futex_wake(log_.chunks_returned);
  }
  return bytes_read_;
}

// With a separate reader that begins where this one is. It never has more to read than a log and its reader can hold,
// whatever the log contains.
void LogReader::look_ahead(const std::function<void(const RawEvents&)>& visit) {
  find_active();  // whatever exists by now belongs to a stream
  LogReader ahead(*this, LookOnly{});
  const uint64_t max_bytes = 2 * (chunks_.size() + kMaxKeptBytes);
  RawEvents events;
  for (uint64_t bytes = 0, rounds = 0; bytes <= max_bytes && rounds < max_bytes / sizeof(wire::Record); ++rounds) {
    const uint64_t read = ahead.drain(events, true);
    bytes += read;
    visit(events);
    events.clear();
    ahead.texts_.clear();
    if (read == 0 && ahead.is_empty()) break;
  }
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i] == nullptr || i >= ahead.streams_.size() || ahead.streams_[i] == nullptr) continue;
    const Stream& reached = *ahead.streams_[i];
    if (reached.closed || !reached.kept.empty()) continue;  // to be read to its end
    streams_[i]->looked_at = {.chunk = reached.chunk, .offset = reached.offset};
  }
  look_ = settled_;
  has_unread_ = true;
}

// All of it was passed on; the next drain reads the following ones.
void LogReader::pass_look() {
  for (const auto& stream : streams_) {
    if (stream != nullptr) stream->looked_at.reset();
  }
  look_.reset();
  has_unread_ = true;
}

// Twice as many if the writers would soon have to wait, or if few are left besides those that threads keep while they
// live. And room for a second of writing: this side may have to wait that long for a disk.
uint32_t LogReader::wanted_chunks(bool& for_threads) const {
  const uint32_t usable = usable_chunks();
  const uint64_t used = log_.used_chunks.load(std::memory_order_relaxed);
  for_threads = uint64_t{stream_count_} + std::min(start_chunks_ / 4, usable / 2) >= usable;
  const bool is_full =
      used >= usable - usable / 4 || (lender_ != nullptr && written_lately_ / wire::kChunkBytes >= usable);
  if (!for_threads && !is_full) return usable;
  const uint32_t most = for_threads ? chunk_count_ : start_chunks_;
  return std::max(usable, static_cast<uint32_t>(std::min<uint64_t>(uint64_t{usable} * 2, most)));
}

// The log's memory is sparse: growing only permits to use more of it.
bool LogReader::grow() {
  bool for_threads = false;
  uint32_t more = wanted_chunks(for_threads) - usable_chunks();
  if (more == 0) return false;
  if (lender_ != nullptr) {
    more = static_cast<uint32_t>(lender_->lend(uint64_t{more} * wire::kChunkBytes, for_threads) / wire::kChunkBytes);
  }
  const uint32_t added = add_chunks(more);
  if (added < more && lender_ != nullptr) lender_->take_back(uint64_t{more - added} * wire::kChunkBytes);
  return added > 0;
}

// First withdrawn chunks, then others. Returns their number.
uint32_t LogReader::add_chunks(uint32_t count) {
  uint32_t added = 0;
  while (added < count && !withdrawn_.empty()) {
    const uint32_t index = withdrawn_.back();
    if (memory_ && !memory_->make(index, 1)) return added;
    withdrawn_.pop_back();
    chunk(index).next.store(wire::kNoChunk, std::memory_order_relaxed);
    wire::push_free_chunk(log_, chunk(index), index);
    ++added;
  }
  const uint32_t fresh = std::min(count - added, chunk_count_ - usable_chunks_);
  if (fresh == 0) return added;
  usable_chunks_ += fresh;
  log_.usable_chunks.store(usable_chunks_, std::memory_order_release);  // pairs with the writers' acquire
  return added + fresh;
}

void LogReader::borrow_from(ChunkLender& lender, ChunkMemory memory) {
  lender_ = &lender;
  memory_ = memory;
  usable_chunks_ = 0;
  log_.usable_chunks.store(0, std::memory_order_release);
  const uint64_t wanted = std::min(lender.share(), uint64_t{start_chunks_} * wire::kChunkBytes);
  const auto lent = static_cast<uint32_t>(lender.lend(wanted, false) / wire::kChunkBytes);
  const uint32_t added = add_chunks(lent);
  lender.take_back(uint64_t{lent - added} * wire::kChunkBytes);
  make_ahead();
  looked_at_ = std::chrono::steady_clock::now();
}

// Chunks that writers will use next.
void LogReader::make_ahead() {
  constexpr uint32_t kAhead = 128;  // 1 MiB
  const uint32_t fresh = std::min(log_.fresh_chunks.load(std::memory_order_relaxed), usable_chunks_);
  const uint32_t wanted = std::min(usable_chunks_, fresh + kAhead);
  if (wanted < made_chunks_ + kAhead / 2 && wanted != usable_chunks_) return;
  const uint32_t first = std::max(made_chunks_, fresh);
  if (wanted > first) (void)memory_->make(first, wanted - first);  // else their first user touches them
  made_chunks_ = std::max(made_chunks_, wanted);
}

// Chunks that were free for a second, or earlier those that the lender needs.
void LogReader::look_for_unused() {
  constexpr std::chrono::milliseconds kBetweenQuestions{100};
  constexpr std::chrono::seconds kUnused{1};
  freed_lately_ += freed_;
  const uint32_t used = std::min(log_.used_chunks.load(std::memory_order_relaxed), chunk_count_);
  max_used_lately_ = std::max(max_used_lately_, used);
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_at_ < kBetweenQuestions) return;
  asked_at_ = now;
  // Not chunks for which it would grow again for its threads.
  const uint32_t for_threads = stream_count_ + std::min(start_chunks_ / 4, stream_count_) + 2;
  const uint32_t spare = usable_chunks() - std::min(usable_chunks(), for_threads);
  lender_->note_lost(lost_events());
  const uint64_t overdue = lender_->overdue() / wire::kChunkBytes;
  if (overdue > 0) withdraw(static_cast<uint32_t>(std::min<uint64_t>(overdue, spare)));
  if (now - looked_at_ < kUnused) return;
  const uint64_t written = std::min<uint64_t>(written_lately_ / wire::kChunkBytes, start_chunks_);
  const uint64_t needed = std::max<uint64_t>(max_used_lately_, written) + lender_->share() / wire::kChunkBytes;
  const auto unneeded = static_cast<uint32_t>(usable_chunks() - std::min<uint64_t>(usable_chunks(), needed));
  rest_unused(std::min(unneeded, spare));
  max_used_lately_ = used;
  written_lately_ = 0;
  looked_at_ = now;
}

// Takes this many out of the log, if they are free.
void LogReader::withdraw(uint32_t count) {
  std::vector<uint32_t> taken;
  while (taken.size() < count) {
    const uint32_t index = take_free_chunk();
    if (index == wire::kNoChunk) break;
    taken.push_back(index);
  }
  memory_->give_back(taken);
  withdrawn_.insert(withdrawn_.end(), taken.begin(), taken.end());
  lender_->take_back(taken.size() * wire::kChunkBytes);
}

// Returns the pages of chunks that weren't needed lately; `surplus` of them are taken out of the log. The others are
// reused when those on top of them are in use.
void LogReader::rest_unused(uint32_t surplus) {
  constexpr uint32_t kWarm = 64;  // in addition to those used
  const size_t warm =
      base::at_most(SIZE_MAX, std::max<uint64_t>(max_used_lately_, written_lately_ / wire::kChunkBytes) + kWarm);
  if (freed_lately_ <= kWarm && surplus == 0) return;
  const auto take_all = [this] {
    std::vector<uint32_t> free;
    while (free.size() < usable_chunks_) {
      const uint32_t index = pop_free_chunk();
      if (index == wire::kNoChunk) break;
      free.push_back(index);
    }
    return free;
  };
  const auto put_back = [this](uint32_t index) { wire::push_free_chunk(log_, chunk(index), index); };
  std::vector<uint32_t> free = take_all();
  std::vector<uint32_t> cold;
  if (free.size() > warm) {
    cold.assign(free.begin() + static_cast<ptrdiff_t>(warm), free.end());
    free.resize(warm);
    std::ranges::for_each(free.rbegin(), free.rend(), put_back);  // unavailable to writers until then
    memory_->give_back(cold);
    free = take_all();
    const size_t withdrawn = std::min<size_t>(surplus, cold.size());
    withdrawn_.insert(withdrawn_.end(), cold.end() - static_cast<ptrdiff_t>(withdrawn), cold.end());
    cold.resize(cold.size() - withdrawn);
    lender_->take_back(withdrawn * wire::kChunkBytes);
  }
  std::ranges::for_each(cold, put_back);
  std::ranges::for_each(free.rbegin(), free.rend(), put_back);
  if (warm <= kWarm) freed_lately_ = 0;  // else some that are warm now may be unneeded a second later
  ++freed_;                              // writers that found none in the meantime are woken
}

// As writers do, but without trust in the contents: kNoChunk if there is none, or if others are repeatedly faster.
uint32_t LogReader::pop_free_chunk() {
  constexpr int kMaxTries = 64;
  uint64_t head = log_.free_chunks.load(std::memory_order_acquire);
  for (int i = 0; i < kMaxTries && static_cast<uint32_t>(head) < usable_chunks_; ++i) {
    const auto index = static_cast<uint32_t>(head);
    const uint64_t next = chunk(index).free_link.load(std::memory_order_relaxed) | ((head >> 32) + 1) << 32;
    if (log_.free_chunks.compare_exchange_weak(head, next, std::memory_order_acq_rel)) return index;
  }
  return wire::kNoChunk;
}

// The same for never used chunks.
uint32_t LogReader::take_free_chunk() {
  constexpr int kMaxTries = 64;
  if (withdrawn_.size() >= usable_chunks_) return wire::kNoChunk;
  uint32_t fresh = log_.fresh_chunks.load(std::memory_order_relaxed);
  for (int i = 0; i < kMaxTries && fresh < usable_chunks_; ++i) {
    if (log_.fresh_chunks.compare_exchange_weak(fresh, fresh + 1, std::memory_order_relaxed)) return fresh;
  }
  return pop_free_chunk();
}

// Whether everything read precedes all that another stream may ever bring.
bool LogReader::is_alone() {
  if (stream_count_ != 1 || log_.thread_count.load(std::memory_order_acquire) != 1) return false;
  const uint32_t used = used_slots();
  for (uint32_t i = 0; i < used; ++i) {
    if (streams_[i] == nullptr && is_open(i)) return false;  // a signal handler's
  }
  return true;
}

// Number of slots ever used, with room for their state here: most processes have few threads, and processes may be
// many. Never decreases, whatever the program writes into that word.
uint32_t LogReader::used_slots() {
  const uint32_t used = std::min(static_cast<uint32_t>(slots_.size()), log_.slots_used.load(std::memory_order_acquire));
  if (used > streams_.size()) {
    streams_.resize(used);
    quiet_at_.resize(used, kToBeRead);
  }
  return static_cast<uint32_t>(streams_.size());
}

// Whether the slot belongs to a stream with a chunk.
bool LogReader::is_open(uint32_t index) const {
  const auto state = static_cast<wire::StreamState>(slot(index).state.load(std::memory_order_acquire));
  return state == wire::StreamState::kActive || state == wire::StreamState::kEnded;
}

// Threads may share a reading of the clock among several records, but none older than the time published here. They see
// that time a moment later; by then they are in a record begun before, or have written it.
void LogReader::publish(uint64_t now) {
  if (now < published_ + kSlackTicks) return;
  settled_ = published_;
  published_ = now;
  clock_.raise(now);
}

// The streams that may have new records since they were idle. For the others a look at their slots suffices: later
// records of their threads are newer than settled_.
void LogReader::find_active() {
  active_.clear();
  const uint32_t used = used_slots();
  for (uint32_t i = 0; i < used; ++i) {
    const wire::StreamSlot& place = slots_[i];
    const bool has_ended = place.state.load(std::memory_order_acquire) == kEnded;  // before the rest of it is read
    const uint32_t activity = place.activity.load(std::memory_order_acquire);
    if (activity == quiet_at_[i] && !wire::is_in_record(activity) && !has_ended) continue;
    if (streams_[i] == nullptr) {
      if (look_ || !is_open(i)) continue;
      begin_stream(i);
    }
    streams_[i]->activity = activity;
    active_.push_back(streams_[i].get());
  }
  max_chunks_used_ = std::max(max_chunks_used_, chunks_in_use_);
}

void LogReader::begin_stream(uint32_t index) {
  const wire::StreamSlot& place = slots_[index];
  auto stream = std::make_unique<Stream>();
  stream->slot = index;
  stream->chunk = place.first_chunk;
  stream->thread = std::min(place.thread_number, wire::kMaxThreads);
  stream->last_time = place.started_at.load(std::memory_order_relaxed);
  if (stream->chunk >= chunk_count_) {
    ++damaged_streams_;
    stream->closed = stream->ended = true;
  }
  new_threads_.push_back({place.thread_id, stream->thread});
  streams_[index] = std::move(stream);
  ++stream_count_;
  ++chunks_in_use_;
}

// Later writers find room, if this side is only slow.
void LogReader::keep_chunks() {
  const uint32_t usable = usable_chunks();
  if (log_.used_chunks.load(std::memory_order_relaxed) < std::min(stream_count_ + kCrowded, usable / 4)) return;
  const uint32_t most = std::min(max_kept_, usable * 2);  // this side may be in the program's memory cgroup
  for (Stream* stream : active_) {
    while (kept_ < most && keep_chunk(*stream)) {
    }
  }
}

// False: the stream's chunk isn't finished, or is invalid, which read_chunk() will find out.
bool LogReader::keep_chunk(Stream& stream) {
  if (stream.closed || stream.is_at_look()) return false;
  wire::ChunkHeader& head = chunk(stream.chunk);
  const uint32_t next = head.next.load(std::memory_order_acquire);
  const uint32_t committed = head.committed.load(std::memory_order_acquire);
  if (next == 0 || next > chunk_count_ || committed < sizeof(head) || committed > wire::kChunkBytes) return false;
  Stream::Kept kept{nullptr, committed, head.base_time};
  if (spare_.empty()) spare_.push_back(std::make_unique_for_overwrite<uint8_t[]>(wire::kChunkBytes));
  kept.bytes = std::move(spare_.back());
  spare_.pop_back();
  std::memcpy(kept.bytes.get(), &head, committed);
  stream.kept.push_back(std::move(kept));
  ++kept_;
  go_on(stream, next - 1);
  return true;
}

// Continues from the log's chunk to the next one.
void LogReader::go_on(Stream& stream, uint32_t next) {
  free_chunk(stream.chunk);
  stream.chunk = next;
  max_chunks_used_ = std::max(max_chunks_used_, log_.used_chunks.load(std::memory_order_relaxed) + 1);
}

void LogReader::read_stream(Stream& stream) {
  if (stream.closed) return;
  // First its end flag, then its records: in this order none is missed.
  const auto state = static_cast<wire::StreamState>(slot(stream.slot).state.load(std::memory_order_acquire));
  stream.ended = state == wire::StreamState::kEnded && !stream.looked_at;
  bool more = true;
  // At most as many chunks as exist: empty ones that follow each other while they are read aren't an agent's, and would
  // keep the collector here.
  for (uint32_t chunks = 0; more && chunks < chunk_count_; ++chunks) {
    if (stream.events.size() - stream.taken >= kMaxHeld) break;
    more = read_chunk(stream);
  }
  stream.unread = more && !stream.closed;
  if (stream.ended && !stream.closed && !stream.unread) {
    free_chunk(stream.chunk);
    stream.closed = true;
  }
}

// Reads the committed part of the stream's chunk. True: it is finished, and the stream continues in another one.
bool LogReader::read_chunk(Stream& stream) {
  if (!stream.kept.empty()) return read_kept(stream);
  wire::ChunkHeader& head = chunk(stream.chunk);
  uint32_t next = head.next.load(std::memory_order_acquire);  // before `committed`: then that is final
  uint32_t committed = head.committed.load(std::memory_order_acquire);
  if (stream.is_at_look()) {
    next = 0;
    committed = stream.looked_at->offset;
  }
  if (!stream.base_known) {
    stream.base_time = head.base_time;
    stream.base_known = true;
  }
  // A stream that leads back to a finished chunk would loop for ever.
  const bool was_given_back = next == wire::kNoChunk;
  bool sound = !was_given_back && committed >= stream.offset && committed <= wire::kChunkBytes;
  sound = sound && read_records(stream, reinterpret_cast<const uint8_t*>(&head), committed);
  if (!sound || next > chunk_count_) {
    give_up(stream);  // its chunks stay where they are
    return false;
  }
  if (next == 0) return false;
  go_on(stream, next - 1);
  stream.begin_chunk();
  return true;
}

bool LogReader::read_kept(Stream& stream) {
  Stream::Kept kept = std::move(stream.kept.front());
  stream.kept.pop_front();
  --kept_;
  if (!stream.base_known) stream.base_time = kept.base_time;
  stream.base_known = true;
  if (kept.committed < stream.offset || !read_records(stream, kept.bytes.get(), kept.committed)) {
    give_up(stream);
    return false;
  }
  stream.begin_chunk();
  if (spare_.size() < std::min<size_t>(max_kept_, kMaxSpare)) {
    spare_.push_back(std::move(kept.bytes));
  } else {
    has_dropped_ = true;
  }
  return true;
}

void LogReader::give_up(Stream& stream) {
  ++damaged_streams_;
  stream.closed = true;
  kept_ -= static_cast<uint32_t>(stream.kept.size());
  stream.kept.clear();
}

bool LogReader::read_records(Stream& stream, const uint8_t* bytes, uint32_t committed) {
  const uint32_t begin = stream.offset;
  const size_t before = stream.events.size();
  stream.events.resize(before + (committed - begin) / sizeof(wire::Record));
  wire::RawEvent* event = stream.events.data() + before;
  bool sound = true;
  while (sound && stream.offset < committed) {
    event = read_usual_records(stream, bytes, committed, event);
    if (stream.offset < committed) sound = read_other_record(stream, bytes, committed, event);
  }
  stream.events.resize(static_cast<size_t>(event - stream.events.data()));
  bytes_read_ += stream.offset - begin;
  return sound;
}

// Allocations and releases, up to another kind, or so near the end that a long one may not fit.
wire::RawEvent* LogReader::read_usual_records(Stream& stream, const uint8_t* bytes, uint32_t committed,
                                              wire::RawEvent* event) {
  uint32_t offset = stream.offset;
  uint64_t last_time = stream.last_time;
  const uint64_t base_time = stream.base_time;
  const uint32_t thread = stream.thread;
  for (wire::SizedRecord record; committed - offset >= sizeof(record);) {
    std::memcpy(&record, bytes + offset, sizeof(record));
    const wire::RecordKind kind = wire::record_kind(record.head.tagged_address);
    const uint64_t time = std::max(base_time + record.head.time, last_time);
    // A branch on purpose: the start of the next record is predicted, not waited for.
    if (kind == wire::RecordKind::kAllocate) {
      offset += sizeof(wire::SizedRecord);
      *event++ = {time, record.head.tagged_address, record.size_bytes, record.head.stack, thread};
    } else if (kind == wire::RecordKind::kRelease) {
      offset += sizeof(wire::Record);
      *event++ = {time, record.head.tagged_address, 0, record.head.stack, thread};
    } else {
      break;
    }
    last_time = time;
  }
  stream.offset = offset;
  stream.last_time = last_time;
  return event;
}

// Notes of the program are passed on in order; unknown kinds are skipped: they come from a later agent. `at`: position
// of the note. False: no such note, or incomplete.
bool LogReader::read_note(Stream& stream, const wire::SizedRecord& note, const uint8_t* at, uint32_t left,
                          wire::RawEvent*& event) {
  const uint32_t bytes = note.head.stack;
  if (bytes % sizeof(uint64_t) != 0 || bytes > left - sizeof(wire::Record)) return false;
  const wire::NoteKind kind = wire::note_kind(note.head.tagged_address);
  if (kind == wire::NoteKind::kClock) {
    if (bytes != sizeof(uint64_t)) return false;
    stream.base_time = note.size_bytes;  // the word after the head
  } else if (wire::is_said_by_program(kind)) {
    const auto* text = reinterpret_cast<const char*>(at + sizeof(wire::Record));
    const uint32_t number = text_count_++;
    texts_.emplace(number, std::string(text, strnlen(text, std::min(bytes, wire::kMaxNoteTextBytes))));
    stream.last_time = std::max(stream.base_time + note.head.time, stream.last_time);
    *event++ = {stream.last_time, note.head.tagged_address, 0, number, stream.thread};
  }
  stream.offset += uint32_t{sizeof(wire::Record)} + bytes;
  return true;
}

std::string LogReader::take_text(uint32_t number) {
  const auto found = texts_.find(number);
  if (found == texts_.end()) return {};
  std::string text = std::move(found->second);
  texts_.erase(found);
  return text;
}

// One record of any kind. False: invalid.
bool LogReader::read_other_record(Stream& stream, const uint8_t* bytes, uint32_t committed, wire::RawEvent*& event) {
  const uint32_t left = committed - stream.offset;
  if (left < sizeof(wire::Record)) return false;
  wire::SizedRecord record{};
  std::memcpy(&record, bytes + stream.offset, left < sizeof(record) ? sizeof(wire::Record) : sizeof(record));
  const wire::RecordKind kind = wire::record_kind(record.head.tagged_address);
  if (kind == wire::RecordKind::kNote) return read_note(stream, record, bytes + stream.offset, left, event);
  const uint32_t size = wire::record_bytes(kind);
  if (size == 0 || size > left) return false;
  stream.offset += size;
  stream.last_time = std::max(stream.base_time + record.head.time, stream.last_time);
  const uint64_t size_bytes = size == sizeof(record) ? record.size_bytes : 0;
  *event++ = {stream.last_time, record.head.tagged_address, size_bytes, record.head.stack, stream.thread};
  return true;
}

void LogReader::free_chunk(uint32_t index) {
  if (only_looks_) return;
  wire::ChunkHeader& head = chunk(index);
  head.next.store(wire::kNoChunk, std::memory_order_relaxed);  // until a thread starts it again
  wire::push_free_chunk(log_, head, index);
  log_.used_chunks.fetch_sub(1, std::memory_order_relaxed);
  ++freed_;
}

// Appends the streams' events up to a time, oldest first. In runs: usually one thread is ahead for a while.
void LogReader::merge(RawEvents& events, uint64_t until) {
  fronts_.clear();
  for (Stream* stream : active_) {
    if (!stream->empty() && stream->front_time() <= until) fronts_.push_back({stream->front_time(), stream});
  }
  if (fronts_.size() == 1 && events.empty() && fronts_[0].stream->taken == 0 &&
      fronts_[0].stream->events.back().time <= until) {
    events.swap(fronts_[0].stream->events);
    return;
  }
  std::make_heap(fronts_.begin(), fronts_.end(), [](const Front& a, const Front& b) { return a.time > b.time; });
  while (!fronts_.empty()) {
    Stream& first = *fronts_[0].stream;
    uint64_t limit = until;
    for (size_t child = 1; child < std::min<size_t>(fronts_.size(), 3); ++child) {
      limit = std::min(limit, fronts_[child].time);
    }
    size_t end = first.taken + 1;
    while (end < first.events.size() && first.events[end].time <= limit) ++end;
    events.insert(events.end(), first.events.begin() + static_cast<ptrdiff_t>(first.taken),
                  first.events.begin() + static_cast<ptrdiff_t>(end));
    first.taken = end;
    if (!first.empty() && first.front_time() <= until) {
      fronts_[0].time = first.front_time();
    } else {
      first.drop_taken();
      fronts_[0] = fronts_.back();
      fronts_.pop_back();
    }
    sift_down();
  }
}

// Moves the first front down to its place in the heap.
void LogReader::sift_down() {
  for (size_t at = 0;;) {
    size_t child = 2 * at + 1;
    if (child >= fronts_.size()) return;
    if (child + 1 < fronts_.size() && fronts_[child + 1].time < fronts_[child].time) ++child;
    if (fronts_[at].time <= fronts_[child].time) return;
    std::swap(fronts_[at], fronts_[child]);
    at = child;
  }
}

// Updates the states of the streams after their events were passed on: ended, idle, or to be read again.
void LogReader::settle_active() {
  std::erase_if(active_, [this](Stream* stream) {
    const uint64_t lost = slot(stream->slot).lost_events.load(std::memory_order_relaxed);
    lost_living_ += lost - std::exchange(stream->lost, lost);
    if (stream->closed && stream->ended && stream->empty()) {
      retire(*stream);
      return true;
    }
    const bool is_read = !look_ && stream->empty() && stream->kept.empty() && !stream->unread && !stream->ended;
    quiet_at_[stream->slot] = is_read ? stream->activity : kToBeRead;
    return false;
  });
}

namespace {

// Where blocks aren't sampled, nothing is counted.
void add_calls(const wire::StreamSlot& slot, uint32_t thread, std::vector<model::ThreadCalls>& to) {
  const model::ThreadCalls calls{.thread = thread,
                                 .allocations = slot.calls.allocations.load(std::memory_order_relaxed),
                                 .allocated_bytes = slot.calls.allocated_bytes.load(std::memory_order_relaxed),
                                 .releases = slot.calls.releases.load(std::memory_order_relaxed)};
  if ((calls.allocations | calls.releases) == 0) return;
  if (to.size() < model::kMaxThreadCalls) return to.push_back(calls);
  model::ThreadCalls& others = to.back();
  others.thread = 0;
  others.add(calls);
}

}  // namespace

// An ended stream whose events were all passed on: its slot can be reused.
void LogReader::retire(Stream& stream) {
  if (only_looks_) return stream.events.clear();
  const uint32_t index = stream.slot;
  wire::StreamSlot& place = slot(index);
  lost_living_ -= stream.lost;
  lost_ended_ += place.lost_events.exchange(0, std::memory_order_relaxed);
  add_calls(place, stream.thread, ended_calls_);
  quiet_at_[index] = kToBeRead;
  streams_[index].reset();
  --stream_count_;
  --chunks_in_use_;
  ++freed_;
  place.state.store(static_cast<uint32_t>(wire::StreamState::kFree), std::memory_order_release);
  if (index < log_.free_slot_hint.load(std::memory_order_relaxed)) {
    log_.free_slot_hint.store(index, std::memory_order_relaxed);
  }
}

void LogReader::rest() {
  // A look at many streams takes time, and is worth as many more chunks.
  const uint32_t used = std::min(log_.used_chunks.load(std::memory_order_relaxed), chunk_count_);
  const auto worth = std::max(kFilledAtRest, stream_count_ / 4);
  log_.wake_threshold.store(used + std::min(worth, std::max(usable_chunks() / 4, 1u)), std::memory_order_relaxed);
}

void LogReader::wake_up() { log_.wake_threshold.store(wire::kNeverWake, std::memory_order_relaxed); }

bool LogReader::is_empty() const {
  return !has_unread_ &&
         std::all_of(active_.begin(), active_.end(), [](const Stream* stream) { return stream->empty(); });
}

std::vector<StreamEnd> LogReader::take_new_threads() { return std::exchange(new_threads_, {}); }

std::vector<model::ThreadCalls> LogReader::calls() const {
  std::vector<model::ThreadCalls> calls = ended_calls_;
  for (const std::unique_ptr<Stream>& stream : streams_) {
    if (stream != nullptr) add_calls(slot(stream->slot), stream->thread, calls);
  }
  std::ranges::sort(calls, {}, &model::ThreadCalls::thread);
  std::vector<model::ThreadCalls> by_thread;  // a signal handler has a stream of its own
  for (const model::ThreadCalls& each : calls) {
    if (by_thread.empty() || by_thread.back().thread != each.thread) by_thread.push_back({.thread = each.thread});
    by_thread.back().add(each);
  }
  return by_thread;
}

uint64_t LogReader::lost_events() const {
  return lost_ended_ + lost_living_ + log_.lost_events.load(std::memory_order_relaxed);
}

}  // namespace heaptap::log
