// Images in this process's own memory.
#include "capture/elf/mapped_image.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "capture/process/process_memory.h"
#include "common/base/pages.h"
#include "common/base/unique_fd.h"

namespace heaptap::elf {
namespace {

struct OwnLibrary {
  std::string path;
  uint64_t bias = 0;
  uint64_t segments = 0;
};

int find_c_library(dl_phdr_info* object, size_t, void* context) {
  if (std::string_view(object->dlpi_name).find("libc.so") == std::string_view::npos) return 0;
  *static_cast<OwnLibrary*>(context) = {object->dlpi_name, object->dlpi_addr, object->dlpi_phnum};
  return 1;
}

class MappedImageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dl_iterate_phdr(find_c_library, &library_);
    if (library_.path.empty()) GTEST_SKIP() << "no C library of its own here";
  }

  OwnLibrary library_;
};

TEST_F(MappedImageTest, IsWhereItsLoaderPutIt) {
  const process::ProcessMemory memory(getpid());
  const auto first = std::ranges::find_if(memory.map(), [this](const process::Mapping& mapping) {
    return mapping.name.ends_with("/libc.so.6") && may_begin_image(mapping);
  });
  ASSERT_NE(first, memory.map().end());
  const auto image = read_mapped_image(memory, *first);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->bias, library_.bias);
  EXPECT_EQ(image->headers.segments().size(), library_.segments);
  for (const ElfSegment& segment : image->segments) {
    if (segment.type != PT_LOAD) continue;
    const process::Mapping* mapping = process::find_mapping(memory.map(), image->range_of(segment).begin);
    ASSERT_NE(mapping, nullptr);
    EXPECT_TRUE(image->is_mapped_by(*mapping, segment));
  }
}

TEST_F(MappedImageTest, AFileThatIsOnlyReadHasSegmentsElsewhere) {
  const base::UniqueFd file(open(library_.path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  ASSERT_EQ(fstat(file.get(), &status), 0);
  const auto bytes = static_cast<size_t>(status.st_size);
  void* const content = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  ASSERT_NE(content, MAP_FAILED);
  const process::ProcessMemory memory(getpid());
  const process::Mapping* first = process::find_mapping(memory.map(), reinterpret_cast<uint64_t>(content));
  ASSERT_NE(first, nullptr);
  const auto image = read_mapped_image(memory, *first);
  ASSERT_TRUE(image);
  const auto data = std::ranges::find_if(image->segments, [](const ElfSegment& segment) {
    return segment.type == PT_LOAD && base::page_begin(segment.address) != base::page_begin(segment.offset);
  });
  if (data == image->segments.end()) GTEST_SKIP() << "each segment has its place in the file as its address";
  const process::Mapping* mapping = process::find_mapping(memory.map(), image->range_of(*data).begin);
  EXPECT_TRUE(mapping == nullptr || !image->is_mapped_by(*mapping, *data));
  munmap(content, bytes);
}

TEST_F(MappedImageTest, MemoryWithoutAHeaderIsNone) {
  const process::ProcessMemory memory(getpid());
  const process::Mapping* stack = process::find_mapping(memory.map(), reinterpret_cast<uint64_t>(&memory));
  ASSERT_NE(stack, nullptr);
  EXPECT_FALSE(may_begin_image(*stack));
  EXPECT_FALSE(read_mapped_image(memory, *stack));
}

}  // namespace
}  // namespace heaptap::elf
