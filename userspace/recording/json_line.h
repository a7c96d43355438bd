// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtnlprof {

// One parsed line of JSON as a flat list of nodes, reused from line to line so that parsing allocates nothing. Strict:
// RFC 8259, valid UTF-8, numbers within double, at most kMaxDepth levels. Not thread-safe.
class JsonLine {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kInteger, kUnsigned, kReal, kString, kArray, kObject };
  static constexpr std::size_t kMaxDepth = 64;
  using Index = std::uint32_t;  // 0 is the root, which is nobody's member: also "absent"

  struct Node {
    Kind kind = Kind::kNull;
    bool used = false;  // set by find()
    bool boolean = false;
    Index end = 0;           // one past the last node of this subtree
    std::size_t key_at = 0;  // in the text; of a member
    std::size_t key_size = 0;
    std::size_t text_at = 0;
    std::size_t text_size = 0;
    std::int64_t integer = 0;
    std::uint64_t natural = 0;  // kUnsigned
    double real = 0;
  };

  // Nothing on success, else what is wrong with `line`.
  [[nodiscard]] std::optional<std::string> parse(std::string_view line);

  [[nodiscard]] const Node& at(Index index) const { return nodes_[index]; }
  [[nodiscard]] std::string_view text(const Node& node) const {
    return std::string_view(text_).substr(node.text_at, node.text_size);
  }
  [[nodiscard]] std::string_view key(const Node& node) const {
    return std::string_view(text_).substr(node.key_at, node.key_size);
  }
  // Member `name` of the object `parent`, the last of several; 0 when absent or null. Marks it as used.
  Index find(Index parent, std::string_view name);
  // Whether the object `parent` has `name` at all, be it null.
  [[nodiscard]] bool has_member(Index parent, std::string_view name) const;
  // Marks everything below `parent` as used.
  void use_all(Index parent);
  // Members of the object `parent` that nobody asked for.
  [[nodiscard]] std::uint64_t unused(Index parent) const;

 private:
  class Builder;

  std::vector<Node> nodes_;
  std::string text_;
};

}  // namespace rtnlprof
