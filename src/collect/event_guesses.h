// What the next event of a raw stream says, as far as the events before it tell. Sender and receiver keep the same guesses, by tables
// of a fixed size that depend on nothing but the events and their order; what was guessed right is then no byte on the way
// (raw_events.h). No entry says whose it is: two that share a place guess wrong more often, on both sides alike.
//
//   site      kind, function and stack: what followed the thread's last three sites; what followed its last one, twice
//   size      of the site's last event; what followed that size there
//   address   of what is allocated: what a list of the thread's released blocks of that size ends with, as malloc keeps them; behind the
//                 block that came from no list last; what the thread released last; what the site had last
//             of what is released: the newest block that is alive of the site whose block was released here last; as far from the
//                 block that was released here last as that was from the one before, in order of allocation; the newest block; again
//                 what the site had last
//
// Of the blocks some thousands are known, those that were allocated last, by their numbers in that order.
#pragma once
#include <array>
#include <cstdint>

#include "base/zeroed_array.h"
#include "wire/raw_event.h"

namespace heaptap::collect {

// How an address is given, from a site's last way on: the first four are guesses, the others are told by a number.
enum class AddressWay : uint8_t {
  kFirst = 0,  // end of the list | block of the site that is released here
  kNext = 1,   // behind the last one | as far on as the last time
  kLast = 2,   // released last | allocated last
  kSame = 3,   // what the site had last
  kPlace = 4,  // so far from the end of the list | so many allocations ago
  kNear = 5,   // so many times 16 bytes behind what the thread allocated last | what the site had last
  kFar = 6,    // the same in bytes
  kBlock = 7,  // of releases: so many allocations behind the block that was released here last
};
inline constexpr uint8_t kFirstToldWay = static_cast<uint8_t>(AddressWay::kPlace);
inline constexpr uint8_t kAddressWays = 8;

class EventGuesses {
 public:
  // Places of a table: 2 to the power of this, about. A receiver takes none beyond these bounds.
  static constexpr unsigned kLeastTableBits = 6;
  static constexpr unsigned kUsualTableBits = 13;  // 675 KiB in all
  static constexpr unsigned kMaxTableBits = 16;

  explicit EventGuesses(unsigned table_bits);

  // An event is taken in these steps: whose, site, size where it has one, address. Guesses of each come before it is taken.
  void begin(uint32_t thread);

  static constexpr unsigned kSiteGuesses = 3;
  // Of the call (wire::record_call) and the stack.
  static constexpr uint64_t make_site(uint32_t call, uint32_t stack) { return uint64_t{call} << 32 | stack; }
  [[nodiscard]] uint64_t site_guess(unsigned guess) const { return guess == 0 ? *after_three_ : after_one_[guess - 1]; }
  void take_site(uint64_t site);

  static constexpr unsigned kSizeGuesses = 2;
  [[nodiscard]] uint64_t size_guess(unsigned guess) const { return guess == 0 ? site_->size_bytes : *following_size_; }
  // The way by which the site's last size came.
  [[nodiscard]] uint8_t last_size_way() const { return site_->size_way; }
  void take_size(uint8_t way, uint64_t size_bytes);

  static constexpr uint64_t kNowhere = UINT64_MAX;  // no address, or not by this way
  [[nodiscard]] AddressWay last_address_way() const { return site_->address_way; }
  // By one of the guesses.
  [[nodiscard]] uint64_t address_guess(AddressWay way) const;
  // By a way that is told, from the number. A sender finds way and number for an address that no guess has.
  [[nodiscard]] uint64_t address_told(AddressWay way, uint64_t number) const;
  struct Told {
    AddressWay way;
    uint64_t number;
  };
  [[nodiscard]] Told tell(uint64_t address) const;
  void take_address(AddressWay way, uint64_t address);

 private:
  using BlockNumber = uint32_t;  // in order of allocation, from 1 on; 0: none

  struct Site {
    uint64_t size_bytes = 0;
    uint64_t address = 0;
    BlockNumber newest = 0;    // that was allocated here, and may be alive
    BlockNumber released = 0;  // here, last
    uint32_t step = 0;         // to that one, from the one before
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
  // Blocks of a size that a thread released, the last one first to be allocated again.
  struct FreeList {
    static constexpr uint32_t kMax = 16;
    std::array<uint64_t, kMax> addresses{};
    uint32_t count = 0;
    uint32_t end = 0;  // behind the last one
    uint64_t& from_end(uint32_t place) { return addresses[(end - 1 - place) % kMax]; }
    [[nodiscard]] const uint64_t& from_end(uint32_t place) const { return addresses[(end - 1 - place) % kMax]; }
    [[nodiscard]] uint32_t place_of(uint64_t address) const;
    void add(uint64_t address);
    void remove(uint32_t place);
  };
  struct Thread {
    std::array<uint64_t, 3> last_sites{};  // hashes of them, the last one first
    uint64_t allocated = 0;                // addresses
    uint64_t released = 0;
    uint64_t behind = 0;  // the block that came from no list last
  };
  static constexpr size_t kThreads = 16;  // others share these places
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
  // Most processes are small, and may be hundreds: what of these isn't touched is no memory.
  base::ZeroedArray<uint64_t> three_sites_;  // by the last three: what followed
  base::ZeroedArray<uint64_t> one_site_;     // by the last one: what followed, and what did before that
  base::ZeroedArray<Site> sites_;
  base::ZeroedArray<uint64_t> sizes_;       // by site and size: the next one
  base::ZeroedArray<Block> blocks_;         // by number, the newest ones
  base::ZeroedArray<BlockNumber> numbers_;  // by address
  base::ZeroedArray<FreeList> lists_;
  std::array<Thread, kThreads> threads_{};
  BlockNumber next_block_ = 1;

  // Of the event at work.
  uint32_t thread_number_ = 0;
  Thread* thread_ = nullptr;
  uint64_t* after_three_ = nullptr;
  uint64_t* after_one_ = nullptr;
  Site* site_ = nullptr;
  uint64_t* following_size_ = nullptr;
  bool is_release_ = false;
  uint32_t chunk_bytes_ = 0;
  FreeList* list_ = nullptr;  // of what is allocated
};

}  // namespace heaptap::collect
