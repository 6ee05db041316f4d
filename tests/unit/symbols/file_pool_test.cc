#include "analysis/symbols/file_pool.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "analysis/symbols/open_files.h"
#include "analysis/symbols/resolver.h"

namespace heaptap::symbols {
namespace {

TEST(FilePool, FilesAreForOneResolverAtATimeAndStayOpenForTheNext) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const auto pool = std::make_shared<FilePool>();
  ResolverOptions options;
  options.files = pool;
  model::Tables tables;
  tables.modules.push_back({});
  tables.modules.back().path = self;
  {
    Resolver resolver(options);
    (void)resolver.variable_at(tables.modules.back(), 0);
    EXPECT_FALSE(pool->take(options)->contains(self, "")) << "they are the resolver's";
  }
  std::unique_ptr<OpenFiles> files = pool->take(options);
  EXPECT_TRUE(files->contains(self, ""));
  pool->give_back(std::move(files));
}

TEST(FilePool, FilesThatNobodyUsesAreClosed) {
  constexpr int kResolvers = 8;
  OpenFiles files({});
  const ModuleFile& one = files.open("/nowhere/one", "");
  files.open("/nowhere/other", "");
  for (int i = 0; i < kResolvers; ++i) {
    files.pass_on();
    EXPECT_EQ(&files.open("/nowhere/one", ""), &one);
  }
  EXPECT_TRUE(files.contains("/nowhere/other", ""));
  files.pass_on();
  EXPECT_FALSE(files.contains("/nowhere/other", ""));
  EXPECT_TRUE(files.contains("/nowhere/one", ""));
}

}  // namespace
}  // namespace heaptap::symbols
