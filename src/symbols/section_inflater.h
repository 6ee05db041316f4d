// A compressed section of an ELF file, inflated to its place from the beginning on, as far as was asked for. Private to symbols/.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

namespace heaptap::symbols {

class SectionInflater {
 public:
  // `type`: ELFCOMPRESS_ZLIB or kZstd; of others nothing comes. What it reads and where it writes outlives it.
  SectionInflater(uint32_t type, std::span<const uint8_t> from, std::span<uint8_t> to);
  ~SectionInflater();
  SectionInflater(SectionInflater&&) = delete;
  SectionInflater& operator=(SectionInflater&&) = delete;

  static constexpr uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD, which C libraries have since 2022
  static bool knows(uint32_t type);

  // False: there are not so many.
  bool inflate_to(uint64_t end);
  // Another stretch. False: that was all.
  bool inflate_more();

 private:
  class Stream;
  class ZlibStream;
  class ZstdStream;

  std::unique_ptr<Stream> stream_;  // null: there is nothing more to be had
  std::span<uint8_t> to_;
  uint64_t done_ = 0;
};

}  // namespace heaptap::symbols
