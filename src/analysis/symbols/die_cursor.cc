#include "analysis/symbols/die_cursor.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace heaptap::symbols {
namespace {

constexpr size_t kAbbreviationLimit = 1 << 20;
constexpr size_t kAttributeLimit = 512;
constexpr uint32_t kSmallCodes = 1 << 16;
constexpr uint32_t kDepthLimit = 4096;

// The section's bytes that contain `address`, as libdw has them in memory (decompressed).
std::span<const uint8_t> section_around(Elf* elf, const void* address) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr; section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr) continue;
    const std::string_view text(name);
    if (!text.starts_with(".debug_info") && !text.starts_with(".zdebug_info")) continue;
    const Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    const auto* begin = static_cast<const uint8_t*>(data->d_buf);
    const auto* wanted = static_cast<const uint8_t*>(address);
    if (wanted >= begin && wanted < begin + data->d_size) return {begin, data->d_size};
  }
  return {};
}

struct UnitBounds {
  Dwarf_Off begin = 0;
  Dwarf_Off end = 0;
};

// The unit whose own DIE is at `die_offset`: it begins with a header, whose size depends on version and kind.
std::optional<UnitBounds> bounds_of(Dwarf* dwarf, Dwarf_Die& die, Dwarf_Off die_offset) {
  const Dwarf_Off header_bytes = dwarf_cuoffset(&die);
  if (header_bytes == 0 || header_bytes > die_offset) return std::nullopt;
  const Dwarf_Off begin = die_offset - header_bytes;
  Dwarf_Off end = 0;
  size_t size = 0;
  if (dwarf_next_unit(dwarf, begin, &end, &size, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) != 0) {
    return std::nullopt;
  }
  return UnitBounds{.begin = begin, .end = end};
}

// Bytes of a form whose size depends only on the unit's header.
std::optional<uint32_t> fixed_size(uint32_t form, uint32_t address_bytes, uint32_t offset_bytes, uint32_t version) {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
      return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
      return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      return 8;
    case DW_FORM_data16:
      return 16;
    case DW_FORM_addr:
      return address_bytes;
    case DW_FORM_ref_addr:
      return version <= 2 ? address_bytes : offset_bytes;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      return offset_bytes;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<UnitBytes> UnitBytes::create(Dwarf_Die die) {
  Dwarf* dwarf = dwarf_cu_getdwarf(die.cu);
  if (dwarf == nullptr || die.addr == nullptr) return std::nullopt;
  UnitBytes unit;
  unit.die_offset_ = dwarf_dieoffset(&die);
  const auto bounds = bounds_of(dwarf, die, unit.die_offset_);
  const std::span<const uint8_t> section = section_around(dwarf_getelf(dwarf), die.addr);
  if (!bounds || unit.die_offset_ >= section.size()) return std::nullopt;
  if (section.data() + unit.die_offset_ != die.addr) return std::nullopt;  // another section than expected
  const uint64_t end = std::min<uint64_t>(bounds->end, section.size());
  if (end <= unit.die_offset_) return std::nullopt;
  unit.unit_offset_ = bounds->begin;
  unit.bytes_ = section.subspan(bounds->begin, end - bounds->begin);
  Dwarf_Half version = 0;
  uint8_t address_bytes = 0;
  uint8_t offset_bytes = 0;
  if (dwarf_cu_info(die.cu, &version, nullptr, nullptr, nullptr, nullptr, &address_bytes, &offset_bytes) != 0) {
    return std::nullopt;
  }
  unit.version_ = version;
  unit.address_bytes_ = address_bytes;
  unit.offset_bytes_ = offset_bytes;
  const char* ident = elf_getident(dwarf_getelf(dwarf), nullptr);
  const int native = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  unit.swapped_ = ident != nullptr && ident[EI_DATA] != native;
  if (!unit.read_abbreviations(die)) return std::nullopt;
  return unit;
}

bool UnitBytes::read_abbreviations(Dwarf_Die& die) {
  Dwarf_Off offset = 0;
  while (abbreviations_.size() < kAbbreviationLimit) {
    size_t length = 0;
    Dwarf_Abbrev* raw = dwarf_getabbrev(&die, offset, &length);
    if (raw == nullptr) return false;
    if (raw == DWARF_END_ABBREV) return true;
    offset += length;
    Abbreviation entry;
    entry.tag = dwarf_getabbrevtag(raw);
    entry.has_children = dwarf_abbrevhaschildren(raw) != 0;
    entry.is_fixed = true;
    // dwarf_getattrcnt counts too many if there is a DW_FORM_implicit_const; this stops at the end of the list.
    Abbreviation::Form each{};
    for (size_t i = 0; dwarf_getabbrevattr_data(raw, i, &each.attribute, &each.form, nullptr, nullptr) == 0; ++i) {
      if (i == kAttributeLimit) return false;
      entry.forms.push_back(each);
      entry.has_code |= each.attribute == DW_AT_low_pc || each.attribute == DW_AT_ranges;
      entry.has_name |= each.attribute == DW_AT_name;
      entry.has_linkage_name |= each.attribute == DW_AT_linkage_name || each.attribute == DW_AT_MIPS_linkage_name;
      entry.has_sibling |= each.attribute == DW_AT_sibling;
      const auto size = fixed_size(each.form, address_bytes_, offset_bytes_, version_);
      entry.is_fixed = entry.is_fixed && size.has_value();
      entry.fixed_bytes += size.value_or(0);
    }
    if (entry.has_sibling) entry.is_fixed = false;
    const uint32_t code = dwarf_getabbrevcode(raw);
    abbreviations_.push_back(std::move(entry));
    const auto number = static_cast<uint32_t>(abbreviations_.size());
    if (code >= kSmallCodes) {
      by_big_code_.emplace(code, number);
    } else {
      if (code >= by_code_.size()) by_code_.resize(code + 1);
      if (by_code_[code] == 0) by_code_[code] = number;
    }
  }
  return false;
}

bool UnitBytes::may_name_others() const {
  const auto leads_out = [](const Abbreviation::Form& each) {
    switch (each.form) {
      case DW_FORM_ref_addr:
      case DW_FORM_ref_sig8:
      case DW_FORM_ref_sup4:
      case DW_FORM_ref_sup8:
      case DW_FORM_GNU_ref_alt:
      case DW_FORM_indirect:
        return true;
      default:
        return false;
    }
  };
  return std::ranges::any_of(abbreviations_,
                             [&](const Abbreviation& entry) { return std::ranges::any_of(entry.forms, leads_out); });
}

DieCursor::DieCursor(const UnitBytes& unit, uint64_t offset) : unit_(unit) {
  const uint64_t size = unit.bytes_.size();
  position_ = offset >= unit.unit_offset_ ? std::min(offset - unit.unit_offset_, size) : size;
}

bool DieCursor::next() {
  if (started_ && open_ == 0) return false;
  while (true) {
    const uint64_t begin = position_;
    const auto code = read_leb128();
    if (!code) return false;
    if (*code == 0) {
      // The end of a list of children. Before the first DIE it would be padding.
      if (!started_ || --open_ == 0) return false;
      continue;
    }
    abbreviation_ = abbreviation_of(*code);
    if (abbreviation_ == nullptr) return false;
    offset_ = unit_.unit_offset_ + begin;
    depth_ = open_;
    started_ = true;
    sibling_ = 0;
    location_operation_ = 0;
    if (!skip_attributes()) return false;
    if (abbreviation_->has_children && ++open_ > kDepthLimit) return false;
    return true;
  }
}

void DieCursor::skip_children() {
  if (!abbreviation_->has_children || sibling_ <= position_ || sibling_ >= unit_.bytes_.size()) return;
  position_ = sibling_;
  --open_;
}

bool DieCursor::skip_attributes() {
  if (abbreviation_->is_fixed) return skip_bytes(abbreviation_->fixed_bytes);
  for (const Abbreviation::Form& each : abbreviation_->forms) {
    const bool skipped = each.attribute == DW_AT_sibling    ? read_sibling(each.form)
                         : each.attribute == DW_AT_location ? read_location(each.form)
                                                            : skip_form(each.form);
    if (!skipped) return false;
  }
  return true;
}

bool DieCursor::read_sibling(uint32_t form) {
  std::optional<uint64_t> value;
  switch (form) {
    case DW_FORM_ref1:
      value = read_unsigned(1);
      break;
    case DW_FORM_ref2:
      value = read_unsigned(2);
      break;
    case DW_FORM_ref4:
      value = read_unsigned(4);
      break;
    case DW_FORM_ref8:
      value = read_unsigned(8);
      break;
    case DW_FORM_ref_udata:
      value = read_leb128();
      break;
    default:
      return skip_form(form);
  }
  if (!value) return false;
  sibling_ = *value;
  return true;
}

bool DieCursor::read_location(uint32_t form) {
  if (form != DW_FORM_exprloc && form != DW_FORM_block1) return skip_form(form);
  const auto length = form == DW_FORM_exprloc ? read_leb128() : read_unsigned(1);
  if (!length) return false;
  if (*length > 0 && position_ < unit_.bytes_.size()) location_operation_ = unit_.bytes_[position_];
  return skip_bytes(*length);
}

bool DieCursor::skip_form(uint32_t form) {
  if (const auto size = fixed_size(form, unit_.address_bytes_, unit_.offset_bytes_, unit_.version_)) {
    return skip_bytes(*size);
  }
  switch (form) {
    case DW_FORM_string:
      return skip_string();
    case DW_FORM_block1:
      return skip_block(1);
    case DW_FORM_block2:
      return skip_block(2);
    case DW_FORM_block4:
      return skip_block(4);
    case DW_FORM_block:
    case DW_FORM_exprloc:
      return skip_block(0);
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
      return read_leb128().has_value();
    case DW_FORM_indirect: {
      const auto actual = read_leb128();
      if (!actual || *actual == DW_FORM_indirect || *actual > 0xffff) return false;
      return skip_form(static_cast<uint32_t>(*actual));
    }
    default:
      return false;
  }
}

bool DieCursor::skip_bytes(uint64_t count) {
  if (count > unit_.bytes_.size() - position_) return false;
  position_ += count;
  return true;
}

bool DieCursor::skip_string() {
  const auto rest = unit_.bytes_.subspan(position_);
  const void* end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
  if (end == nullptr) return false;
  position_ += static_cast<uint64_t>(static_cast<const uint8_t*>(end) - rest.data()) + 1;
  return true;
}

// `length_bytes` 0: the length is a LEB128.
bool DieCursor::skip_block(uint32_t length_bytes) {
  const auto length = length_bytes == 0 ? read_leb128() : read_unsigned(length_bytes);
  return length && skip_bytes(*length);
}

std::optional<uint64_t> DieCursor::read_unsigned(uint32_t byte_count) {
  if (byte_count > unit_.bytes_.size() - position_) return std::nullopt;
  const bool little = (std::endian::native == std::endian::little) != unit_.swapped_;
  uint64_t value = 0;
  for (uint32_t i = 0; i < byte_count; ++i) {
    const uint64_t byte = unit_.bytes_[position_ + (little ? byte_count - 1 - i : i)];
    value = value << 8 | byte;
  }
  position_ += byte_count;
  return value;
}

std::optional<uint64_t> DieCursor::read_leb128() {
  uint64_t value = 0;
  for (uint32_t shift = 0; position_ < unit_.bytes_.size(); shift += 7) {
    const uint8_t byte = unit_.bytes_[position_++];
    if (shift < 64) value |= uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

const Abbreviation* DieCursor::abbreviation_of(uint64_t code) const {
  uint32_t number = 0;
  if (code < unit_.by_code_.size()) {
    number = unit_.by_code_[code];
  } else if (auto found = unit_.by_big_code_.find(static_cast<uint32_t>(code)); found != unit_.by_big_code_.end()) {
    number = code > 0xffffffff ? 0 : found->second;
  }
  return number == 0 ? nullptr : &unit_.abbreviations_[number - 1];
}

}  // namespace heaptap::symbols
