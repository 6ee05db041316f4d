#include "record/trace/site_coder.h"

#include <algorithm>

namespace heaptap::trace {

void SiteEncoder::begin() {
  model_.reset();
  ranks.clear();
  fresh.clear();
  misses_.clear();
  zeros_ = 0;
  previous_fresh_ = 0;
}

SiteModel::LocalSite SiteEncoder::add(model::SiteId site) {
  fresh.signed_varint(static_cast<int64_t>(site) - static_cast<int64_t>(previous_fresh_));
  previous_fresh_ = site;
  return model_.add();
}

void SiteEncoder::put_other(SiteModel::LocalSite site, bool is_new) {
  const uint8_t rank = model_.rank(site);
  ranks.varint(zeros_ << 2 | (rank - 1u));
  zeros_ = 0;
  if (rank == SiteModel::kMiss) misses_.push_back(is_new ? 0 : site);
  model_.advance(site, rank);
}

void SiteEncoder::end() {
  misses.clear();
  uint32_t largest = 0;
  for (const uint32_t miss : misses_) largest = std::max(largest, miss);
  std::vector<uint8_t> plane(misses_.size());
  for (unsigned shift = 0; shift == 0 || (shift < 32 && largest >> shift != 0); shift += 8) {
    for (size_t i = 0; i < misses_.size(); ++i) plane[i] = static_cast<uint8_t>(misses_[i] >> shift);
    misses.bytes(plane.data(), plane.size());
  }
}

bool SiteDecoder::begin(size_t site_count, size_t event_count, const std::vector<uint8_t>& ranks,
                        const std::vector<uint8_t>& misses, const std::vector<uint8_t>& fresh) {
  model_.reset();
  for (const model::SiteId site : sites_) local_[site] = 0;
  if (local_.size() < site_count) local_.resize(std::max(site_count, 2 * local_.size()));
  sites_.assign(1, 0);
  site_count_ = site_count;
  misses_ = misses.data();
  miss_count_ = 0;
  ranks_ = wire::VarintReader(ranks.data(), ranks.size());
  const bool sound = count_misses(ranks_, event_count);
  read_rank();
  miss_planes_ = miss_count_ > 0 ? misses.size() / miss_count_ : 0;
  miss_ = 0;
  fresh_ = wire::VarintReader(fresh.data(), fresh.size());
  previous_fresh_ = 0;
  return sound && miss_planes_ <= 4 && misses.size() == miss_planes_ * miss_count_ &&
         (miss_count_ == 0 || miss_planes_ > 0);
}

bool SiteDecoder::count_misses(wire::VarintReader ranks, size_t event_count) {
  size_t events = 0;
  while (!ranks.at_end()) {
    const uint64_t coded = ranks.varint();
    if (!ranks.ok() || coded >> 2 >= event_count - events) return false;
    events += (coded >> 2) + 1;
    miss_count_ += (coded & 3) + 1 == SiteModel::kMiss ? 1 : 0;
  }
  return true;
}

void SiteDecoder::read_rank() {
  if (ranks_.at_end()) {
    zeros_ = UINT64_MAX;  // the rest
    return;
  }
  const uint64_t coded = ranks_.varint();
  zeros_ = coded >> 2;
  next_rank_ = static_cast<uint8_t>((coded & 3) + 1);
}

bool SiteDecoder::next_miss(SiteModel::LocalSite& local) {
  for (size_t plane = 0; plane < miss_planes_; ++plane) {
    local |= uint32_t{misses_[plane * miss_count_ + miss_]} << (8 * plane);
  }
  ++miss_;
  if (local != 0) return local < model_.count();
  const int64_t site = fresh_.signed_varint() + static_cast<int64_t>(previous_fresh_);
  if (!fresh_.ok() || site < 0 || site >= static_cast<int64_t>(site_count_)) return false;
  previous_fresh_ = static_cast<model::SiteId>(site);
  if (local_[previous_fresh_] != 0) return false;
  local = local_[previous_fresh_] = model_.add();
  sites_.push_back(previous_fresh_);
  return true;
}

}  // namespace heaptap::trace
