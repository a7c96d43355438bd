// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

namespace rtnlprof {

// An expected failure, worded for the user: what failed on what and why, and what to do about it.
struct Error {
  std::string message;  // "cannot open trace.rtnl: No such file or directory"
  std::string hint;     // what to do next; empty when there is nothing useful to say

  // "WHAT: strerror(err)". `what` names the operation and its object.
  static Error from_errno(const std::string& what, int err, std::string hint = {}) {
    return {what + ": " + std::strerror(err), std::move(hint)};
  }
  // One line for stderr, without the program's name.
  [[nodiscard]] std::string line() const { return hint.empty() ? message : message + "; " + hint; }
};

// A value or an Error; the caller has to look. Not thread-safe, as any value.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<T>(state_); }
  [[nodiscard]] const T& value() const { return std::get<T>(state_); }
  [[nodiscard]] const Error& error() const { return std::get<Error>(state_); }
  T* operator->() { return &value(); }
  T& operator*() { return value(); }

 private:
  std::variant<T, Error> state_;
};

// Success or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace rtnlprof
