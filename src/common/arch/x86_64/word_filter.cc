#include "common/arch/x86_64/word_filter.h"

#include <immintrin.h>

namespace heaptap::arch::x86_64 {
namespace {

constexpr uint32_t kVectorWords = 4;
constexpr uint32_t kStepWords = 4 * kVectorWords;

// A bit for each of four words. Comparisons are signed: a word from 2^63 on is below any `begin`.
__attribute__((target("avx2"))) inline uint32_t select_vector(const uint64_t* words, __m256i before, __m256i end) {
  const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
  const __m256i inside = _mm256_and_si256(_mm256_cmpgt_epi64(value, before), _mm256_cmpgt_epi64(end, value));
  return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(inside)));
}

// A bit for each of eight short words: `value - begin` is at most `most`, unsigned.
__attribute__((target("avx2"))) inline uint32_t select_vector(const uint32_t* words, __m256i begin, __m256i most) {
  const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
  const __m256i distance = _mm256_sub_epi32(value, begin);
  const __m256i inside = _mm256_cmpeq_epi32(_mm256_min_epu32(distance, most), distance);
  return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(inside)));
}

}  // namespace

bool has_word_filter() { return __builtin_cpu_supports("avx2") != 0; }

__attribute__((target("avx2"))) size_t select_words(const uint64_t* words, uint32_t count, uint64_t begin, uint64_t end,
                                                    uint32_t* found) {
  const __m256i before_begin = _mm256_set1_epi64x(static_cast<int64_t>(begin) - 1);
  const __m256i vector_end = _mm256_set1_epi64x(static_cast<int64_t>(end));
  size_t size = 0;
  uint32_t at = 0;
  for (; at + kStepWords <= count; at += kStepWords) {
    uint32_t bits = select_vector(words + at, before_begin, vector_end);
    bits |= select_vector(words + at + 4, before_begin, vector_end) << 4;
    bits |= select_vector(words + at + 8, before_begin, vector_end) << 8;
    bits |= select_vector(words + at + 12, before_begin, vector_end) << 12;
    for (; bits != 0; bits &= bits - 1) found[size++] = at + static_cast<uint32_t>(__builtin_ctz(bits));
  }
  for (; at < count; ++at) {
    if (words[at] >= begin && words[at] < end) found[size++] = at;
  }
  return size;
}

__attribute__((target("avx2"))) size_t select_short_words(const uint32_t* words, uint32_t count, uint64_t begin,
                                                          uint64_t end, uint32_t* found) {
  constexpr uint32_t kStep = 32;
  const __m256i vector_begin = _mm256_set1_epi32(static_cast<int32_t>(begin));
  const __m256i most = _mm256_set1_epi32(static_cast<int32_t>(end - begin - 1));
  size_t size = 0;
  uint32_t at = 0;
  for (; at + kStep <= count; at += kStep) {
    uint32_t bits = select_vector(words + at, vector_begin, most);
    bits |= select_vector(words + at + 8, vector_begin, most) << 8;
    bits |= select_vector(words + at + 16, vector_begin, most) << 16;
    bits |= select_vector(words + at + 24, vector_begin, most) << 24;
    for (; bits != 0; bits &= bits - 1) found[size++] = at + static_cast<uint32_t>(__builtin_ctz(bits));
  }
  for (; at < count; ++at) {
    if (words[at] >= begin && words[at] < end) found[size++] = at;
  }
  return size;
}

}  // namespace heaptap::arch::x86_64
