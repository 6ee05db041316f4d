#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "analysis/findings/words.h"
#include "analysis/symbols/range_map.h"
#include "analysis/symbols/resolver.h"
#include "analysis/symbols/unpacked_debug_file.h"

namespace heaptap::symbols {
namespace {

namespace fs = std::filesystem;
const fs::path kFixtures = SYMBOLS_FIXTURE_DIR;

using Places = std::map<std::string, uint64_t>;  // return addresses by the name of the place
Places* collected = nullptr;

__attribute__((noinline)) void collect(const char* place) {
  (*collected)[place] = reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

std::string fixture_build_id() {
  const std::string hex = SYMBOLS_FIXTURE_ID;
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

// A fixture that was loaded and run, as a trace would tell about it.
struct LoadedFixture {
  Places places;
  model::Tables tables;

  static LoadedFixture load(const std::string& name) {
    LoadedFixture fixture;
    const std::string path = kFixtures / name;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      ADD_FAILURE() << dlerror();
      return fixture;
    }
    auto run = reinterpret_cast<void (*)(void (*)(const char*))>(dlsym(handle, "symbols_fixture_run"));
    collected = &fixture.places;
    run(collect);
    struct link_map* map = nullptr;
    dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map));
    const uint64_t bias = map->l_addr;
    fixture.tables.modules.push_back({.path = path,
                                      .build_id = fixture_build_id(),
                                      .bias = bias,
                                      .start = bias,
                                      .end = bias + 0x100000,
                                      .generation = 0,
                                      .flags = 0});
    return fixture;  // the library stays loaded
  }

  model::Module& module() { return tables.modules.front(); }

  std::vector<model::Frame> resolve(Resolver& resolver, const std::string& place) const {
    return resolver.resolve(tables, {.address = places.at(place), .generation = 0, .exact = false});
  }
};

uint32_t line_of(const std::string& mark) {
  std::ifstream source(SYMBOLS_FIXTURE_SOURCE);
  std::string text;
  for (uint32_t line = 1; std::getline(source, text); ++line) {
    if (text.ends_with("// at: " + mark)) return line;
  }
  ADD_FAILURE() << "no line is marked " << mark;
  return 0;
}

constexpr char kInnermost[] = "outer::Counter::innermost(void (*)(char const*))";
constexpr char kMiddle[] = "outer::middle(void (*)(char const*))";
constexpr char kReal[] = "outer::real_function(void (*)(char const*))";
constexpr char kCold[] = "outer::partly_cold(void (*)(char const*), int)";
constexpr char kHidden[] = "(anonymous namespace)::hidden_function(void (*)(char const*))";

// Every state in which the file has DWARF of its own.
class FullFixture : public testing::TestWithParam<const char*> {
 public:
  void SetUp() override {
    if (!fs::exists(kFixtures / GetParam())) GTEST_SKIP() << "not built: its compiler is missing";
    fixture = LoadedFixture::load(GetParam());
  }
  LoadedFixture fixture;
  Resolver resolver{ResolverOptions{}};
};

TEST_P(FullFixture, FilesThatAreOpenedAheadGiveTheSameFrames) {
  Resolver ahead{ResolverOptions{}};
  ahead.open_ahead(fixture.tables.modules, true);
  ahead.open_ahead({}, false);  // what is under way goes on
  for (const auto& [place, address] : fixture.places) {
    const auto expected = fixture.resolve(resolver, place);
    const auto frames = fixture.resolve(ahead, place);
    ASSERT_EQ(frames.size(), expected.size());
    EXPECT_EQ(frames[0].function, expected[0].function);
    EXPECT_EQ(frames[0].line, expected[0].line);
  }
}

TEST_P(FullFixture, InlinedFramesComeInnermostFirstWithTheirCallers) {
  const auto frames = fixture.resolve(resolver, "inlined");
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].function, kInnermost);
  EXPECT_EQ(frames[1].function, kMiddle);
  EXPECT_EQ(frames[2].function, kReal);
  EXPECT_EQ(frames[0].line, line_of("innermost"));
  EXPECT_EQ(frames[1].line, line_of("middle"));
  EXPECT_EQ(frames[2].line, line_of("real_function"));
  EXPECT_TRUE(frames[0].inlined);
  EXPECT_TRUE(frames[1].inlined);
  EXPECT_FALSE(frames[2].inlined);
}

TEST_P(FullFixture, FramesTellModuleAndAddresses) {
  const uint64_t address = fixture.places.at("inlined");
  for (const model::Frame& frame : fixture.resolve(resolver, "inlined")) {
    EXPECT_EQ(frame.module, fixture.module().path);
    EXPECT_EQ(frame.address, address);
    EXPECT_EQ(frame.offset, address - fixture.module().bias);
    EXPECT_EQ(frame.file, SYMBOLS_FIXTURE_SOURCE);
  }
}

TEST_P(FullFixture, AColdPartIsReportedAsItsFunction) {
  const auto frames = fixture.resolve(resolver, "cold");
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, kCold);
  EXPECT_EQ(frames[0].line, line_of("partly_cold"));
}

TEST_P(FullFixture, FunctionsLocalToAFileHaveTheirFullNames) {
  const auto frames = fixture.resolve(resolver, "hidden");
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, kHidden);
  EXPECT_EQ(frames[0].line, line_of("hidden_function"));
}

// Compilers name the function's name or the parenthesis behind it.
TEST_P(FullFixture, FramesHaveTheColumnsOfTheirCalls) {
  const auto frames = fixture.resolve(resolver, "inlined");
  ASSERT_GE(frames.size(), 3U);
  const auto call_of = [](const std::string& mark, const std::string& call) {
    std::ifstream source(SYMBOLS_FIXTURE_SOURCE);
    std::string text;
    for (uint32_t line = line_of(mark); line > 0 && std::getline(source, text);) --line;
    return static_cast<uint32_t>(text.find(call));
  };
  const std::vector<std::pair<std::string, std::string>> expected{
      {"innermost", "probe("}, {"middle", "counter.innermost("}, {"real_function", "middle("}};
  for (size_t place = 0; place < expected.size(); ++place) {
    const auto& [mark, call] = expected[place];
    const uint32_t begin = call_of(mark, call);
    EXPECT_GT(frames[place].column, begin) << mark;
    EXPECT_LE(frames[place].column, begin + call.size()) << mark;
  }
}

TEST_P(FullFixture, InlinedFunctionsLocalToAFileHaveTheirNamespace) {
  const auto frames = fixture.resolve(resolver, "hidden inlined");
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_TRUE(frames[0].function.starts_with("(anonymous namespace)::hidden_inlined")) << frames[0].function;
  EXPECT_EQ(frames[1].function, "symbols_fixture_run");
  EXPECT_EQ(frames[1].line, line_of("run"));
}

TEST_P(FullFixture, GivesNoHints) {
  fixture.resolve(resolver, "inlined");
  EXPECT_TRUE(resolver.hints(10).empty());
}

INSTANTIATE_TEST_SUITE_P(Symbols, FullFixture,
                         testing::Values("full.so", "dwarf4.so", "lto.so", "compressed.so", "zstd.so", "clang.so"),
                         [](const auto& instance) { return fs::path(instance.param).stem().string(); });

// The unoptimised library has the same frames, but always_inline functions only.
TEST(Resolver, UnoptimisedCodeHasForcedInlinesToo) {
  const auto fixture = LoadedFixture::load("unoptimised.so");
  Resolver resolver{ResolverOptions{}};
  ASSERT_EQ(fixture.resolve(resolver, "inlined").size(), 3U);
  EXPECT_EQ(fixture.resolve(resolver, "cold").front().line, line_of("partly_cold"));
}

TEST(Resolver, FindsADebugFileByItsLink) {
  auto fixture = LoadedFixture::load("linked.so");
  fixture.module().build_id.clear();
  Resolver resolver{ResolverOptions{}};
  const auto frames = fixture.resolve(resolver, "inlined");
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].line, line_of("innermost"));
}

TEST(Resolver, RefusesALinkedDebugFileWithAnotherChecksum) {
  const fs::path directory = fs::path(testing::TempDir()) / ("symbols_crc." + std::to_string(getpid()));
  fs::create_directories(directory);
  fs::copy_file(kFixtures / "linked.so", directory / "linked.so");
  fs::copy_file(kFixtures / "linked.debug", directory / "linked.debug");
  std::ofstream(directory / "linked.debug", std::ios::app) << "changed";
  auto fixture = LoadedFixture::load("linked.so");
  fixture.module().build_id.clear();
  fixture.module().path = directory / "linked.so";
  Resolver resolver{ResolverOptions{}};
  EXPECT_EQ(fixture.resolve(resolver, "inlined").front().line, 0U);
  fs::remove_all(directory);
}

TEST(Resolver, FindsADebugFileByBuildIdBelowASymbolsDirectory) {
  const auto fixture = LoadedFixture::load("stripped.so");
  Resolver resolver{ResolverOptions{.symbol_directories = {kFixtures / "tree"}, .sysroots = {}}};
  const auto frames = fixture.resolve(resolver, "inlined");
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[2].function, kReal);
  EXPECT_EQ(frames[2].line, line_of("real_function"));
}

class CompressedFile : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Symbols, CompressedFile, testing::Values("packed", "packed_by_zstd"));

TEST_P(CompressedFile, SaysTheSame) {
  if (!fs::exists(kFixtures / GetParam())) GTEST_SKIP() << "not built: objcopy doesn't know zstd";
  const auto fixture = LoadedFixture::load("stripped.so");
  Resolver plain{ResolverOptions{.symbol_directories = {kFixtures / "tree"}, .sysroots = {}}};
  Resolver packed{ResolverOptions{.symbol_directories = {kFixtures / GetParam()}, .sysroots = {}}};
  for (const auto& [place, address] : fixture.places) {
    const auto expected = fixture.resolve(plain, place);
    const auto frames = fixture.resolve(packed, place);
    ASSERT_EQ(frames.size(), expected.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(frames[i].function, expected[i].function);
      EXPECT_EQ(frames[i].file, expected[i].file);
      EXPECT_EQ(frames[i].line, expected[i].line);
    }
  }
  EXPECT_GT(fixture.resolve(packed, "inlined").front().line, 0U);
}

const fs::path kPackedFile = kFixtures / "packed/.build-id/" / std::string(SYMBOLS_FIXTURE_ID).substr(0, 2) /
                             (std::string(SYMBOLS_FIXTURE_ID).substr(2) + ".debug");

TEST(UnpackedDebugFile, HasUnitsAsFarAsThereAreSome) {
  const int descriptor = open(kPackedFile.c_str(), O_RDONLY | O_CLOEXEC);
  const auto file = UnpackedDebugFile::create(descriptor);
  close(descriptor);
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(file->address_ranges().empty());
  EXPECT_TRUE(file->need_unit(0));
  EXPECT_FALSE(file->need_unit(1 << 20));
  EXPECT_TRUE(file->need_lines(0));
  EXPECT_FALSE(file->need_lines(~uint64_t{0}));
}

TEST(UnpackedDebugFile, IsNotMadeOfWhatIsNotCompressed) {
  const int descriptor = open((kFixtures / "linked.debug").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(UnpackedDebugFile::create(descriptor), nullptr);
  close(descriptor);
}

TEST(UnpackedDebugFile, IsMadeOfAWholeFileWhereThatIsNeeded) {
  if (!fs::exists(kFixtures / "zstd.so")) GTEST_SKIP() << "not built: objcopy doesn't know zstd";
  for (const auto& [name, is_needed] : {std::pair("zstd.so", true), std::pair("compressed.so", false)}) {
    const int descriptor = open((kFixtures / name).c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(UnpackedDebugFile::create_readable(descriptor) != nullptr, is_needed) << name;
    close(descriptor);
  }
}

TEST_P(CompressedFile, BrokenDoesNoHarm) {
  const fs::path path = kFixtures / GetParam() / fs::relative(kPackedFile, kFixtures / "packed");
  if (!fs::exists(path)) GTEST_SKIP() << "not built: objcopy doesn't know zstd";
  std::ifstream whole(path, std::ios::binary);
  const std::string sound((std::istreambuf_iterator<char>(whole)), {});
  std::mt19937 random(20261122);
  for (int round = 0; round < 400; ++round) {
    std::string bytes = sound;
    if (round % 4 == 0) bytes.resize(random() % bytes.size());
    // Half of the changes meet the headers of sections, at the end.
    for (size_t i = 0; i < 4 && !bytes.empty(); ++i) {
      const size_t tail = std::min<size_t>(bytes.size(), i % 2 == 0 ? bytes.size() : 64 * 40);
      bytes[bytes.size() - 1 - random() % tail] = static_cast<char>(random());
    }
    const int descriptor = memfd_create("broken", MFD_CLOEXEC);
    ASSERT_EQ(write(descriptor, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    if (const auto file = UnpackedDebugFile::create(descriptor)) {
      file->need_unit(random() % 2048);
      file->need_lines(random() % 2048);
      file->need_all();
    }
    close(descriptor);
  }
}

TEST(Resolver, ADebugFileAloneIsEnough) {
  auto fixture = LoadedFixture::load("stripped.so");
  fixture.module().path = "/no/such/directory/stripped.so";
  Resolver resolver{ResolverOptions{.symbol_directories = {kFixtures / "tree"}, .sysroots = {}}};
  EXPECT_EQ(fixture.resolve(resolver, "inlined").size(), 3U);
}

TEST(Resolver, WithoutDwarfSymbolsGiveNamesAndAHint) {
  const auto fixture = LoadedFixture::load("named.so");
  Resolver resolver{ResolverOptions{}};
  const auto frames = fixture.resolve(resolver, "inlined");
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, kReal);
  EXPECT_EQ(frames[0].line, 0U);
  EXPECT_EQ(fixture.resolve(resolver, "hidden").front().function, kHidden);
  EXPECT_EQ(fixture.resolve(resolver, "cold").front().function, kCold);
  const auto hints = resolver.hints(10);
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_NE(findings::words_of(hints[0]).find("named.so has no line information"), std::string::npos)
      << findings::words_of(hints[0]);
}

TEST(Resolver, AHintNamesThePartsOfDebugInformationThatAreNotFound) {
  const auto fixture = LoadedFixture::load("split.so");
  Resolver resolver{ResolverOptions{}};
  const auto frames = fixture.resolve(resolver, "inlined");
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, kReal);
  EXPECT_NE(frames[0].line, 0U);
  const auto hints = resolver.hints(10);
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_EQ(hints[0].lack, model::SymbolHint::Lack::kParts);
  EXPECT_TRUE(hints[0].missing_part.ends_with(".dwo")) << hints[0].missing_part;
  EXPECT_NE(findings::words_of(hints[0]).find("nor is split.so.dwp"), std::string::npos)
      << findings::words_of(hints[0]);
}

TEST(Resolver, AHintNamesThePackageOfDebugInformationThatIsNotRead) {
  model::SymbolHint hint{.path = "/opt/app", .lack = model::SymbolHint::Lack::kParts};
  hint.missing_part = "app.dwo";
  hint.has_package = true;
  hint.package_reader = "0.188";
  EXPECT_NE(findings::words_of(hint).find("app.dwp isn't read by elfutils 0.188 (0.191 and later read it)"),
            std::string::npos)
      << findings::words_of(hint);
  hint.package_reader = "";
  EXPECT_NE(findings::words_of(hint).find("app.dwp doesn't have them"), std::string::npos) << findings::words_of(hint);
}

TEST(Resolver, AStrippedFileGivesExportsOnlyAndAHint) {
  const auto fixture = LoadedFixture::load("stripped.so");
  Resolver resolver{ResolverOptions{}};
  EXPECT_EQ(fixture.resolve(resolver, "hidden").front().function, "");
  EXPECT_EQ(fixture.resolve(resolver, "hidden inlined").front().function, "symbols_fixture_run");
  const auto hints = resolver.hints(10);
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_NE(findings::words_of(hints[0]).find("stripped.so is stripped: functions without names"), std::string::npos)
      << findings::words_of(hints[0]);
  EXPECT_NE(findings::words_of(hints[0]).find("--symbols DIR"), std::string::npos) << findings::words_of(hints[0]);
}

TEST(Resolver, AFileWithAnotherBuildIdIsNotUsed) {
  auto fixture = LoadedFixture::load("full.so");
  fixture.module().build_id.back() = static_cast<char>(fixture.module().build_id.back() ^ 1);
  Resolver resolver{ResolverOptions{}};
  const auto frames = fixture.resolve(resolver, "inlined");
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, "");
  EXPECT_EQ(frames[0].module, fixture.module().path);
  const auto hints = resolver.hints(10);
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_NE(findings::words_of(hints[0]).find("was replaced since the trace was recorded"), std::string::npos)
      << findings::words_of(hints[0]);
  EXPECT_EQ(hints[0].other_path, fixture.module().path);
  EXPECT_EQ(hints[0].other_build_id, SYMBOLS_FIXTURE_ID);
  EXPECT_EQ(hints[0].build_id.size(), hints[0].other_build_id.size());
  for (const std::string& build_id : {hints[0].build_id, hints[0].other_build_id}) {
    EXPECT_NE(findings::words_of(hints[0]).find(build_id), std::string::npos) << findings::words_of(hints[0]);
  }
}

TEST(Resolver, AnotherBuildBelowASymbolsDirectoryIsNamed) {
  auto fixture = LoadedFixture::load("full.so");
  fixture.module().path = "/target/usr/lib/moved.so";
  fixture.module().build_id.back() = static_cast<char>(fixture.module().build_id.back() ^ 1);
  Resolver resolver{ResolverOptions{.symbol_directories = {kFixtures / "copies"}, .sysroots = {}}};
  EXPECT_EQ(fixture.resolve(resolver, "hidden").front().function, "");
  (void)fixture.resolve(resolver, "inlined");
  const auto hints = resolver.hints(10);
  ASSERT_EQ(hints.size(), 1U);
  const std::string words = findings::words_of(hints[0]);
  EXPECT_NE(words.find((kFixtures / "copies/lib/moved.so").string() + " is not the one that was recorded"),
            std::string::npos)
      << words;
}

TEST(Resolver, ASymbolsDirectoryIsTriedWithLeadingDirectoriesTakenAway) {
  auto fixture = LoadedFixture::load("full.so");
  fixture.module().path = "/target/usr/lib/moved.so";
  for (const ResolverOptions& options :
       {ResolverOptions{.symbol_directories = {kFixtures / "copies"}, .sysroots = {}},
        ResolverOptions{.symbol_directories = {}, .sysroots = {kFixtures / "copies"}}}) {
    Resolver resolver{options};
    EXPECT_EQ(fixture.resolve(resolver, "hidden").front().function, kHidden);
  }
}

TEST(Resolver, AProgramIsFoundWhereTheLinkThatWasExecutedIsGone) {
  auto fixture = LoadedFixture::load("full.so");
  fixture.module().file = std::exchange(fixture.module().path, "/no/such/directory/server");
  fixture.module().flags = wire::kModuleIsMain;
  Resolver resolver{ResolverOptions{}};
  const auto frames = fixture.resolve(resolver, "inlined");
  EXPECT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames.front().module, "/no/such/directory/server");
}

TEST(Resolver, AMissingFileLeavesTheOffsetAndAHint) {
  auto fixture = LoadedFixture::load("full.so");
  fixture.module().path = "/no/such/directory/gone.so";
  Resolver resolver{ResolverOptions{}};
  const auto frames = fixture.resolve(resolver, "inlined");
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].offset, fixture.places.at("inlined") - fixture.module().bias);
  const auto hints = resolver.hints(10);
  ASSERT_EQ(hints.size(), 1U);
  EXPECT_NE(findings::words_of(hints[0]).find("gone.so is not on this machine"), std::string::npos)
      << findings::words_of(hints[0]);
}

TEST(Resolver, TheVdsoHasNoNamesAndNoHint) {
  model::Tables tables;
  tables.modules.push_back({.path = "linux-vdso.so.1",
                            .build_id = {},
                            .bias = 0x1000,
                            .start = 0x1000,
                            .end = 0x2000,
                            .generation = 0,
                            .flags = wire::kModuleIsVdso});
  Resolver resolver{ResolverOptions{}};
  const auto& frames = resolver.resolve(tables, {.address = 0x1500, .generation = 0, .exact = true});
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, "");
  EXPECT_EQ(frames[0].offset, 0x500U);
  EXPECT_TRUE(resolver.hints(10).empty());
}

TEST(Resolver, AnAddressOutsideOfModulesHasOneEmptyFrame) {
  Resolver resolver{ResolverOptions{}};
  const auto& frames = resolver.resolve(model::Tables{}, {.address = 0x1234, .generation = 0, .exact = false});
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].module, "");
  EXPECT_EQ(frames[0].address, 0x1234U);
}

TEST(Resolver, ReturnAddressesMeanTheCallBeforeThem) {
  const auto fixture = LoadedFixture::load("full.so");
  Resolver resolver{ResolverOptions{}};
  const uint64_t start = reinterpret_cast<uint64_t>(
      dlsym(dlopen(fixture.tables.modules.front().path.c_str(), RTLD_NOW), "symbols_fixture_run"));
  const auto exact = resolver.resolve(fixture.tables, {.address = start, .generation = 0, .exact = true});
  const auto before = resolver.resolve(fixture.tables, {.address = start, .generation = 0, .exact = false});
  EXPECT_EQ(exact.back().function, "symbols_fixture_run");
  EXPECT_NE(before.back().function, "symbols_fixture_run");
  EXPECT_EQ(exact.back().offset, before.back().offset);
}

TEST(Resolver, TheSameAddressInTwoTracesIsNotMixedUp) {
  auto first = LoadedFixture::load("full.so");
  auto second = first;
  second.module().path = "/no/such/directory/other.so";
  Resolver resolver{ResolverOptions{}};
  EXPECT_EQ(first.resolve(resolver, "hidden").front().function, kHidden);
  EXPECT_EQ(second.resolve(resolver, "hidden").front().function, "");
  EXPECT_EQ(first.resolve(resolver, "hidden").front().function, kHidden);
}

// Hostile files: whatever the bytes are, an answer comes and nothing is read outside of the file.
class BrokenFile : public testing::Test {
 public:
  void SetUp() override {
    std::ifstream file(kFixtures / "full.so", std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    whole = text.str();
    fixture = LoadedFixture::load("full.so");
    fixture.module().build_id.clear();
    path = fs::path(testing::TempDir()) / ("symbols_broken." + std::to_string(getpid()));
    fixture.module().path = path;
  }
  void TearDown() override { fs::remove(path); }

  void resolve_all(const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    Resolver resolver{ResolverOptions{}};
    for (const auto& [place, address] : fixture.places) EXPECT_FALSE(fixture.resolve(resolver, place).empty());
  }

  // Offset and size of a section of the file.
  [[nodiscard]] std::pair<size_t, size_t> section(const std::string& name) const {
    ElfW(Ehdr) header;
    std::memcpy(&header, whole.data(), sizeof header);
    std::vector<ElfW(Shdr)> sections(header.e_shnum);
    std::memcpy(sections.data(), whole.data() + header.e_shoff, sections.size() * sizeof sections[0]);
    for (const auto& each : sections) {
      if (name == whole.data() + sections[header.e_shstrndx].sh_offset + each.sh_name) {
        return {each.sh_offset, each.sh_size};
      }
    }
    ADD_FAILURE() << "no section " << name;
    return {};
  }

  std::string whole;
  std::string path;
  LoadedFixture fixture;
};

TEST_F(BrokenFile, TruncatedAnywhere) {
  for (size_t size = 0; size < whole.size(); size += whole.size() / 60) resolve_all(whole.substr(0, size));
}

TEST_F(BrokenFile, RandomBytesInTheDebugInformation) {
  std::mt19937 random(20261121);
  for (const char* name : {".debug_info", ".debug_abbrev", ".debug_rnglists", ".debug_str", ".symtab"}) {
    const auto [offset, size] = section(name);
    ASSERT_GT(size, 0U);
    for (int round = 0; round < 60; ++round) {
      std::string bytes = whole;
      const int changes = 1 + round % 8;
      for (int i = 0; i < changes; ++i) bytes[offset + random() % size] = static_cast<char>(random());
      resolve_all(bytes);
    }
  }
}

TEST(RangeMap, InnerRangesWinWhereTheyAre) {
  const RangeMap map({{.begin = 10, .end = 50, .depth = 0, .value = 1},
                      {.begin = 20, .end = 30, .depth = 1, .value = 2},
                      {.begin = 20, .end = 25, .depth = 2, .value = 3}});
  const std::pair<uint64_t, std::optional<uint32_t>> expected[] = {
      {9, std::nullopt}, {10, 1}, {20, 3}, {24, 3}, {25, 2}, {29, 2}, {30, 1}, {49, 1}, {50, std::nullopt}};
  for (const auto& [address, value] : expected) EXPECT_EQ(map.find(address), value) << address;
}

TEST(RangeMap, OverlapsAndEmptyRangesDoNoHarm) {
  const RangeMap map({{.begin = 0, .end = 10, .depth = 0, .value = 1},
                      {.begin = 5, .end = 20, .depth = 0, .value = 2},
                      {.begin = 7, .end = 7, .depth = 0, .value = 3},
                      {.begin = 9, .end = 3, .depth = 0, .value = 4},
                      {.begin = 30, .end = ~uint64_t{0}, .depth = 0, .value = 5}});
  const std::pair<uint64_t, std::optional<uint32_t>> expected[] = {
      {4, 1}, {5, 2}, {9, 2}, {10, 2}, {19, 2}, {20, std::nullopt}, {30, 5}, {~uint64_t{0}, std::nullopt}};
  for (const auto& [address, value] : expected) EXPECT_EQ(map.find(address), value) << address;
}

struct NameCase {
  const char* mangled;
  const char* expected;
};

TEST(Demangle, NamesAreAsPeopleWriteThem) {
  const NameCase cases[] = {
      {"", ""},
      {"malloc", "malloc"},
      {"malloc@@GLIBC_2.2.5", "malloc"},
      {"memcpy@GLIBC_2.14", "memcpy"},
      {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)"},
      {"_ZNSaIcEC1Ev@@GLIBCXX_3.4", "std::allocator<char>::allocator()"},
      {"_Z", "_Z"},
      {"_Znonsense", "_Znonsense"},
      // Copies and parts of functions.
      {"parse.cold", "parse"},
      {"parse.part.0", "parse"},
      {"parse.constprop.0.isra.0", "parse"},
      {"_Z5parsei.cold.12", "parse(int)"},
      {"main.coldStart", "main.coldStart"},
      {".cold", ".cold"},
      // Rust, legacy scheme.
      {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"},
      {"_ZN58_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9write_str17h0123456789abcdefE",
       "<alloc::string::String as core::fmt::Write>::write_str"},
      {"_ZN3foo28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "foo::{{closure}}"},
      {"_ZN3foo12$RF$$BP$$C$x17h0123456789abcdefE.llvm.123", "foo::&*,x"},
      // Rust, v0 scheme.
      {"_RNvC6_123foo3bar", "123foo::bar"},
      {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
      {"_RNCNvC5crate4main0", "crate::main::{closure#0}"},
      {"_RNCNvC5crate4mains_0B3_", "crate::main::{closure#1}"},
      {"_RINvC5crate3fooReFG_RL0_hEuE", "crate::foo::<&str, for<'a> fn(&'a u8)>"},
      {"_RNvMNtC5crate1mNtB2_4Type3new", "<crate::m::Type>::new"},
      {"_RNvXC5crateNtB2_4TypeNtB2_5Trait1f", "<crate::Type as crate::Trait>::f"},
      {"_RINvC5crate1fTmxEAhj4_Kb1_E", "crate::f::<(u32, i64), [u8; 4], true>"},
      {"_RINvC5crate1fDNtB2_5TraitEL_E", "crate::f::<dyn crate::Trait>"},
      {"_RNvC5crateu7caf_dma", "crate::caf\u00e9"},
      {"_R", "_R"},
      {"_RNvB_", "_RNvB_"},
      {"_RINvC1aB_E", "_RINvC1aB_E"},
  };
  for (const NameCase& each : cases) EXPECT_EQ(demangle(each.mangled), each.expected) << each.mangled;
}

// The v0 scheme's numbers: 0 is "_", the others are one less in base 62 before it.
std::string base62(size_t number) {
  std::string digits;
  if (number == 0) return "_";
  for (size_t rest = number - 1;; rest /= 62) {
    const size_t digit = rest % 62;
    digits.insert(digits.begin(), "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit]);
    if (rest < 62) return digits + "_";
  }
}

TEST(Demangle, NamesThatUnfoldExponentiallyAreGivenUp) {
  auto tuple_of_tuples = [](int levels) {
    std::string text = "INvC1a1b";
    size_t previous = text.size();
    text += "TmmE";
    for (int level = 0; level < levels; ++level) {
      const std::string reference = base62(previous);
      previous = text.size();
      text += fmt::format("TB{0}B{0}E", reference);
    }
    return fmt::format("_R{}E", text);
  };
  EXPECT_EQ(demangle(tuple_of_tuples(1)), "a::b::<(u32, u32), ((u32, u32), (u32, u32))>");
  EXPECT_EQ(demangle(tuple_of_tuples(40)), tuple_of_tuples(40));
}

TEST(Demangle, NamesThatNestWithoutEndAreGivenUp) {
  for (const std::string& name : {"_R" + std::string(10000, 'N'), "_RINvC1a1b" + std::string(10000, 'S'),
                                  "_Z1f" + std::string(10000, 'P'), "_Z" + std::string(100000, 'P')}) {
    EXPECT_EQ(demangle(name), name);
  }
}

}  // namespace
}  // namespace heaptap::symbols
