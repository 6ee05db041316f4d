#include "analysis/query/kept_by_libraries.h"

#include <algorithm>
#include <array>

namespace heaptap::query {
namespace {

using report::Purpose;
using std::string_view;

struct Keeper {
  string_view function;  // without leading underscores; a * at the end stands for any characters
  Purpose purpose;
};

constexpr auto kGlibc = std::to_array<Keeper>({
    {"IO_file_doallocate", Purpose::kFileBuffers},
    {"IO_wfile_doallocbuf", Purpose::kFileBuffers},
    {"add_to_environ", Purpose::kEnvironment},
    {"setenv", Purpose::kEnvironment},
    {"putenv", Purpose::kEnvironment},
    {"nl_*", Purpose::kLocale},
    {"setlocale", Purpose::kLocale},
    {"bindtextdomain", Purpose::kTranslations},
    {"set_binding_values", Purpose::kTranslations},
    {"textdomain", Purpose::kTranslations},
    {"dcigettext", Purpose::kTranslations},
    {"dcgettext", Purpose::kTranslations},
    {"dgettext", Purpose::kTranslations},
    {"gettext", Purpose::kTranslations},
    {"tzset*", Purpose::kTimeZone},
    {"tzfile_*", Purpose::kTimeZone},
    {"tzstring*", Purpose::kTimeZone},
    {"tz_convert", Purpose::kTimeZone},
    {"localtime*", Purpose::kTimeZone},
    {"mktime*", Purpose::kTimeZone},
    {"new_exitfn", Purpose::kExitFunctions},
    {"cxa_atexit", Purpose::kExitFunctions},
    {"cxa_thread_atexit_impl", Purpose::kExitFunctions},
    {"atexit", Purpose::kExitFunctions},
    {"on_exit", Purpose::kExitFunctions},
    {"nss_*", Purpose::kUserDatabase},
    {"getpwnam", Purpose::kUserDatabase},
    {"getpwuid", Purpose::kUserDatabase},
    {"getgrnam", Purpose::kUserDatabase},
    {"getgrgid", Purpose::kUserDatabase},
    {"gconv_find*", Purpose::kConversions},
    {"gconv_load*", Purpose::kConversions},
    {"gconv_lookup*", Purpose::kConversions},
    {"gconv_read*", Purpose::kConversions},
    {"wcsmbs_load_conv", Purpose::kConversions},
    {"pthread_setspecific", Purpose::kThreadSpecific},
});

constexpr auto kGlib = std::to_array<Keeper>({
    {"type_node_*", Purpose::kGlibTypes},
    {"type_data_*", Purpose::kGlibTypes},
    {"type_class_init*", Purpose::kGlibTypes},
    {"type_iface_*", Purpose::kGlibTypes},
    {"type_add_*", Purpose::kGlibTypes},
    {"g_type_add_*", Purpose::kGlibTypes},
    {"g_type_register_*", Purpose::kGlibTypes},
    {"g_type_class_ref", Purpose::kGlibTypes},
    {"g_type_default_interface_ref", Purpose::kGlibTypes},
    {"g_type_interface_add_prerequisite", Purpose::kGlibTypes},
    {"g_boxed_type_register_static", Purpose::kGlibTypes},
    {"g_enum_register_static", Purpose::kGlibTypes},
    {"g_flags_register_static", Purpose::kGlibTypes},
    {"g_pointer_type_register_static", Purpose::kGlibTypes},
    {"g_param_type_register_static", Purpose::kGlibTypes},
    {"g_param_spec_pool_insert", Purpose::kGlibTypes},
    {"g_value_register_transform_func", Purpose::kGlibTypes},
    {"g_signal_new*", Purpose::kGlibTypes},
    {"gobject_init*", Purpose::kGlibTypes},
    {"quark_*", Purpose::kGlibQuarks},
    {"g_quark_*", Purpose::kGlibQuarks},
    {"g_intern_*", Purpose::kGlibQuarks},
    {"g_get_charset", Purpose::kGlibSettings},
    {"g_get_filename_charsets", Purpose::kGlibSettings},
    {"g_get_home_dir", Purpose::kGlibSettings},
    {"g_get_host_name", Purpose::kGlibSettings},
    {"g_get_language_names*", Purpose::kGlibSettings},
    {"g_get_real_name", Purpose::kGlibSettings},
    {"g_get_system_*", Purpose::kGlibSettings},
    {"g_get_tmp_dir", Purpose::kGlibSettings},
    {"g_get_user_*", Purpose::kGlibSettings},
    {"g_set_application_name", Purpose::kGlibSettings},
    {"g_set_prgname", Purpose::kGlibSettings},
    {"g_private_*", Purpose::kGlibThreads},
    {"g_thread_self", Purpose::kGlibThreads},
});

string_view file_name_of(string_view path) { return path.substr(path.rfind('/') + 1); }

// Empty: not one of these libraries.
std::span<const Keeper> keepers_of(string_view path) {
  const string_view name = file_name_of(path);
  if (name.starts_with("libc.so") || name.starts_with("libc-2")) return kGlibc;
  if (name.starts_with("libglib-2.0.so") || name.starts_with("libgobject-2.0.so")) return kGlib;
  return {};
}

string_view without_underscores(string_view function) {
  return function.substr(std::min(function.find_first_not_of('_'), function.size()));
}

// "setenv" of "__setenv", "type_node_any_new_W" of "type_node_any_new_W.part.0", "IO_file_doallocate" of glibc's internal name
// "__GI__IO_file_doallocate".
string_view without_decoration(string_view function) {
  constexpr string_view kInternal = "GI_";
  function = without_underscores(function);
  if (function.starts_with(kInternal)) function = without_underscores(function.substr(kInternal.size()));
  return function.substr(0, function.find_first_of(".@("));
}

bool is_named(string_view function, string_view pattern) {
  if (!pattern.ends_with('*')) return function == pattern;
  pattern.remove_suffix(1);
  return function.starts_with(pattern);
}

}  // namespace

bool is_keeping_library(string_view path) {
  const string_view name = file_name_of(path);
  return !keepers_of(path).empty() || name.starts_with("ld-") || name.starts_with("libstdc++.so");
}

Purpose kept_by_libraries(std::span<const model::Frame> frames) {
  for (const model::Frame& frame : frames) {
    if (!is_keeping_library(frame.module)) break;
    const std::span<const Keeper> keepers = keepers_of(frame.module);
    const string_view function = without_decoration(frame.function);
    const auto keeper =
        std::ranges::find_if(keepers, [&](const Keeper& each) { return is_named(function, each.function); });
    if (keeper != keepers.end()) return keeper->purpose;
  }
  return Purpose::kProgram;
}

}  // namespace heaptap::query
