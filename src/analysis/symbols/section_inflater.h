// Incremental inflater of a compressed ELF section into its final place, from the start up to a requested end. Private to symbols/.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

namespace heaptap::symbols {

class SectionInflater {
 public:
  // `type`: ELFCOMPRESS_ZLIB or kZstd; other types yield nothing. Both spans must outlive this.
  SectionInflater(uint32_t type, std::span<const uint8_t> from, std::span<uint8_t> to);
  ~SectionInflater();
  SectionInflater(SectionInflater&&) = delete;
  SectionInflater& operator=(SectionInflater&&) = delete;

  static constexpr uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD, in C libraries since 2022
  static bool knows(uint32_t type);

  // False: the section has fewer bytes.
  bool inflate_to(uint64_t end);
  // Inflates another chunk. False: all is inflated.
  bool inflate_more();

 private:
  class Stream;
  class ZlibStream;
  class ZstdStream;

  std::unique_ptr<Stream> stream_;  // null: nothing more to inflate
  std::span<uint8_t> to_;
  uint64_t done_ = 0;
};

}  // namespace heaptap::symbols
