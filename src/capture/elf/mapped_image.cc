#include "capture/elf/mapped_image.h"

#include <elf.h>

#include <algorithm>
#include <utility>

#include "common/base/pages.h"

namespace heaptap::elf {
namespace {

constexpr uint64_t kMaxSegmentBytes = uint64_t{1} << 46;  // of one segment; more is invalid

bool fits(const ElfSegment& segment, uint64_t begin, unsigned word_bytes) {
  const uint64_t highest = word_bytes == sizeof(uint64_t) ? UINT64_MAX : UINT32_MAX;
  return segment.memory_bytes != 0 && segment.memory_bytes <= kMaxSegmentBytes && begin <= highest &&
         segment.memory_bytes <= highest - begin;
}

}  // namespace

base::AddressRange MappedImage::range_of(const ElfSegment& segment) const {
  const uint64_t begin = bias + segment.address;
  return {begin, begin + segment.memory_bytes};
}

bool MappedImage::is_mapped_by(const process::Mapping& mapping, const ElfSegment& segment) const {
  if (!first.has_file()) return !mapping.has_file() && mapping.name == first.name;
  const uint64_t offset = mapping.offset + (base::page_begin(range_of(segment).begin) - mapping.range.begin);
  return mapping.inode == first.inode && mapping.device == first.device && offset == base::page_begin(segment.offset);
}

bool may_begin_image(const process::Mapping& mapping) {
  return mapping.offset == 0 && !mapping.shared && (mapping.has_file() || mapping.is_kernels("[vdso]")) &&
         !mapping.name.starts_with("/dev/");
}

std::optional<MappedImage> read_mapped_image(const base::ByteSource& memory, const process::Mapping& first) {
  auto headers = ElfHeaders::read(memory, first.range.begin);
  if (!headers) return std::nullopt;
  MappedImage image{.first = first, .headers = *std::move(headers)};
  const std::vector<ElfSegment>& segments = image.headers.segments();
  const auto at_start = std::ranges::find_if(segments, [](const ElfSegment& segment) {
    return segment.type == PT_LOAD && base::page_begin(segment.offset) == 0;
  });
  if (at_start == segments.end()) return std::nullopt;
  image.bias = first.range.begin - base::page_begin(at_start->address);
  for (const ElfSegment& segment : segments) {
    if (fits(segment, image.bias + segment.address, image.headers.form().word_bytes)) image.segments.push_back(segment);
  }
  return image;
}

}  // namespace heaptap::elf
