// Predictor of the next event of a raw stream from earlier ones. Sender and receiver keep the same state, in fixed-size
// tables that depend only on the events and their order; correct predictions then need no byte in transit
// (raw_events.h). Table entries have no owner: two keys that share a place are predicted worse, equally on both sides.
//
//   site      kind, function and stack: the follower of the thread's last three sites; the two last followers of its last site
//   size      of the site's last event; the size that followed that size there
//   address   for an allocation: the end of the thread's free list of that size, as malloc would reuse it; the place after the last
//                 block that came from no list; the thread's last release; the site's last address
//             for a release: the newest live block of the site whose block was last released here; the same distance in allocation
//                 order from the block last released here as that had from the one before; the newest block; the site's last
//                 address
//
// The last several thousand allocated blocks are known, numbered in allocation order.
#pragma once
#include <array>
#include <cstdint>

#include "common/base/zeroed_array.h"
#include "common/wire/raw_event.h"

namespace heaptap::stream {

// Coding of an address, starting with the site's last method: the first four are predictions, the others need a number.
enum class AddressWay : uint8_t {
  kFirst = 0,  // end of the free list | block of the site that is released here
  kNext = 1,   // after the last one | same step as the last time
  kLast = 2,   // last released | last allocated
  kSame = 3,   // the site's last address
  kPlace = 4,  // distance from the end of the free list | number of allocations since
  kNear = 5,   // distance in 16-byte units from the thread's last allocation | from the site's last address
  kFar = 6,    // the same in bytes
  kBlock = 7,  // for releases: number of allocations after the block last released here
};
inline constexpr uint8_t kFirstToldWay = static_cast<uint8_t>(AddressWay::kPlace);
inline constexpr uint8_t kAddressWays = 8;

class EventGuesses {
 public:
  // Log2 of the tables' sizes, approximately. A receiver accepts only these bounds.
  static constexpr unsigned kLeastTableBits = 6;
  static constexpr unsigned kUsualTableBits = 13;  // 675 KiB in total
  static constexpr unsigned kMaxTableBits = 16;

  explicit EventGuesses(unsigned table_bits);

  // An event is added in steps: thread, site, size if it has one, address. Predictions of each are read before it is added.
  void begin(uint32_t thread);

  static constexpr unsigned kSiteGuesses = 3;
  // Site key of a call (wire::record_call) and a stack.
  static constexpr uint64_t make_site(uint32_t call, uint32_t stack) { return uint64_t{call} << 32 | stack; }
  [[nodiscard]] uint64_t site_guess(unsigned guess) const { return guess == 0 ? *after_three_ : after_one_[guess - 1]; }
  void take_site(uint64_t site);

  static constexpr unsigned kSizeGuesses = 2;
  [[nodiscard]] uint64_t size_guess(unsigned guess) const { return guess == 0 ? site_->size_bytes : *following_size_; }
  // The method that gave the site's last size.
  [[nodiscard]] uint8_t last_size_way() const { return site_->size_way; }
  void take_size(uint8_t way, uint64_t size_bytes);

  static constexpr uint64_t kNowhere = UINT64_MAX;  // no address, or not with this method
  [[nodiscard]] AddressWay last_address_way() const { return site_->address_way; }
  // Address by one of the predictions.
  [[nodiscard]] uint64_t address_guess(AddressWay way) const;
  // Address by a method with a number. A sender finds both for an address without a correct prediction.
  [[nodiscard]] uint64_t address_told(AddressWay way, uint64_t number) const;
  struct Told {
    AddressWay way;
    uint64_t number;
  };
  [[nodiscard]] Told tell(uint64_t address) const;
  void take_address(AddressWay way, uint64_t address);

 private:
  using BlockNumber = uint32_t;  // in allocation order, from 1; 0: none

  struct Site {
    uint64_t size_bytes = 0;
    uint64_t address = 0;
    BlockNumber newest = 0;    // newest block allocated here that may be alive
    BlockNumber released = 0;  // last block released here
    uint32_t step = 0;         // distance to that one from the one before
    uint16_t from = 0;         // the site of that block
    uint8_t size_way = 0;
    AddressWay address_way{};
  };
  struct Block {
    uint64_t address = 0;
    BlockNumber before = 0;  // of the same site
    uint32_t chunk_bytes = 0;
    uint16_t site = 0;
    bool is_alive = false;
  };
  // Free list of a size: blocks released by a thread, reused in reverse order.
  struct FreeList {
    static constexpr uint32_t kMax = 16;
    std::array<uint64_t, kMax> addresses{};
    uint32_t count = 0;
    uint32_t end = 0;  // after the last one
    uint64_t& from_end(uint32_t place) { return addresses[(end - 1 - place) % kMax]; }
    [[nodiscard]] const uint64_t& from_end(uint32_t place) const { return addresses[(end - 1 - place) % kMax]; }
    [[nodiscard]] uint32_t place_of(uint64_t address) const;
    void add(uint64_t address);
    void remove(uint32_t place);
  };
  struct Thread {
    std::array<uint64_t, 3> last_sites{};  // hashes, the latest first
    uint64_t allocated = 0;                // addresses
    uint64_t released = 0;
    uint64_t behind = 0;  // the last block that came from no list
  };
  static constexpr size_t kThreads = 16;  // further ones share these places
  static constexpr size_t kFreeLists = 256;
  static constexpr unsigned kSizeBits = 12;

  static constexpr size_t places(unsigned table_bits) { return size_t{1} << table_bits; }
  [[nodiscard]] size_t place_of_address(uint64_t address) const;
  [[nodiscard]] Block& block(BlockNumber number) { return blocks_[number & block_mask_]; }
  [[nodiscard]] const Block& block(BlockNumber number) const { return blocks_[number & block_mask_]; }
  [[nodiscard]] bool is_kept(BlockNumber number) const {
    return number != 0 && number < next_block_ && next_block_ - number <= blocks_.size();
  }
  [[nodiscard]] BlockNumber find(uint64_t address) const;
  [[nodiscard]] BlockNumber newest_alive(const Site& site) const;
  [[nodiscard]] uint64_t address_of(BlockNumber number) const;
  [[nodiscard]] FreeList& list_of(uint32_t chunk_bytes);
  void allocate(uint64_t address);
  void release(uint64_t address);

  const unsigned bits_;
  const uint32_t block_mask_;
  // Most processes are small, and there may be hundreds: untouched parts take no memory.
  base::ZeroedArray<uint64_t> three_sites_;  // by the last three: the next
  base::ZeroedArray<uint64_t> one_site_;     // by the last one: the last follower, and the one before
  base::ZeroedArray<Site> sites_;
  base::ZeroedArray<uint64_t> sizes_;       // by site and size: the next size
  base::ZeroedArray<Block> blocks_;         // by number, the newest ones
  base::ZeroedArray<BlockNumber> numbers_;  // by address
  base::ZeroedArray<FreeList> lists_;
  std::array<Thread, kThreads> threads_{};
  BlockNumber next_block_ = 1;

  // State of the current event.
  uint32_t thread_number_ = 0;
  Thread* thread_ = nullptr;
  uint64_t* after_three_ = nullptr;
  uint64_t* after_one_ = nullptr;
  Site* site_ = nullptr;
  uint64_t* following_size_ = nullptr;
  bool is_release_ = false;
  uint32_t chunk_bytes_ = 0;
  FreeList* list_ = nullptr;  // for the allocation's size
};

}  // namespace heaptap::stream
