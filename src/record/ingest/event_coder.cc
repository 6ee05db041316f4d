#include "record/ingest/event_coder.h"

#include <fmt/format.h>

#include "common/wire/mapping.h"

#include <algorithm>
#include <bit>
#include <ranges>
#include <utility>

// How the log's numbers become the trace's. Stacks: the agent's node is looked up in a table that has the site for the last function
// that was called from there, so that most events cost one load; a node that is new is followed to its first known ancestor,
// and named from there inwards. Blocks: the map from address to block lives here, so that a release in the trace names its
// allocation by number and needs no address. An allocation at an address that is still alive shows that two streams' times
// were not quite in order: its release is looked for among the events that follow within kMaxDisorder, and brought forward. If it
// isn't there yet, the allocation waits for the next drain; if it can't come any more, a release is concluded, and marked as such.
// Where events were lost or hidden (`sees_all()` is false) a release that fits nothing is unknown, not bad.
// While recording is switched off only what ends something comes, without a stack; what fits nothing then is left out.
namespace heaptap::ingest {
namespace {

constexpr uint32_t kUnset = UINT32_MAX;

// Finding the block around an address means a linear search; with more such errors, further ones are reported without
// it.
constexpr uint64_t kMaxSearches = 1000;

// How many events ahead the table entries are prefetched.
constexpr size_t kAhead = 12;

template <typename T>
T& at_grown(std::vector<T>& values, size_t index, const T& fill) {
  if (index >= values.size()) values.resize(std::max(index + 1, values.size() * 2), fill);
  return values[index];
}

constexpr bool names_function(const wire::RawEvent& raw) {
  return raw.function() != 0 && raw.function() < wire::kFunctionCount;
}

// Whether the release came while recording was switched off: an unknown block may have been allocated in the same gap,
// so it isn't an error.
constexpr bool is_of_pause(const wire::RawEvent& raw) {
  return wire::ends_something(raw.kind()) && raw.stack == static_cast<uint32_t>(wire::StackEnd::kNotUnwound);
}

// The same number, except for notes.
constexpr model::EventKind event_kind_of(wire::RecordKind kind) {
  const auto number = static_cast<uint8_t>(kind);
  return static_cast<model::EventKind>(kind > wire::RecordKind::kNote ? number - 1 : number);
}

// Of the module at this address, the one loaded last; 0: none.
uint32_t generation_of(std::span<const model::Module> modules, uint64_t address) {
  for (const model::Module& module : std::views::reverse(modules)) {
    if (address >= module.start && address < module.end) return module.generation;
  }
  return 0;
}

constexpr uint64_t stack_key(const model::Stack& stack) { return uint64_t{stack.parent} << 32 | stack.code; }

}  // namespace

EventCoder::EventCoder(const stream::AgentTables& agent, model::Tables& tables, uint64_t resolution_ns, bool from_start)
    : agent_(agent), tables_(tables), resolution_ns_(resolution_ns), from_start_(from_start), stack_ids_(agent) {}

size_t EventCoder::take(std::span<wire::RawEvent> events, const stream::ClockScale& clock, size_t most, bool last,
                        model::EventBatch& batch) {
  program_note_.reset();
  clock_ = clock;
  const size_t begun = batch.events.size();
  if (begun == 0) batch.first_block = next_block_;
  next_mark_ticks_ = begun == 0 ? 0 : next_mark(clock);
  if (most <= begun) return 0;
  // Room for each event, or two if a release is concluded; and the last may become three, with a release brought
  // forward.
  batch.events.resize(begun + std::min(most - begun, 2 * events.size()) + 2);
  Coded coded{.batch = batch, .next = batch.events.data() + begun};
  const model::Event* end = batch.events.data() + std::min(most, batch.events.size());
  size_t taken = 0;
  for (; taken < events.size() && coded.next < end; ++taken) {
    if (taken + kAhead < events.size()) prefetch(events[taken + kAhead]);
    const wire::RawEvent& raw = events[taken];
    if (raw.time >= next_mark_ticks_) [[unlikely]]
      mark_time(raw, clock, coded);
    if (!append(events.subspan(taken), last, coded)) break;
    if (program_note_) [[unlikely]] {
      ++taken;
      break;
    }
  }
  batch.events.resize(coded.count());
  return taken;
}

[[gnu::always_inline]] inline void EventCoder::prefetch(const wire::RawEvent& raw) const {
  blocks_.prefetch(raw.tagged_address);
  if (raw.stack < node_count_) __builtin_prefetch(&node_sites_[raw.stack]);
}

void EventCoder::mark_time(const wire::RawEvent& raw, const stream::ClockScale& clock, Coded& coded) {
  if (raw.kind() == wire::RecordKind::kNone) return;
  model::EventBatch& batch = coded.batch;
  const uint64_t now = clock.to_ns(raw.time);
  const bool begins = coded.count() == 0 && batch.time_marks.empty();
  if (now < time_ns_ + resolution_ns_ && !begins) return;
  time_ns_ = std::max(time_ns_, now / resolution_ns_ * resolution_ns_);
  next_mark_ticks_ = next_mark(clock);
  const auto event = static_cast<uint32_t>(coded.count());
  if (!batch.time_marks.empty() && batch.time_marks.back().first_event == event) {
    batch.time_marks.back().time_ns = time_ns_;
  } else {
    batch.time_marks.push_back({event, time_ns_});
  }
}

// Ticks before which none is due: slightly early, since ticks and nanoseconds don't divide.
uint64_t EventCoder::next_mark(const stream::ClockScale& clock) const {
  const double ticks = static_cast<double>(time_ns_ + resolution_ns_) / clock.ns_per_tick;
  constexpr double kMax = 1e19;
  return clock.start_ticks + static_cast<uint64_t>(std::clamp(ticks * (1 - 1e-9) - 1, 0.0, kMax));
}

// Codes the front event. False: it has to wait.
[[gnu::always_inline]] inline bool EventCoder::append(std::span<wire::RawEvent> rest, bool last, Coded& coded) {
  const wire::RawEvent& raw = rest.front();
  const uint32_t call = wire::record_call(raw.tagged_address);
  const NodeSite known = known_site_of(raw);
  if (known.key == call) [[likely]] {  // an event with a function
    if (raw.kind() == wire::RecordKind::kAllocate) return allocate(rest, known.site, last, coded);
    if (raw.kind() == wire::RecordKind::kRelease) {
      release(raw, known.site, coded);
      return true;
    }
  }
  return append_other(rest, last, coded);
}

bool EventCoder::append_other(std::span<wire::RawEvent> rest, bool last, Coded& coded) {
  const wire::RawEvent& raw = rest.front();
  if (raw.kind() == wire::RecordKind::kNote) {
    listen(raw);
    return true;
  }
  if (!names_function(raw)) return true;
  switch (raw.kind()) {
    case wire::RecordKind::kAllocate:
      return allocate(rest, kUnset, last, coded);
    case wire::RecordKind::kRelease:
      release(raw, site_of(raw), coded);
      break;
    case wire::RecordKind::kUndo:
      undo(raw, coded);
      break;
    case wire::RecordKind::kMap:
      mapped_.add(raw.address(), wire::mapped_length(raw.size_bytes));
      coded.add({site_of(raw), raw.thread, raw.size_bytes, raw.address()});
      break;
    case wire::RecordKind::kProtect:
      coded.add({site_of(raw), raw.thread, raw.size_bytes, raw.address()});
      break;
    case wire::RecordKind::kUnmap:
      unmap(raw, coded);
      break;
    case wire::RecordKind::kPoolAllocate:
    case wire::RecordKind::kPoolRelease:
    case wire::RecordKind::kPoolDestroy:
      add_pooled(raw, coded);
      break;
    default:  // kNone: coded already, brought forward
      break;
  }
  return true;
}

void EventCoder::listen(const wire::RawEvent& raw) {
  const wire::NoteKind kind = wire::note_kind(raw.tagged_address);
  if (kind == wire::NoteKind::kSwitchedOff) expect_unseen_blocks();
  ProgramNote program_note{.kind = kind,
                           .text = raw.stack,
                           .thread = raw.thread,
                           .time_ns = std::max(clock_.to_ns(raw.time), time_ns_),
                           .block = model::kUnknownBlock};
  if (kind == wire::NoteKind::kBlockName) {
    const BlockMap::Place place = blocks_.find(raw.address());
    if (place.alive()) program_note.block = place.number();
  }
  program_note_ = program_note;
}

void EventCoder::unmap(const wire::RawEvent& raw, Coded& coded) {
  if (is_of_pause(raw) && !mapped_.overlaps(raw.address(), raw.size_bytes)) return;
  mapped_.remove(raw.address(), raw.size_bytes);
  coded.add({site_of(raw), raw.thread, raw.size_bytes, raw.address()});
}

void EventCoder::add_pooled(const wire::RawEvent& raw, Coded& coded) {
  const wire::RecordKind kind = raw.kind();
  if (is_of_pause(raw) && !pooled_.has(raw.address(), raw.size_bytes, kind == wire::RecordKind::kPoolDestroy)) return;
  const model::SiteId site = site_of(raw);
  if (kind == wire::RecordKind::kPoolAllocate) {
    pooled_.add(raw.address(), raw.size_bytes, site);
  } else if (kind == wire::RecordKind::kPoolRelease) {
    pooled_.remove(raw.address(), raw.size_bytes);
  } else {
    pooled_.remove_all(raw.size_bytes);
  }
  coded.add({site, raw.thread, raw.size_bytes, raw.address()});
}

[[gnu::always_inline]] inline bool EventCoder::allocate(std::span<wire::RawEvent> rest, model::SiteId site, bool last,
                                                        Coded& coded) {
  const wire::RawEvent& raw = rest.front();
  BlockMap::Place place = blocks_.claim(raw.tagged_address);
  if (place.alive()) [[unlikely]] {
    if (!settle_conflict(rest, last, coded)) return false;
    place = blocks_.claim(raw.tagged_address);
  }
  if (site == kUnset) site = site_of(raw);
  blocks_.fill(place, {next_block_++, raw.size_bytes, site, BlockMap::kAlive});
  coded.add({site, raw.thread, raw.size_bytes, raw.address()});
  return true;
}

[[gnu::always_inline]] inline void EventCoder::release(const wire::RawEvent& raw, model::SiteId site, Coded& coded) {
  const BlockMap::Place place = blocks_.find(raw.tagged_address);
  if (!place.alive()) [[unlikely]]
    return release_of_none(raw, site, place, coded);
  if (!sees_all_releases() && is_mismatched(site, place.allocated_at())) [[unlikely]] {
    conclude_release(place, raw.thread, coded);
    return release_of_none(raw, site, {}, coded);
  }
  const model::BlockNumber number = place.number();
  last_released_of(raw.thread) = {raw.address(), number};
  coded.add({site, raw.thread, number, 0});
  blocks_.release(place, site);
}

void EventCoder::release_of_none(const wire::RawEvent& raw, model::SiteId site, BlockMap::Place dead, Coded& coded) {
  if (is_of_pause(raw)) {
    last_released_of(raw.thread).address = kPassedOver;
    return;
  }
  last_released_of(raw.thread).address = kNothing;
  note_bad_release(raw, dead, coded);
  coded.add({site, raw.thread, model::kUnknownBlock, raw.address()});
}

void EventCoder::note_bad_release(const wire::RawEvent& raw, BlockMap::Place dead, Coded& coded) {
  model::BadRelease bad{};
  bad.event = static_cast<uint32_t>(coded.count());
  bad.address = raw.address();
  bad.kind = from_start_ && sees_all() ? model::BadReleaseKind::kNeverAllocated : model::BadReleaseKind::kUnknown;
  std::optional<BlockMap::Block> block;
  if (sees_all() && dead) {
    block = dead.block();
    bad.kind = model::BadReleaseKind::kDouble;
  } else if (sees_all() && searches_for_interior_++ < kMaxSearches) {
    block = blocks_.find_around(raw.address());
    if (block) bad.kind = model::BadReleaseKind::kInterior;
  }
  if (block) {
    bad.block_known = true;
    bad.block_size = block->size_bytes;
    bad.allocated_at = block->allocated_at;
    bad.first_released_at = block->alive() ? block->allocated_at : block->released_at;
  }
  coded.batch.bad_releases.push_back(bad);
}

void EventCoder::undo(const wire::RawEvent& raw, Coded& coded) {
  const LastRelease last = std::exchange(last_released_of(raw.thread), LastRelease{});
  if (last.address == kPassedOver) return;
  const BlockMap::Place place = blocks_.find(raw.address());
  if (last.address == raw.address() && place && !place.alive()) blocks_.revive(place, last.block);
  coded.add({site_of(raw), raw.thread, 0, 0});
}

// The front event allocates a live address: the release must come later, since times of two processors are only almost
// comparable. It is brought forward. False: it may still come, so this event has to wait.
bool EventCoder::settle_conflict(std::span<wire::RawEvent> rest, bool last, Coded& coded) {
  const wire::RawEvent& allocation = rest.front();
  const uint64_t limit = allocation.time + stream::kMaxDisorder;
  for (wire::RawEvent& later : rest.subspan(1)) {
    if (later.time > limit) {
      last = true;
      break;
    }
    if (later.kind() == wire::RecordKind::kRelease && later.address() == allocation.address() &&
        names_function(later)) {
      release(later, site_of(later), coded);
      later.tagged_address = 0;  // kNone
      return true;
    }
  }
  if (!last) return false;
  // Its release was never seen (lost, or by a function without a hook).
  ++missed_releases_;
  conclude_release(blocks_.find(allocation.tagged_address), allocation.thread, coded);
  return true;
}

// A release that wasn't seen: function and stack are unknown.
void EventCoder::conclude_release(BlockMap::Place place, uint32_t thread, Coded& coded) {
  constexpr auto kUnseen = static_cast<uint8_t>(wire::Function::kNone);
  constexpr uint32_t kCall = wire::record_call(wire::make_tagged_address(wire::RecordKind::kRelease, kUnseen, 0));
  const model::SiteId site = find_or_add_site(kCall, static_cast<model::StackId>(wire::StackEnd::kNotUnwound));
  coded.add({site, thread, place.number(), 0});
  blocks_.release(place, site);
}

model::SiteId EventCoder::earlier_site(uint64_t size_bytes) {
  constexpr auto kUnseen = static_cast<uint8_t>(wire::Function::kNone);
  constexpr uint32_t kCall = wire::record_call(wire::make_tagged_address(wire::RecordKind::kAllocate, kUnseen, 0));
  constexpr uint64_t kMaxExactBytes = 1032;  // glibc caches blocks of up to that
  std::string name = fmt::format("{} bytes", size_bytes);
  if (size_bytes > kMaxExactBytes) {
    const uint64_t above = std::bit_floor(size_bytes - 1);
    name = fmt::format("{}-{} bytes", above + 1, 2 * above);
  }
  const model::LabelId label = find_or_add_label({.parent = 0, .kind = wire::LabelKind::kTag, .name = std::move(name)});
  return find_or_add_site(kCall, static_cast<model::StackId>(wire::StackEnd::kNotUnwound), label);
}

bool EventCoder::is_mismatched(model::SiteId release, model::SiteId allocated_at) const {
  const auto family_of = [this](model::SiteId site) { return wire::facts_of(tables_.sites[site].function).family; };
  return !wire::match(family_of(release), family_of(allocated_at));
}

model::SiteId EventCoder::find_site(const wire::RawEvent& raw) {
  const uint32_t key = wire::record_call(raw.tagged_address);
  const stream::LabelledStack named = stream::split_label(agent_, raw.stack);
  const model::StackId stack = depth_ == 0 ? stack_of(named.stack) : cut_stack_of(named.stack);
  const model::SiteId site = find_or_add_site(key, stack, label_of(named.label));
  if (stack_ids_.is_beyond(raw.stack)) return site;
  at_grown(node_sites_, raw.stack, NodeSite{}) = {key, site};
  node_count_ = static_cast<uint32_t>(node_sites_.size());
  return site;
}

// The trace's number of an agent's label. An agent may use two numbers for one name; a hostile one any.
model::LabelId EventCoder::label_of(uint32_t number) {
  if (number == wire::kNoLabel) return 0;
  if (const auto known = labels_.find(number); known != labels_.end()) return known->second;
  auto label = agent_.label(number);
  if (!label) return 0;
  label->parent = label_of(label->parent);  // which has a smaller number
  return labels_[number] = find_or_add_label(*std::move(label));
}

model::LabelId EventCoder::find_or_add_label(model::Label label) {
  const auto [place, is_new] = label_ids_.try_emplace(std::tuple(label.parent, label.kind, label.name),
                                                      static_cast<model::LabelId>(tables_.labels.size()));
  if (is_new) tables_.labels.push_back(std::move(label));
  return place->second;
}

model::StackId EventCoder::stack_of(uint32_t node) {
  return stack_ids_.number_of(node, [this](model::StackId caller, uint32_t code_index) {
    return find_or_add_stack({caller, code_of(code_index)});
  });
}

// Only the innermost frames, without their callers.
model::StackId EventCoder::cut_stack_of(uint32_t node) {
  inner_codes_.clear();
  uint32_t at = node;
  for (; inner_codes_.size() < depth_ && at >= wire::kRootCount && at < agent_.node_count();) {
    const uint64_t entry = agent_.node(at);
    inner_codes_.push_back(wire::node_code(entry));
    at = wire::node_parent(entry);
  }
  if (at < wire::kRootCount || inner_codes_.size() < depth_) return stack_of(node);
  auto stack = static_cast<model::StackId>(wire::StackEnd::kDepthLimit);
  for (auto code = inner_codes_.rbegin(); code != inner_codes_.rend(); ++code) {
    stack = find_or_add_stack({stack, code_of(*code)});
  }
  return stack;
}

void EventCoder::set_depth(uint32_t frames) {
  expect_doubles();
  depth_ = frames;
  node_sites_.clear();
  node_count_ = 0;
}

// The site of that stack and key: the few sites of a stack are chained.
model::SiteId EventCoder::find_or_add_site(uint32_t key, model::StackId stack, model::LabelId label) {
  model::SiteId& first = at_grown(first_sites_, stack, kUnset);
  const model::EventKind kind = event_kind_of(static_cast<wire::RecordKind>(key >> 8));
  const auto function = static_cast<wire::Function>(key & 0xff);
  for (model::SiteId site = first; site != kUnset; site = next_sites_[site]) {
    const model::Site& known = tables_.sites[site];
    if (known.kind == kind && known.function == function && known.label == label) return site;
  }
  const auto site = static_cast<model::SiteId>(tables_.sites.size());
  tables_.sites.push_back({kind, function, stack, label});
  at_grown(next_sites_, site, kUnset) = first;
  return first = site;
}

model::StackId EventCoder::find_or_add_stack(const model::Stack& stack) {
  const auto next = static_cast<model::StackId>(tables_.stacks.size());
  if (doubles_) {
    const auto [known, is_new] = stacks_.try_emplace(stack_key(stack), next);
    if (!is_new) return known->second;
  }
  tables_.stacks.push_back(stack);
  return next;
}

void EventCoder::expect_doubles() {
  if (doubles_) return;
  doubles_ = true;
  for (size_t stack = wire::kRootCount; stack < tables_.stacks.size(); ++stack) {
    stacks_.try_emplace(stack_key(tables_.stacks[stack]), static_cast<model::StackId>(stack));
  }
}

model::CodeId EventCoder::code_of(uint32_t index) {
  const bool sound = index < agent_.code_count();
  if (sound) {
    const model::CodeId known = at_grown(code_ids_, index, kUnset);
    if (known != kUnset) return known;
  }
  const model::CodeId code = code_of_entry(sound ? agent_.code(index) : 0);
  if (sound) code_ids_[index] = code;
  return code;
}

model::CodeId EventCoder::code_of_entry(uint64_t entry) {
  if (wire::is_named_code(entry)) {
    entry = wire::make_named_code(label_of(wire::named_label(entry)), wire::named_line(entry));
  }
  const auto [known, is_new] = codes_.try_emplace(entry, static_cast<model::CodeId>(tables_.codes.size()));
  if (is_new) tables_.codes.push_back(model::code_of(entry));
  return known->second;
}

model::StackId EventCoder::add_stack(std::span<const uint64_t> codes, wire::StackEnd end) {
  auto stack = static_cast<model::StackId>(end);
  for (const uint64_t code : std::views::reverse(codes)) {
    const uint32_t generation = generation_of(tables_.modules, wire::code_address(code));
    stack = find_or_add_stack({stack, code_of_entry(wire::with_generation(code, generation))});
  }
  return stack;
}

std::optional<model::CodeId> EventCoder::known_code(uint32_t index) const {
  if (index >= code_ids_.size() || code_ids_[index] == kUnset) return std::nullopt;
  return code_ids_[index];
}

void EventCoder::change_thread(uint32_t thread) {
  thread_ = thread;
  last_released_of_thread_ = &at_grown(last_released_, thread % kMaxThreads, LastRelease{});
}

}  // namespace heaptap::ingest
