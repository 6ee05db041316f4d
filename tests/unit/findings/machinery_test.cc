// Which functions allocate for others, by name.
#include "analysis/findings/machinery.h"
#include "analysis/report/skipped_names.h"

#include <gtest/gtest.h>

#include <set>

namespace heaptap::findings {
namespace {

model::Frame named(const char* function, const char* module = "/opt/shop") {
  model::Frame frame;
  frame.function = function;
  frame.module = module;
  return frame;
}

TEST(Machinery, IsKnownByName) {
  for (const char* name : {"malloc",
                           "calloc",
                           "xmalloc",
                           "xrealloc",
                           "xmalloc2",
                           "xstrdup",
                           "zmalloc",
                           "allocate_stack",
                           "__pthread_create_2_1",
                           "zcalloc_num",
                           "ztrymalloc_usable_internal",
                           "zmalloc_usable",
                           "g_malloc0",
                           "g_slice_alloc",
                           "my_malloc",
                           "ngx_alloc",
                           "ngx_palloc_large",
                           "CRYPTO_malloc",
                           "CRYPTO_zalloc",
                           "sqlite3Malloc",
                           "sqlite3_malloc64",
                           "sqlite3DbMallocRawNN",
                           "PyMem_RawMalloc",
                           "_PyMem_DebugRawAlloc",
                           "PyObject_Malloc",
                           "_PyObject_New",
                           "PyType_GenericAlloc",
                           "ggc_internal_alloc(unsigned long, void (*)(void*), unsigned long, unsigned long)",
                           "ggc_realloc(void*, unsigned long)",
                           "av_malloc",
                           "av_mallocz",
                           "apr_palloc",
                           "je_malloc",
                           "tc_new",
                           "mi_malloc_aligned",
                           "strdup",
                           "__libc_malloc",
                           "xmalloc.part.0",
                           "malloc@plt",
                           "xcalloc.constprop.1",
                           "operator new(unsigned long)",
                           "operator new[](unsigned long, std::nothrow_t const&)",
                           "std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)",
                           "void std::vector<shop::Item>::emplace_back<int>(int&&)",
                           "std::__1::vector<int>::push_back(int const&)",
                           "std::_MakeUniq<shop::Cart>::__single_object std::make_unique<shop::Cart>()",
                           "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)",
                           "boost::container::vector<int>::push_back(int)",
                           "boost::fast_pool_allocator<int>::allocate(unsigned long)",
                           "alloc::raw_vec::RawVec<T,A>::grow_one",
                           "alloc::alloc::exchange_malloc",
                           "__rust_alloc",
                           "__rust_realloc",
                           "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
                           "core::ops::function::FnOnce::call_once"}) {
    EXPECT_TRUE(is_machinery_name(name)) << name;
  }
}

TEST(Machinery, IsNotWhatOnlyLooksLikeIt) {
  for (const char* name :
       {"main", "make_buffer", "shop::Cart::malloc(int)", "process(std::vector<int>&)",
        "void process<std::string>(int)", "shop::operator<<(std::ostream&, shop::Cart const&)", "stdx::f()",
        "core::Engine::start()", "my_main", "zip_open", "g_main_loop_run", "std_malloc_test", "shop::std::f()",
        "strdup_all", "main::{lambda()#1}::operator()() const", ""}) {
    EXPECT_FALSE(is_machinery_name(name)) << name;
  }
}

TEST(Machinery, OfFramesWithoutANameIsItsModule) {
  EXPECT_TRUE(is_machinery(named("", "/lib/x86_64-linux-gnu/libc.so.6")));
  EXPECT_TRUE(is_machinery(named("", "/usr/lib/libstdc++.so.6.0.30")));
  EXPECT_FALSE(is_machinery(named("", "/opt/shop/libcart.so")));
  EXPECT_FALSE(is_machinery(named("")));
  EXPECT_FALSE(is_machinery(named("setlocale", "/lib/x86_64-linux-gnu/libc.so.6"))) << "the name decides";
}

TEST(Machinery, HasEachNameOnce) {
  std::set<std::string_view> known;
  for (const std::string_view name : machinery_names()) EXPECT_TRUE(known.insert(name).second) << name;
}

TEST(Startup, IsWhatStandsBelowMainAndThreads) {
  for (const char* name :
       {"_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main",
        "__libc_start_main@@GLIBC_2.34", "start_thread", "clone", "clone3", "execute_native_thread_routine",
        "std::thread::_Invoker<std::tuple<main::{lambda()#1}> >::operator()()",
        "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)()> > >::_M_run()",
        "void std::__invoke_impl<void, main::{lambda()#1}>(std::__invoke_other, main::{lambda()#1}&&)"}) {
    EXPECT_TRUE(is_startup(named(name))) << name;
  }
  for (const char* name : {"main", "worker", "std::vector<int>::push_back(int&&)", "start_threads"}) {
    EXPECT_FALSE(is_startup(named(name))) << name;
  }
}

// The runtime's closures around main() and threads, and traits of types without a path, which are the library's.
TEST(Machinery, IsRustsRuntime) {
  const char* const call =
      "<core::panic::unwind_safe::AssertUnwindSafe<F> as core::ops::function::FnOnce<()>>::call_once";
  const char* const dynamic = "<&dyn core::ops::function::Fn<(), Output = i32> + core::marker::Sync>::call_once";
  for (const char* name :
       {"std::rt::lang_start", "std::rt::lang_start_internal::{closure#0}", "std::panic::catch_unwind::<i32>",
        "std::panicking::catch_unwind::do_call", "__rust_try", "<std::sys::thread::unix::Thread>::new::thread_start",
        "std::thread::lifecycle::spawn_unchecked::{{closure}}",
        "<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once", call, dynamic}) {
    EXPECT_TRUE(is_startup(named(name))) << name;
    EXPECT_TRUE(is_machinery_name(name)) << name;
  }
  for (const char* name : {"<i32 as alloc::string::SpecToString>::spec_to_string",
                           "<T as alloc::string::ToString>::to_string", "<u64 as core::fmt::Display>::fmt"}) {
    EXPECT_TRUE(is_machinery_name(name)) << name;
  }
  for (const char* name : {"<shop::Cart as core::fmt::Display>::fmt", "<u64 as shop::Price>::sum"}) {
    EXPECT_FALSE(is_machinery_name(name)) << name;
  }
  EXPECT_FALSE(is_startup(named("alloc::boxed::Box<T>::new")));
}

TEST(SkippedNames, ArePartsOfNamesOrExpressions) {
  const report::SkippedNames skipped({"Pool::", "^grow"});
  EXPECT_TRUE(skipped.match(named("shop::Pool::take(int)")));
  EXPECT_TRUE(skipped.match(named("grow_list")));
  EXPECT_FALSE(skipped.match(named("shop::grow()")));
  EXPECT_FALSE(skipped.match(named("")));
  EXPECT_FALSE(report::SkippedNames().match(named("main")));
}

}  // namespace
}  // namespace heaptap::findings
