#include "capture/inject/agent_image.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

namespace heaptap::inject {
namespace {

using testing::HasSubstr;

#ifdef HEAPTAP_INJECTED_AGENT

std::vector<uint8_t> file_bytes() {
  std::ifstream file(HEAPTAP_INJECTED_AGENT, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The built agent, after a change to one of its program headers.
template <typename Change>
std::string refusal_after(uint32_t type, const Change& change) {
  std::vector<uint8_t> bytes = file_bytes();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    uint8_t* const at = bytes.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    std::memcpy(&segment, at, sizeof(segment));
    if (segment.p_type != type) continue;
    change(segment);
    std::memcpy(at, &segment, sizeof(segment));
  }
  const auto image = AgentImage::create(bytes);
  return image ? "" : image.error().message;
}

TEST(AgentImage, OfTheBuiltAgentNeedsNoLoader) {
  const auto image = AgentImage::read(HEAPTAP_INJECTED_AGENT);
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_GT(image->data_offset(), 0u);
  EXPECT_GE(image->bytes(), image->contract_offset() + sizeof(wire::InjectedAgent));
  EXPECT_GE(image->contract_offset(), image->data_offset());
}

TEST(AgentImage, HasItsAddressesWhereItIsPlaced) {
  const auto image = AgentImage::read(HEAPTAP_INJECTED_AGENT);
  ASSERT_TRUE(image);
  constexpr uint64_t kPlace = 0x7f1234560000;
  const std::vector<uint8_t> placed = image->placed_at(kPlace);
  wire::InjectedAgent contract;
  ASSERT_GE(placed.size(), image->contract_offset() + sizeof(contract));
  std::memcpy(&contract, placed.data() + image->contract_offset(), sizeof(contract));
  const auto is_within = [&](const void* pointer, uint64_t begin, uint64_t end) {
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    return address >= kPlace + begin && address < kPlace + end;
  };
  EXPECT_TRUE(is_within(contract.hooks, 0, image->data_offset() - wire::kMaxInjectedFunctions * contract.hook_bytes));
  EXPECT_TRUE(is_within(contract.enter, 0, image->data_offset()));
  EXPECT_TRUE(is_within(contract.state, image->data_offset(), image->bytes()));
  EXPECT_TRUE(is_within(contract.threads, image->data_offset(), image->bytes()));
}

TEST(AgentImage, RefusesWhatNeedsMoreThanAPlace) {
  EXPECT_THAT(refusal_after(PT_GNU_STACK, [](Elf64_Phdr& segment) { segment.p_type = PT_TLS; }),
              HasSubstr("thread-local"));
  EXPECT_THAT(refusal_after(PT_LOAD, [](Elf64_Phdr& segment) { segment.p_flags = PF_R | PF_W | PF_X; }),
              HasSubstr("written"));
  EXPECT_THAT(refusal_after(PT_LOAD, [](Elf64_Phdr& segment) { segment.p_offset = ~uint64_t{0}; }),
              HasSubstr("cut off"));
  EXPECT_THAT(refusal_after(PT_LOAD, [](Elf64_Phdr& segment) { segment.p_vaddr = ~uint64_t{0}; }),
              HasSubstr("cut off"));
}

// (Behind what is loaded lies what debuggers read.)
TEST(AgentImage, RefusesFilesThatAreCutOff) {
  const std::vector<uint8_t> bytes = file_bytes();
  size_t loaded = 0;
  (void)refusal_after(PT_LOAD, [&loaded](const Elf64_Phdr& segment) { loaded = segment.p_offset + segment.p_filesz; });
  ASSERT_GT(loaded, 0u);
  for (size_t size = 0; size < loaded; size += 997)
    EXPECT_FALSE(AgentImage::create(std::span(bytes).first(size))) << size;
}

#endif

TEST(AgentImage, NamesAFileThatIsNone) {
  const auto image = AgentImage::create({});
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("ELF"));
  EXPECT_FALSE(AgentImage::read("/nonexistent"));
}

}  // namespace
}  // namespace heaptap::inject
