// Writers of finding and data formats, one function each: see formats.h.
#pragma once
#include <string>

#include "views/exports/formats.h"

namespace heaptap::exports {

base::Result<> write_memcheck_xml(const report::Report& report, const report::Write& write);
base::Result<> write_lsan(const report::Report& report, const report::Write& write);
base::Result<> write_sarif(const report::Report& report, const report::Write& write);
base::Result<> write_junit(const report::Report& report, const report::Write& write);
base::Result<> write_github(const report::Report& report, const report::Write& write);
base::Result<> write_lines(const report::Report& report, const report::Write& write);
base::Result<> write_csv(const report::Report& report, const report::Write& write);
base::Result<> write_dot(const Input& input, const report::Write& write);
base::Result<> write_blocks(const report::Report& report, const report::Write& write);
// `path`: an empty file.
base::Result<> write_sqlite(const Input& input, const std::string& path);

}  // namespace heaptap::exports
