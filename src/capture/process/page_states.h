// States of all pages of a process at one moment: what is there, and what hasn't been written since it was watched
// (write_watch.h).
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/base/address_range.h"

namespace heaptap::process {

// Pages that are in memory or swapped out.
struct PageRun {
  base::AddressRange range;
  bool is_present = false;  // in memory
  bool is_file = false;     // unmodified from the mapping's file, or shared
  bool is_zeros = false;    // of the kernel's page of zeros: untouched
  bool is_watched = false;  // of a mapping that is watched
  bool is_written = true;   // since it was watched; or it never was

  // The only proof that a page is what it was when its watch began: the kernel keeps the mark in the page's own entry,
  // which a write, a new page, another mapping or a moved one is without.
  [[nodiscard]] bool is_unchanged() const { return is_watched && !is_written; }
};

class PageStates {
 public:
  explicit PageStates(std::vector<PageRun> ascending) : runs_(std::move(ascending)) {}
  // Of the pages below `end`. `thread` is any live thread of the process. None: the kernel lacks the call (before 6.7).
  static std::optional<PageStates> read(pid_t thread, uint64_t end);

  // Ascending, disjoint. No other page was ever touched.
  [[nodiscard]] const std::vector<PageRun>& runs() const { return runs_; }
  // Those that end behind the address.
  [[nodiscard]] std::span<const PageRun> from(uint64_t address) const;
  // As PageMap::touched().
  void touched(base::AddressRange range, bool own_only, std::vector<base::AddressRange>& parts) const;
  // As PageMap::skip_untouched().
  [[nodiscard]] uint64_t skip_untouched(base::AddressRange range) const;
  // As PageMap::present().
  void present(base::AddressRange range, std::vector<base::AddressRange>& parts) const;

 private:
  template <typename Is>
  void append_if(base::AddressRange range, Is is, std::vector<base::AddressRange>& parts) const;

  std::vector<PageRun> runs_;
};

}  // namespace heaptap::process
