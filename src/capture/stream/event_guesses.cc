#include "capture/stream/event_guesses.h"

#include <algorithm>
#include <bit>

#include "common/wire/labels.h"
#include "common/wire/varint.h"

namespace heaptap::stream {
namespace {

constexpr uint64_t kMixer = 0x9e3779b97f4a7c15u;
constexpr uint64_t mixed(uint64_t value) { return (value ^ value >> 32) * kMixer; }
constexpr size_t top_bits(uint64_t hash, unsigned bits) { return static_cast<size_t>(hash >> (64 - bits)); }

// Chunk size of glibc's malloc for a block; other allocators have size classes, too.
constexpr uint32_t chunk_bytes_of(uint64_t size_bytes) {
  constexpr uint64_t kMax = uint64_t{1} << 30;
  const uint64_t size = wire::size_in_pool(size_bytes);
  if (size > kMax) return 0;
  return std::max(32u, (static_cast<uint32_t>(size) + 8 + 15) & ~15u);
}

// Kinds that allocate a block; the others release one, or a mapping, or a pool.
constexpr bool allocates(wire::RecordKind kind) {
  return kind == wire::RecordKind::kAllocate || kind == wire::RecordKind::kMap ||
         kind == wire::RecordKind::kPoolAllocate;
}

// Unit of explicit distances, which are in units of 16 bytes, or in bytes.
constexpr uint64_t kNearBytes = 16;

}  // namespace

uint32_t EventGuesses::FreeList::place_of(uint64_t address) const {
  uint32_t place = 0;
  while (place < count && from_end(place) != address) ++place;
  return place;
}

void EventGuesses::FreeList::add(uint64_t address) {
  addresses[end++ % kMax] = address;
  count = std::min(count + 1, kMax);
}

void EventGuesses::FreeList::remove(uint32_t place) {
  for (; place > 0; --place) from_end(place) = from_end(place - 1);
  --end;
  --count;
}

EventGuesses::EventGuesses(unsigned table_bits)
    : bits_(table_bits),
      block_mask_((1u << table_bits) - 1),
      three_sites_(2 * places(table_bits)),
      one_site_(2 * places(table_bits)),
      sites_(places(table_bits) / 2),
      sizes_(size_t{1} << kSizeBits),
      blocks_(places(table_bits)),
      numbers_(places(table_bits)),
      lists_(kFreeLists) {}

void EventGuesses::begin(uint32_t thread) {
  thread_number_ = thread;
  thread_ = &threads_[thread % kThreads];
  const auto& [last, second, third] = thread_->last_sites;
  after_three_ = &three_sites_[top_bits((last + std::rotl(second, 21) + std::rotl(third, 42)) * kMixer, bits_ + 1)];
  after_one_ = &one_site_[top_bits(last, bits_) * 2];
}

void EventGuesses::take_site(uint64_t site) {
  *after_three_ = site;
  if (after_one_[0] != site) {
    after_one_[1] = after_one_[0];
    after_one_[0] = site;
  }
  const uint64_t hash = mixed(site);
  auto& last = thread_->last_sites;
  last = {hash, last[0], last[1]};
  site_ = &sites_[top_bits(hash, bits_ - 1)];
  is_release_ = !allocates(static_cast<wire::RecordKind>(site >> 40));
  following_size_ = &sizes_[top_bits((hash + site_->size_bytes) * kMixer, kSizeBits)];
}

void EventGuesses::take_size(uint8_t way, uint64_t size_bytes) {
  *following_size_ = size_bytes;
  site_->size_bytes = size_bytes;
  site_->size_way = way;
  if (is_release_) return;
  chunk_bytes_ = chunk_bytes_of(size_bytes);
  list_ = &list_of(chunk_bytes_);
}

size_t EventGuesses::place_of_address(uint64_t address) const { return top_bits(address * kMixer, bits_); }

EventGuesses::BlockNumber EventGuesses::find(uint64_t address) const {
  const BlockNumber number = numbers_[place_of_address(address)];
  return is_kept(number) && block(number).address == address ? number : 0;
}

// Not stored at the site: a sender looks more often than a receiver.
EventGuesses::BlockNumber EventGuesses::newest_alive(const Site& site) const {
  constexpr unsigned kMaxSteps = 8;
  BlockNumber number = site.newest;
  for (unsigned step = 0; step < kMaxSteps && is_kept(number); ++step) {
    if (block(number).is_alive) return number;
    number = block(number).before;
  }
  return 0;
}

uint64_t EventGuesses::address_of(BlockNumber number) const {
  return is_kept(number) ? block(number).address : kNowhere;
}

// Free lists of small blocks are per thread.
EventGuesses::FreeList& EventGuesses::list_of(uint32_t chunk_bytes) {
  constexpr size_t kSmall = 48;  // classes of 16 bytes, each four times
  const uint32_t size_class = chunk_bytes / 16;
  if (size_class < kSmall) return lists_[size_class * 4 + thread_number_ % 4];
  return lists_[kSmall * 4 + size_class % (kFreeLists - kSmall * 4)];
}

uint64_t EventGuesses::address_guess(AddressWay way) const {
  switch (way) {
    case AddressWay::kFirst:
      if (is_release_) return address_of(newest_alive(sites_[site_->from]));
      return list_->count > 0 ? list_->from_end(0) : kNowhere;
    case AddressWay::kNext:
      return is_release_ ? address_of(site_->released + site_->step) : thread_->behind;
    case AddressWay::kLast:
      return is_release_ ? address_of(next_block_ - 1) : thread_->released;
    case AddressWay::kSame:
      return site_->address;
    default:
      return kNowhere;
  }
}

uint64_t EventGuesses::address_told(AddressWay way, uint64_t number) const {
  const uint64_t base = is_release_ ? site_->address : thread_->allocated;
  const auto distance = static_cast<uint64_t>(wire::unzigzag(number));
  switch (way) {
    case AddressWay::kPlace:
      if (is_release_)
        return number <= blocks_.size() ? address_of(next_block_ - static_cast<uint32_t>(number)) : kNowhere;
      return number < list_->count ? list_->from_end(static_cast<uint32_t>(number)) : kNowhere;
    case AddressWay::kNear:
      return (base + distance * kNearBytes) & wire::kCodeAddressMask;
    case AddressWay::kFar:
      return (base + distance) & wire::kCodeAddressMask;
    case AddressWay::kBlock:
      return is_release_ ? address_of(site_->released + static_cast<uint32_t>(distance)) : kNowhere;
    default:
      return kNowhere;
  }
}

EventGuesses::Told EventGuesses::tell(uint64_t address) const {
  constexpr uint32_t kShortAge = 128;  // one byte
  if (is_release_) {
    if (const BlockNumber number = find(address); number != 0) {
      if (next_block_ - number < kShortAge) return {AddressWay::kPlace, next_block_ - number};
      return {AddressWay::kBlock, wire::zigzag(static_cast<int32_t>(number - site_->released))};
    }
  } else if (const uint32_t place = list_->place_of(address); place < list_->count) {
    return {AddressWay::kPlace, place};
  }
  const auto distance = static_cast<int64_t>(address - (is_release_ ? site_->address : thread_->allocated));
  if (distance % static_cast<int64_t>(kNearBytes) != 0) return {AddressWay::kFar, wire::zigzag(distance)};
  return {AddressWay::kNear, wire::zigzag(distance / static_cast<int64_t>(kNearBytes))};
}

void EventGuesses::take_address(AddressWay way, uint64_t address) {
  site_->address_way = way;
  site_->address = address;
  is_release_ ? release(address) : allocate(address);
}

void EventGuesses::allocate(uint64_t address) {
  if (const uint32_t place = list_->place_of(address); place < list_->count) {
    list_->remove(place);
  } else {
    thread_->behind = address + chunk_bytes_;
  }
  thread_->allocated = address;
  if (next_block_ == 0) ++next_block_;  // after 4 Gi of them
  const BlockNumber number = next_block_++;
  block(number) = {.address = address,
                   .before = site_->newest,
                   .chunk_bytes = chunk_bytes_,
                   .site = static_cast<uint16_t>(site_ - sites_.data()),
                   .is_alive = true};
  numbers_[place_of_address(address)] = number;
  site_->newest = number;
}

void EventGuesses::release(uint64_t address) {
  thread_->released = address;
  const BlockNumber number = find(address);
  if (number == 0) return;
  Block& released = block(number);
  site_->step = number - site_->released;
  site_->released = number;
  site_->from = released.site;
  if (!released.is_alive) return;
  released.is_alive = false;
  BlockNumber& newest = sites_[released.site].newest;
  if (newest == number) newest = released.before;
  list_of(released.chunk_bytes).add(address);
}

}  // namespace heaptap::stream
