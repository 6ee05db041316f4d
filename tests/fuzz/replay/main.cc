// Runs a fuzz target over the files below the given directory, without a fuzzer: so the seeds, one for each bug found, are
// an ordinary test. Arguments: the target's name, the directory.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// Each target, by the name that cmake/fuzz.cmake gives it.
#define TARGET(name) extern "C" int fuzz_##name(const uint8_t* bytes, size_t size_bytes);
#include "fuzz_targets.def"
#undef TARGET

namespace {

struct Target {
  std::string_view name;
  int (*run)(const uint8_t* bytes, size_t size_bytes);
};

constexpr Target kTargets[] = {
#define TARGET(name) {#name, fuzz_##name},
#include "fuzz_targets.def"
#undef TARGET
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto* const target = std::ranges::find(kTargets, std::string_view(argv[1]), &Target::name);
  if (target == std::end(kTargets)) return 2;
  std::vector<std::filesystem::path> seeds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[2])) {
    if (entry.is_regular_file()) seeds.push_back(entry.path());
  }
  std::ranges::sort(seeds);
  for (const auto& seed : seeds) {
    std::printf("%s\n", seed.c_str());
    std::fflush(stdout);
    std::ifstream file(seed, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    target->run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu seeds\n", seeds.size());
  return seeds.empty() ? 1 : 0;
}
