// SPDX-License-Identifier: BSD-2-Clause
#include "recording/event_line.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "recording/event_names.h"
#include "recording/format.h"
#include "recording/hex.h"
#include "recording/ids.h"

namespace rtnlprof::events {
namespace {

using Kind = JsonLine::Kind;

constexpr std::string_view kContextNames = "task, hardirq, softirq, nmi, timer, unknown";
constexpr std::string_view kKindNames =
    "mutex, rwsem_read, rwsem_write, rtmutex, percpu_rwsem_read, percpu_rwsem_write, unknown";

// A value of the input in a message: safe and short.
std::string quoted(std::string_view value) { return "'" + terminal_safe(value.substr(0, 40)) + "'"; }

}  // namespace

bool EventLine::parse(std::string_view line) {
  fault_.clear();
  type_.clear();
  if (auto problem = json_.parse(line)) {
    fail(std::move(*problem));
    return false;
  }
  if (json_.at(0).kind != Kind::kObject) {
    fail("not a JSON object");
    return false;
  }
  type_ = required_text("type");
  return ok();
}

void EventLine::fail(std::string reason) {
  if (!fault_.empty()) return;
  fault_ = type_.empty() ? std::move(reason) : type_ + ": " + std::move(reason);
}

void EventLine::fail_line(std::string reason) {
  type_.clear();
  fault_ = std::move(reason);
}

const JsonLine::Node* EventLine::find(std::string_view key, Index parent) {
  const Index found = json_.find(parent, key);
  return found == 0 ? nullptr : &json_.at(found);
}

void EventLine::wrong(std::string_view key, std::string_view what) {
  fail(std::string(key) + " must be " + std::string(what));
}

std::optional<std::int64_t> EventLine::whole_number(std::string_view key, Index parent, std::int64_t low,
                                                    std::int64_t high) {
  const JsonLine::Node* node = find(key, parent);
  if (node == nullptr) return std::nullopt;
  std::int64_t value = 0;
  if (node->kind == Kind::kInteger) {
    value = node->integer;
  } else if (node->kind == Kind::kReal && std::abs(node->real) < 0x1p53 && std::trunc(node->real) == node->real) {
    value = static_cast<std::int64_t>(node->real);  // 1e9: exact up to 2^53
  } else if (node->kind == Kind::kUnsigned) {
    wrong(key, "a smaller number");
    return std::nullopt;
  } else {
    wrong(key, "a whole number");
    return std::nullopt;
  }
  if (value < low || value > high) {
    wrong(key, "between " + std::to_string(low) + " and " + std::to_string(high));
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> EventLine::time(std::string_view key, Index parent) {
  return whole_number(key, parent, -format::kMaxTime, format::kMaxTime);
}

std::optional<std::int32_t> EventLine::integer(std::string_view key, Index parent) {
  const auto value = whole_number(key, parent, INT32_MIN, INT32_MAX);
  return value ? std::optional(static_cast<std::int32_t>(*value)) : std::nullopt;
}

std::optional<std::int32_t> EventLine::tid(std::string_view key, Index parent) {
  const auto value = whole_number(key, parent, 0, INT32_MAX);
  return value ? std::optional(static_cast<std::int32_t>(*value)) : std::nullopt;
}

std::uint64_t EventLine::count(std::string_view key, std::uint64_t otherwise, Index parent) {
  // Sums of many counts must not overflow either.
  const auto value = whole_number(key, parent, 0, format::kMaxTime);
  return value ? static_cast<std::uint64_t>(*value) : otherwise;
}

std::string_view EventLine::text(std::string_view key, Index parent) {
  const JsonLine::Node* node = find(key, parent);
  if (node == nullptr) return {};
  if (node->kind != Kind::kString) {
    wrong(key, "a string");
    return {};
  }
  return json_.text(*node);
}

std::optional<bool> EventLine::flag(std::string_view key, Index parent) {
  const JsonLine::Node* node = find(key, parent);
  if (node == nullptr) return std::nullopt;
  if (node->kind != Kind::kBool) wrong(key, "true or false");
  return node->boolean;
}

EventLine::Index EventLine::object(std::string_view key, Index parent) {
  const Index found = json_.find(parent, key);
  if (found == 0 || json_.at(found).kind == Kind::kObject) return found;
  wrong(key, "an object");
  return 0;
}

std::optional<std::uint64_t> EventLine::address(std::string_view key, Index parent) {
  const JsonLine::Node* node = find(key, parent);
  if (node == nullptr) return std::nullopt;
  if (node->kind == Kind::kUnsigned) return node->natural;
  if (node->kind == Kind::kInteger && node->integer >= 0) return static_cast<std::uint64_t>(node->integer);
  if (node->kind != Kind::kString) {
    wrong(key, "an address: \"0x…\" or a number");
    return std::nullopt;
  }
  const std::string_view value = json_.text(*node);
  if (value.starts_with("0x")) {
    const auto parsed = parse_hex(value);
    if (!parsed) wrong(key, "an address, not " + quoted(value));
    return parsed;
  }
  // %p of older tools: 16 digits without 0x.
  return value.size() == 16 ? parse_hex_digits(value) : std::nullopt;
}

std::int64_t EventLine::required_time(std::string_view key) {
  const auto value = time(key);
  if (!value) fail("missing key " + std::string(key));
  return value.value_or(0);
}

std::int32_t EventLine::required_tid() {
  const auto value = tid("tid");
  if (!value) fail("missing key tid");
  return value.value_or(0);
}

std::string_view EventLine::required_text(std::string_view key) {
  if (find(key, 0) == nullptr) fail("missing key " + std::string(key));
  return text(key);
}

void EventLine::in_order(std::string_view first_key, std::int64_t first, std::string_view second_key,
                         std::int64_t second) {
  if (second < first) fail(std::string(second_key) + " is before " + std::string(first_key));
}

char EventLine::state(std::string_view extra) {
  const std::string_view value = text("state");
  if (value.empty()) return '?';
  const bool known = value.size() == 1 && format::is_task_state(value[0]) &&
                     (value[0] != 'R' || extra.find('R') != std::string_view::npos);
  if (!known) fail("unknown state " + quoted(value) + "; known: S D I K T t P X Z L ?");
  return known ? value[0] : '?';
}

LockKind EventLine::lock_kind() {
  const std::string_view value = text("kind");
  if (value.empty()) return LockKind::kUnknown;
  const auto index = index_of(kLockKinds, value);
  if (!index) fail("unknown kind " + quoted(value) + "; known: " + std::string(kKindNames));
  return static_cast<LockKind>(index.value_or(0));
}

EventLine::LockReference EventLine::lock() {
  LockReference reference{address("lock"), text("name")};
  if (!reference.address && reference.name.empty() && ok() && has("lock")) reference.name = text("lock");
  if (reference.address == 0) reference.address.reset();
  return reference;
}

EventLine::WakerReference EventLine::waker() {
  const Index waker = object("waker");
  if (waker == 0) return {};
  const std::int32_t tid = integer("tid", waker).value_or(0);
  if (tid < -1) fail("waker.tid must be a tid, or -1 for an interrupt");
  const std::string_view context = text("context", waker);
  WakerReference reference{std::max(tid, 0), WakerContext::kTask};
  if (!context.empty()) {
    const auto index = index_of(kWakerContexts, context);
    if (!index) fail("unknown waker.context " + quoted(context) + "; known: " + std::string(kContextNames));
    reference.context = static_cast<WakerContext>(index.value_or(0));
  } else if (tid <= 0) {
    // -1 is LinuxKI's ICS, and 0 the idle task, which is only ever interrupted when it seems to wake someone.
    reference.context = WakerContext::kHardirq;
  }
  if (tid == -1 && reference.context == WakerContext::kTask) fail("waker.tid -1 contradicts its context task");
  // The task an interrupt hit has nothing to do with the wakeup.
  if (reference.context != WakerContext::kTask && reference.context != WakerContext::kUnknown) reference.tid = 0;
  return reference;
}

EventLine::Syscall EventLine::syscall() {
  const JsonLine::Node* node = find("syscall", 0);
  if (node == nullptr) return {};
  if (node->kind == Kind::kString) return {-1, json_.text(*node)};
  const auto number = whole_number("syscall", 0, -1, INT32_MAX);
  return {static_cast<std::int32_t>(number.value_or(-1)), {}};
}

std::int32_t EventLine::policy() {
  const JsonLine::Node* node = find("policy", 0);
  if (node == nullptr || node->kind != Kind::kString) return integer("policy").value_or(-1);
  const auto index = index_of(kPolicies, json_.text(*node));
  if (!index) fail("unknown policy " + quoted(json_.text(*node)));
  return index ? static_cast<std::int32_t>(*index) : -1;
}

EventLine::Index EventLine::frames(std::string_view key) {
  const Index array = json_.find(0, key);
  if (array == 0) return 0;
  if (json_.at(array).kind != Kind::kArray) {
    wrong(key, "an array of frames");
    return 0;
  }
  std::size_t depth = 0;
  for (Index i = array + 1; i < json_.at(array).end; i = json_.at(i).end) {
    ++depth;
    if (json_.at(i).kind == Kind::kObject) {
      frame_details(i);
    } else if (json_.at(i).kind != Kind::kString) {
      wrong(key, "an array of strings or objects");
    }
  }
  if (depth > format::kMaxFrames) fail(std::string(key) + " has more than 4096 frames");
  return array;
}

Frame EventLine::frame_details(Index object) {
  Frame frame;
  frame.symbol = text("symbol", object);
  frame.module = text("module", object);
  frame.build_id = text("build_id", object);
  frame.address = address("address", object).value_or(0);
  frame.offset = address("offset", object).value_or(0);
  frame.file_offset = address("file_offset", object).value_or(0);
  frame.unreliable = flag("unreliable", object).value_or(false);
  frame.user = flag("user", object).value_or(false);
  return frame;
}

}  // namespace rtnlprof::events
