#include "analysis/findings/machinery.h"

#include <algorithm>
#include <array>
#include <string>

#include "analysis/findings/function_name.h"

namespace heaptap::findings {
namespace {

using std::string_view;

// Functions that allocate for their callers. Wrappers of a single program are named by the user (--skip).
constexpr auto kMachinery = std::to_array<string_view>({
    // The API for a program's own allocators (include/heaptap/heaptap.h).
    "heaptap_call_*",
    "heaptap::disabled::*",
    "heaptap::linked::*",
    "heaptap::found::*",
    // C
    "malloc*",
    "calloc*",
    "realloc*",
    "xmalloc*",
    "xcalloc*",
    "xrealloc*",
    "xzalloc*",
    "zmalloc*",
    "zcalloc*",
    "zrealloc*",
    "ztrymalloc*",
    "ztrycalloc*",
    "ztryrealloc*",
    "aligned_alloc",
    "memalign",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "mmap",
    "mmap64",
    "mremap",
    "sbrk",
    "brk",
    "__libc_malloc",
    "__libc_calloc",
    "__libc_realloc",
    "__libc_memalign",
    "__libc_alloc_buffer*",
    "__libc_scratch_buffer*",
    "__libc_dynarray*",
    "__GI_*",
    "_int_malloc",
    "_int_realloc",
    "sysmalloc*",
    "_mid_memalign*",
    "tcache_init*",
    "ptmalloc_init*",
    "__malloc*",
    "__calloc*",
    "__realloc*",
    "strdup",
    "strndup",
    "wcsdup",
    "__strdup",
    "__strndup",
    "__wcsdup",
    "xstrdup",
    "xstrndup",
    "zstrdup",
    "asprintf",
    "vasprintf",
    "__asprintf*",
    "__vasprintf*",
    "getline",
    "getdelim",
    "__getdelim",
    "_IO_*",  // and their public aliases
    "puts",
    "fputs",
    "fwrite",
    "fread",
    "fgets",
    "gets",
    "ungetc",
    "setvbuf",
    "setbuffer",
    "popen",
    "fclose",
    "printf",
    "fprintf",
    "vfprintf",
    "vsprintf",
    "open_memstream",
    "fopen",
    "fopen64",
    "fdopen",
    "__fopen_internal",
    "opendir",
    "__alloc_dir",
    "realpath",
    "__realpath*",
    "getcwd",
    "__getcwd",
    "get_current_dir_name",
    "qsort",
    "qsort_r",
    // C's own start, loader and thread data
    "_dl_*",
    "__tls_get_addr",
    "tls_get_addr_tail*",
    "allocate_dtv*",
    "dl_open_worker*",
    "_nl_*",
    "__new_exitfn",
    "__cxa_thread_atexit*",
    "allocate_stack",  // of a thread
    "pthread_create",
    "__pthread_create*",
    // C++: operators, the library and its internals
    "operator new",
    "operator new[]",
    "operator delete",
    "operator delete[]",
    "std::*",
    "__gnu_cxx::*",
    "__cxxabiv1::*",
    "__cxa_allocate*",
    "__gxx_personality*",
    "_Znwm",
    "_Znam",
    "_Znw*",
    "_Zna*",
    // Boost's containers, pools and pointers
    "boost::container::*",
    "boost::pool*",
    "boost::fast_pool_allocator*",
    "boost::singleton_pool*",
    "boost::simple_segregated_storage*",
    "boost::default_user_allocator*",
    "boost::unordered::*",
    "boost::multi_index::*",
    "boost::circular_buffer*",
    "boost::heap::*",
    "boost::allocator_*",
    "boost::core::*",
    "boost::make_shared*",
    "boost::allocate_shared*",
    "boost::make_unique*",
    "boost::shared_ptr*",
    "boost::detail::shared_count*",
    "boost::detail::sp_*",
    "boost::interprocess::*",
    "boost::movelib::*",
    // Rust: a trait's function begins with the type, whose bracket is left out
    "alloc::*",
    "core::alloc::*",
    "core::ptr::*",
    "core::ops::*",
    "core::iter::*",
    "core::option::*",
    "core::result::*",
    "core::clone::*",
    "core::convert::*",
    "core::slice::*",
    "core::str::*",
    "core::fmt::*",
    "core::panic::*",
    "dyn core::*",
    "hashbrown::*",
    "__rust_*",
    "__rdl_*",
    "__rg_*",
    "__rustc*",
    // Replacements of malloc
    "je_*",
    "tc_*",
    "mi_*",
    "_mi_*",
    "tcmalloc::*",
    "hoard*",
    "rpmalloc*",
    "rpaligned*",
    "scalable_malloc*",
    "scalable_calloc*",
    "scalable_realloc*",
    "scalable_aligned*",
    "rml::*",
    // Libraries and programs that many use
    "g_malloc*",
    "g_try_malloc*",
    "g_realloc*",
    "g_try_realloc*",
    "g_slice_*",
    "g_strdup*",
    "g_strndup*",
    "g_memdup*",
    "g_new*",
    "g_aligned_alloc*",
    "standard_malloc",
    "standard_calloc",
    "standard_realloc",
    "thread_memory_*",
    "magazine_*",
    "slab_allocator_*",
    "my_malloc*",
    "my_realloc*",
    "my_multi_malloc*",
    "my_strdup*",
    "my_strndup*",
    "my_memdup*",
    "my_raw_malloc*",
    "mem_alloc*",
    "alloc_root*",
    "ngx_alloc*",
    "ngx_calloc*",
    "ngx_palloc*",
    "ngx_pnalloc*",
    "ngx_pcalloc*",
    "ngx_pmemalign*",
    "ngx_memalign*",
    "ngx_create_pool*",
    "ngx_slab_alloc*",
    "ngx_array_create",
    "ngx_array_push*",
    "CRYPTO_malloc*",
    "CRYPTO_zalloc*",
    "CRYPTO_calloc*",
    "CRYPTO_realloc*",
    "CRYPTO_clear_realloc*",
    "CRYPTO_strdup*",
    "CRYPTO_strndup*",
    "CRYPTO_memdup*",
    "CRYPTO_aligned_alloc*",
    "CRYPTO_secure_malloc*",
    "CRYPTO_secure_zalloc*",
    "OPENSSL_malloc*",
    "OPENSSL_zalloc*",
    "OPENSSL_realloc*",
    "sqlite3Malloc*",
    "sqlite3_malloc*",
    "sqlite3Realloc*",
    "sqlite3_realloc*",
    "sqlite3MemMalloc*",
    "sqlite3MemRealloc*",
    "sqlite3DbMalloc*",
    "sqlite3DbRealloc*",
    "sqlite3DbStrDup*",
    "sqlite3DbStrNDup*",
    "sqlite3DbSpan*",
    "mallocWithAlarm",
    "dbMallocRawFinish",
    "dbReallocFinish",
    "pcache1Alloc*",
    "PyMem_*",
    "_PyMem_*",
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "_PyObject_Malloc",
    "_PyObject_Calloc",
    "_PyObject_Realloc",
    "_PyObject_New*",
    "PyObject_New*",
    "_PyObject_GC_*",
    "PyObject_GC_New*",
    "_PyObject_Alloc*",
    "PyType_GenericAlloc",
    "_PyType_AllocNoTrack",
    "gc_alloc",
    "new_arena",
    "av_malloc*",
    "av_mallocz*",
    "av_calloc*",
    "av_realloc*",
    "av_fast_malloc*",
    "av_fast_realloc*",
    "av_strdup*",
    "av_strndup*",
    "av_memdup*",
    "av_buffer_alloc*",
    "apr_palloc*",
    "apr_pcalloc*",
    "apr_pstrdup*",
    "apr_pstrndup*",
    "apr_pmemdup*",
    "apr_allocator_alloc*",
    "allocator_alloc",
    "talloc*",
    "_talloc*",
    "__talloc*",
    "obstack_*",
    "_obstack_*",
    "xmlMalloc*",
    "xmlMemMalloc*",
    "xmlStrdup",
    "xmlStrndup",
    "Curl_cstrdup",
    "curl_dbg_malloc",
    "SDL_malloc*",
    "SDL_calloc*",
    "SDL_realloc*",
    "SDL_strdup*",
    "QArrayData::*",
    "QTypedArrayData::*",
    "QArrayDataPointer::*",
    "QListData::*",
    "QHashData::*",
    "QMapDataBase::*",
    "palloc*",
    "MemoryContextAlloc*",
    "AllocSetAlloc*",
    "pstrdup",
    "safe_malloc*",
    "safe_calloc*",
    "safe_realloc*",
    "checked_malloc*",
    "emalloc*",
    "ecalloc*",
    "erealloc*",
    "_emalloc*",
    "_ecalloc*",
    "_erealloc*",
    "ruby_xmalloc*",
    "ruby_xcalloc*",
    "ruby_xrealloc*",
    "objspace_xmalloc*",
    "ggc_internal_*",
    "ggc_alloc*",
    "ggc_cleared_*",
    "ggc_realloc*",
    "lj_alloc_*",
    "l_alloc",
    "luaM_*",
});

// Sorted by name; those of a thread begin at its kernel's entry.
constexpr auto kStartup = std::to_array<string_view>({
    "__libc_start_call_main",
    "__libc_start_main*",
    "_start",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "__clone_internal",
    "execute_native_thread_routine*",
    "std::thread::_State_impl::_M_run",
    "std::thread::_Invoker*",
    "std::__invoke*",
    "std::__thread_proxy*",
    "std::__thread_execute*",
    "__libc_start_main_impl",
    "__musl_start*",
    "libc_start_main*",
    "_start_c",
    "(below main)",
    // Rust: main() and threads are called by closures within catch_unwind
    "std::rt::*",
    "std::panic::*",
    "std::panicking::*",
    "__rust_try*",
    "std::sys::backtrace::__rust_begin_short_backtrace",
    "std::sys_common::backtrace::__rust_begin_short_backtrace",
    "std::sys::*thread_start",
    "std::thread::Builder::spawn_unchecked*",
    "std::thread::lifecycle::*",
    "core::ops::function::*",
    "core::panic::unwind_safe::AssertUnwindSafe*",
    "dyn core::ops::function::Fn*",
    "alloc::boxed::Box*call_once",
});

// Where the functions of system libraries are the program's own: it is linked statically, or they are inlined.
constexpr auto kWaysToEnd = std::to_array<string_view>({
    "raise",           "gsignal",         "kill",
    "tgkill",          "pthread_kill*",   "__pthread_kill*",
    "abort",           "__GI_*",          "__assert*",
    "__libc_fatal",    "__libc_message*", "malloc_printerr",
    "__fortify_fail*", "__chk_fail",      "__stack_chk_fail*",
    "__restore_rt",    "_Unwind_*",       "__cxa_*",
    "__cxxabiv1::*",   "__gnu_cxx::*",    "std::*",
    "core::*",         "alloc::*",        "rust_*",
    "__rust_*",        "__rustc*",
});

constexpr auto kSystemLibraries = std::to_array<string_view>({
    "libc.so",
    "libc-",
    "ld-linux",
    "ld-musl",
    "ld-2",
    "libstdc++.so",
    "libc++.so",
    "libc++abi.so",
    "libgcc_s.so",
    "libpthread",
    "libjemalloc.so",
    "libtcmalloc",
    "libmimalloc.so",
    "libheaptap_agent.so",
});

bool matches(string_view name, string_view pattern) {
  size_t at = 0;
  for (size_t begin = 0; begin < name.size() || at < pattern.size(); ++at, ++begin) {
    if (at < pattern.size() && pattern[at] == '*') {
      const string_view rest = pattern.substr(at + 1);
      if (rest.empty()) return true;
      for (size_t skipped = begin; skipped <= name.size(); ++skipped) {
        if (matches(name.substr(skipped), rest)) return true;
      }
      return false;
    }
    if (begin >= name.size() || at >= pattern.size() || name[begin] != pattern[at]) return false;
  }
  return true;
}

bool matches_any(string_view name, std::span<const string_view> patterns) {
  return std::ranges::any_of(patterns, [&](string_view pattern) { return matches(name, pattern); });
}

// The form of the lists: "std::vector::push_back" of "void std::vector<int>::push_back(int&&)", "foo" of "foo.part.0".
std::string listed_name(string_view function) {
  constexpr size_t kLongest = 1 << 14;  // a name's first part identifies it
  string_view name = qualified_name(function.substr(0, kLongest));
  while (!name.empty() && (name.front() == '<' || name.front() == '&')) name.remove_prefix(1);
  std::string plain;
  size_t depth = 0;
  const size_t operators = name.find("operator");
  for (size_t at = 0; at < name.size(); ++at) {
    const bool is_of_operator = at >= operators;
    if (name[at] == '<' && !is_of_operator) ++depth;
    if (depth == 0) plain += name[at];
    if (name[at] == '>' && !is_of_operator && depth != 0) --depth;
  }
  if (plain.find("::") == plain.npos) {
    if (const size_t suffix = plain.find_first_of(".@", 1); suffix != plain.npos) plain.resize(suffix);
  }
  return plain;
}

// Rust's own trait for one of its own types, whose names have no path: "u64 as core::fmt::Display::fmt". Those of programs have one.
bool is_trait_of_rust(string_view listed) {
  const size_t trait = listed.find(" as ");
  if (trait == listed.npos || listed.substr(0, trait).find("::") != listed.npos) return false;
  const string_view name = listed.substr(trait + std::string_view(" as ").size());
  return name.starts_with("core::") || name.starts_with("alloc::") || name.starts_with("std::");
}

bool is_of_system(string_view module) {
  const string_view name = module.substr(module.rfind('/') + 1);
  return std::ranges::any_of(kSystemLibraries, [&](string_view each) { return name.starts_with(each); });
}

}  // namespace

std::span<const string_view> machinery_names() { return kMachinery; }

bool is_machinery_name(string_view function) {
  const std::string name = listed_name(function);
  return matches_any(name, kMachinery) || is_trait_of_rust(name);
}

bool is_machinery(const model::Frame& frame) {
  if (frame.of_interpreter) return true;
  return frame.function.empty() ? is_of_system(frame.module) : is_machinery_name(frame.function);
}

bool is_way_to_end(const model::Frame& frame) {
  const bool is_signal = frame.function == "<signal handler called>";
  return is_signal || is_of_system(frame.module) || matches_any(listed_name(frame.function), kWaysToEnd);
}

bool is_start_of_rust(const model::Frame& frame) { return listed_name(frame.function) == "std::rt::lang_start"; }

bool is_startup(const model::Frame& frame) {
  if (frame.of_interpreter) return true;
  return frame.function.empty() ? is_of_system(frame.module) : matches_any(listed_name(frame.function), kStartup);
}

}  // namespace heaptap::findings
