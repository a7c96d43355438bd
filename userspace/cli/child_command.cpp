// SPDX-License-Identifier: BSD-2-Clause
#include "cli/child_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>

namespace rtnlprof::cli {
namespace {

// 0 when execvp() would find something to execute, else its errno.
int find_program(const std::string& name) {
  const auto check = [](const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return errno;
    if (!S_ISREG(info.st_mode)) return EACCES;
    return access(path.c_str(), X_OK) == 0 ? 0 : errno;
  };
  if (name.empty()) return ENOENT;
  if (name.find('/') != std::string::npos) return check(name);
  const char* path = std::getenv("PATH");
  std::istringstream directories(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  std::string directory;
  int worst = ENOENT;
  while (std::getline(directories, directory, ':')) {
    const int err = check((directory.empty() ? "." : directory) + "/" + name);
    if (err == 0) return 0;
    if (err == EACCES) worst = EACCES;
  }
  return worst;
}

[[noreturn]] void run_child(const std::vector<std::string>& arguments, bool stdout_to_stderr, int release_fd,
                            int error_fd) {
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  char go = 0;
  ssize_t got = 0;
  do {
    got = read(release_fd, &go, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) _exit(127);  // the recorder gave up
  if (stdout_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int err = errno;
  if (write(error_fd, &err, sizeof(err)) < 0) _exit(126);
  _exit(127);
}

}  // namespace

Status ChildCommand::prepare(const std::vector<std::string>& arguments, bool stdout_to_stderr) {
  const std::string hint = "check the name after `--`";
  if (const int err = find_program(arguments.front()); err != 0) {
    return Error::from_errno("cannot run " + arguments.front(), err, hint);
  }
  std::array<int, 2> release{};
  std::array<int, 2> error{};
  if (pipe2(release.data(), O_CLOEXEC) != 0) return Error::from_errno("cannot make a pipe", errno);
  if (pipe2(error.data(), O_CLOEXEC) != 0) {
    close(release[0]);
    close(release[1]);
    return Error::from_errno("cannot make a pipe", errno);
  }
  pid_ = fork();
  if (pid_ == 0) {
    close(release[1]);
    run_child(arguments, stdout_to_stderr, release[0], error[1]);
  }
  const int err = errno;
  close(release[0]);
  close(error[1]);
  release_fd_ = release[1];
  error_fd_ = error[0];
  if (pid_ < 0) return Error::from_errno("cannot start " + arguments.front(), err);
  return {};
}

Status ChildCommand::release() {
  const char go = 1;
  if (write(release_fd_, &go, 1) != 1) return Error::from_errno("cannot start the command", errno);
  close(release_fd_);
  release_fd_ = -1;
  int err = 0;
  ssize_t got = 0;
  do {
    got = read(error_fd_, &err, sizeof(err));  // ends at a successful exec
  } while (got < 0 && errno == EINTR);
  close(error_fd_);
  error_fd_ = -1;
  if (got == sizeof(err)) {
    reap(true);
    return Error::from_errno("cannot run the command", err, "check the name after `--`");
  }
  return {};
}

bool ChildCommand::reap(bool wait) {
  if (pid_ <= 0) return true;
  int status = 0;
  pid_t got = 0;
  do {
    got = waitpid(pid_, &status, wait ? 0 : WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  pid_ = -1;
  return true;
}

void ChildCommand::terminate() {
  if (pid_ > 0) kill(pid_, SIGTERM);
}

ChildCommand::~ChildCommand() {
  if (release_fd_ >= 0) close(release_fd_);  // end of file: the child leaves
  if (error_fd_ >= 0) close(error_fd_);
  if (pid_ > 0 && release_fd_ >= 0) reap(true);
}

std::string join_command(const std::vector<std::string>& arguments) {
  std::string joined;
  for (const std::string& argument : arguments) {
    if (!joined.empty()) joined += ' ';
    const bool plain = !argument.empty() && argument.find_first_of(" \t\n'\"\\$`;|&<>()*?") == std::string::npos;
    joined += plain ? argument : "'" + argument + "'";
  }
  return joined;
}

}  // namespace rtnlprof::cli
