// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/build_id_index.h"

#include <array>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "symbols/build_id.h"

namespace rtnlprof {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 20000;

// In the order of use: programs, then libraries. /usr/lib/TRIPLET is added where Debian has it.
std::vector<fs::path> directories(const std::string& root) {
  std::vector<fs::path> list;
  for (const char* const name : {"/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin",
                                 "/usr/lib64", "/lib64", "/usr/lib", "/lib"}) {
    list.emplace_back(root + name);
  }
  std::error_code error;
  for (fs::directory_iterator it(root + "/usr/lib", error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().find("-linux-gnu") != std::string::npos) list.push_back(it->path());
  }
  list.emplace_back(root + "/usr/libexec");
  return list;
}

}  // namespace

BuildIdIndex BuildIdIndex::scan(const std::string& root, std::chrono::milliseconds budget) {
  const auto deadline = std::chrono::steady_clock::now() + budget;
  BuildIdIndex index;
  std::set<std::string> seen;  // /bin is /usr/bin on most hosts
  std::size_t files = 0;
  for (const fs::path& directory : directories(root)) {
    std::error_code error;
    const fs::path real = fs::canonical(directory, error);
    if (error || !seen.insert(real.string()).second) continue;
    for (fs::directory_iterator it(real, error), end; !error && it != end; it.increment(error)) {
      if (++files > kMaxFiles || std::chrono::steady_clock::now() > deadline) return index;
      std::error_code unreadable;
      if (it->is_symlink(unreadable) || !it->is_regular_file(unreadable)) continue;
      const Result<std::string> id = read_build_id(it->path().string());
      if (!id) continue;
      std::string path = (directory / it->path().filename()).string();
      index.paths_.emplace(padded_build_id(id.value()), path.substr(root.size()));
    }
  }
  return index;
}

std::string BuildIdIndex::find(const std::string& build_id) const {
  const auto it = paths_.find(padded_build_id(build_id));
  return it == paths_.end() ? std::string() : it->second;
}

}  // namespace rtnlprof
