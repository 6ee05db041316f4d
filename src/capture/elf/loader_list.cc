#include "capture/elf/loader_list.h"

#include <elf.h>

#include <array>
#include <utility>

namespace heaptap::elf {
namespace {

constexpr size_t kMaxObjects = 16384;
constexpr size_t kMaxNameBytes = 4096;

// Words of the target at one address. Empty: unreadable.
template <size_t count>
std::optional<std::array<uint64_t, count>> read_words(const base::ByteSource& memory, ElfForm form, uint64_t at) {
  std::array<uint8_t, count * 8> raw{};
  const size_t bytes = count * form.word_bytes;
  if (memory.read_some(at, raw.data(), bytes) != bytes) return std::nullopt;
  std::array<uint64_t, count> words;
  for (size_t i = 0; i < count; ++i) words[i] = form.number(&raw[i * form.word_bytes], form.word_bytes);
  return words;
}

struct ListHead {
  uint64_t first;
  uint64_t change_notice;
  bool is_consistent;
};

// struct r_debug { int r_version; struct link_map* r_map; ElfW(Addr) r_brk; enum r_state; … }
std::optional<ListHead> read_head(const base::ByteSource& memory, ElfForm form, uint64_t list) {
  const auto words = list == 0 ? std::nullopt : read_words<4>(memory, form, list);
  if (!words) return std::nullopt;
  // int and enum have 4 bytes: on a big-endian machine the upper half of the word.
  const auto small = [&](uint64_t word) {
    return form.word_bytes == 8 && form.is_big_endian ? word >> 32 : word & UINT32_MAX;
  };
  const auto [version, first, notice, state] = *words;
  constexpr uint64_t kConsistent = 0;  // RT_CONSISTENT
  if (small(version) == 0 || first == 0) return std::nullopt;
  return ListHead{first, notice, small(state) == kConsistent};
}

// Calls take(object, address of its name) for each entry, up to a limit: the program may have made the list a ring.
// struct link_map { ElfW(Addr) l_addr; char* l_name; ElfW(Dyn)* l_ld; struct link_map *l_next, *l_prev; }
template <typename Take>
void walk(const base::ByteSource& memory, ElfForm form, uint64_t first, const Take& take) {
  uint64_t at = first;
  for (size_t count = 0; at != 0 && count < kMaxObjects; ++count) {
    const auto entry = read_words<4>(memory, form, at);
    if (!entry) break;
    const auto [bias, name, dynamic, next] = *entry;
    take(ListedObject{.link_map = at, .bias = bias, .dynamic = dynamic, .name = {}}, name);
    at = next;
  }
}

}  // namespace

AuxiliaryVector parse_auxiliary_vector(std::string_view bytes, ElfForm form) {
  AuxiliaryVector vector;
  const auto* raw = reinterpret_cast<const uint8_t*>(bytes.data());
  for (size_t at = 0; at + 2 * size_t{form.word_bytes} <= bytes.size(); at += 2 * size_t{form.word_bytes}) {
    const uint64_t value = form.number(raw + at + form.word_bytes, form.word_bytes);
    switch (form.number(raw + at, form.word_bytes)) {
      case AT_NULL:
        return vector;
      case AT_PHDR:
        vector.program_headers = value;
        break;
      case AT_ENTRY:
        vector.entry = value;
        break;
      case AT_BASE:
        vector.loader = value;
        break;
      case AT_EXECFN:
        vector.executed_path = value;
        break;
      default:
        break;
    }
  }
  return vector;
}

std::optional<LoaderList> read_loader_state(const base::ByteSource& memory, ElfForm form, uint64_t list) {
  const auto head = read_head(memory, form, list);
  if (!head) return std::nullopt;
  return LoaderList{.change_notice = head->change_notice, .is_consistent = head->is_consistent, .objects = {}};
}

std::vector<ListedObject> read_unnamed_objects(const base::ByteSource& memory, ElfForm form, uint64_t list) {
  const auto head = read_head(memory, form, list);
  std::vector<ListedObject> objects;
  if (head) {
    walk(memory, form, head->first,
         [&](ListedObject object, uint64_t /*name*/) { objects.push_back(std::move(object)); });
  }
  return objects;
}

std::optional<LoaderList> read_loader_list(const base::ByteSource& memory, ElfForm form, uint64_t list) {
  const auto head = read_head(memory, form, list);
  if (!head) return std::nullopt;
  LoaderList result{.change_notice = head->change_notice, .is_consistent = head->is_consistent, .objects = {}};
  walk(memory, form, head->first, [&](ListedObject object, uint64_t name) {
    object.name = read_text(memory, name, kMaxNameBytes);
    result.objects.push_back(std::move(object));
  });
  return result;
}

}  // namespace heaptap::elf
