// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace rtnlprof::test {

// A directory that goes away with the object: a root for readers of /proc and /sys.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "rtnlprof-test-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  // Writes `content` to `name`, a path below the directory that starts with '/', and returns the whole path.
  std::string write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file(path_ + name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }
  [[nodiscard]] std::string copy(const std::string& from, const std::string& name) const {
    const std::filesystem::path file(path_ + name);
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::copy_file(from, file, std::filesystem::copy_options::overwrite_existing);
    return file.string();
  }

 private:
  std::string path_;
};

}  // namespace rtnlprof::test
