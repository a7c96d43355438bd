// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/events.h"
#include "recording/json_line.h"

namespace rtnlprof::events {

// Typed access to the keys of one line of an event stream. The first key that is missing, has the wrong type or an
// impossible value sets fault(); what the getters return after that has no meaning. A null is an absent key.
// Returned texts are valid until the next line is parsed.
class EventLine {
 public:
  using Index = JsonLine::Index;

  // Parses `line`; false, with a fault, when it is not a JSON object with a `type`.
  bool parse(std::string_view line);

  [[nodiscard]] std::string_view type() const { return type_; }
  [[nodiscard]] bool ok() const { return fault_.empty(); }
  [[nodiscard]] const std::string& fault() const { return fault_; }
  void fail(std::string reason);
  // A line that was never parsed.
  void fail_line(std::string reason);

  // Optional keys. `parent` is an object of this line, 0 the line itself.
  std::optional<std::int64_t> time(std::string_view key, Index parent = 0);
  std::optional<std::int32_t> integer(std::string_view key, Index parent = 0);
  std::optional<std::int32_t> tid(std::string_view key, Index parent = 0);  // not negative
  std::uint64_t count(std::string_view key, std::uint64_t otherwise, Index parent = 0);
  std::string_view text(std::string_view key, Index parent = 0);
  std::optional<bool> flag(std::string_view key, Index parent = 0);
  Index object(std::string_view key, Index parent = 0);  // 0 when absent
  [[nodiscard]] bool has(std::string_view key) { return json_.find(0, key) != 0; }
  // True for a null, too.
  [[nodiscard]] bool present(std::string_view key) const { return json_.has_member(0, key); }
  // A number, or a string of hexadecimal digits with 0x; nothing when absent or (no fault) another string.
  std::optional<std::uint64_t> address(std::string_view key, Index parent = 0);

  // Required keys.
  std::int64_t required_time(std::string_view key);
  std::int32_t required_tid();
  std::string_view required_text(std::string_view key);
  // Two times must be in order.
  void in_order(std::string_view first_key, std::int64_t first, std::string_view second_key, std::int64_t second);

  // `state`: one letter; '?' when absent. `extra` is allowed besides those of a sleep.
  char state(std::string_view extra = {});
  LockKind lock_kind();

  struct LockReference {
    std::optional<std::uint64_t> address;
    std::string_view name;
  };
  // `lock` and `name`; a `lock` that is no address is a name.
  LockReference lock();

  struct WakerReference {
    std::int32_t tid = 0;  // 0: none
    WakerContext context = WakerContext::kUnknown;
  };
  WakerReference waker();

  struct Syscall {
    std::int32_t number = -1;
    std::string_view name;
  };
  Syscall syscall();
  // `policy`: a number or a name such as SCHED_FIFO; -1 when absent.
  std::int32_t policy();

  // An array of frames, each a string or an object, checked; 0 when absent.
  Index frames(std::string_view key);
  // Of an object that describes a frame.
  Frame frame_details(Index object);

  // Keys of the line that nothing asked for.
  [[nodiscard]] std::uint64_t unknown_keys() const { return json_.unused(0); }
  void use_all() { json_.use_all(0); }
  [[nodiscard]] const JsonLine& json() const { return json_; }

 private:
  const JsonLine::Node* find(std::string_view key, Index parent);
  void wrong(std::string_view key, std::string_view what);
  std::optional<std::int64_t> whole_number(std::string_view key, Index parent, std::int64_t low, std::int64_t high);

  JsonLine json_;
  std::string type_;
  std::string fault_;
};

}  // namespace rtnlprof::events
