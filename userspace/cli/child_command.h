// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace rtnlprof::cli {

// The COMMAND of `record -- COMMAND`: forked at once, held back until release(), so that nothing of it is missed.
class ChildCommand {
 public:
  ChildCommand() = default;
  ChildCommand(const ChildCommand&) = delete;
  ChildCommand& operator=(const ChildCommand&) = delete;
  ~ChildCommand();  // a child never released is ended

  // Forks. An Error when the program cannot be found or may not be executed. With `stdout_to_stderr`, the command's
  // standard output goes to standard error.
  Status prepare(const std::vector<std::string>& arguments, bool stdout_to_stderr);
  // Lets it run. An Error when exec fails after all.
  Status release();
  // True once it has ended; then exit_status() is its status, or 128+N when signal N killed it.
  bool reap(bool wait);
  void terminate();  // SIGTERM, when it still runs

  [[nodiscard]] bool running() const { return pid_ > 0; }
  [[nodiscard]] int exit_status() const { return status_; }

 private:
  pid_t pid_ = -1;
  int release_fd_ = -1;
  int error_fd_ = -1;
  int status_ = 0;
};

// "a 'b c'": for people to read.
[[nodiscard]] std::string join_command(const std::vector<std::string>& arguments);

}  // namespace rtnlprof::cli
