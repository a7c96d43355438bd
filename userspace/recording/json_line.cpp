// SPDX-License-Identifier: BSD-2-Clause
#include "recording/json_line.h"

#include <nlohmann/json.hpp>

namespace rtnlprof {

// Receives nlohmann's SAX events; returning false stops the parser.
class JsonLine::Builder {
 public:
  explicit Builder(JsonLine& line) : line_(line) {}

  bool null() {
    add(Kind::kNull);
    return true;
  }
  bool boolean(bool value) {
    add(Kind::kBool).boolean = value;
    return true;
  }
  bool number_integer(std::int64_t value) {
    add(Kind::kInteger).integer = value;
    return true;
  }
  bool number_unsigned(std::uint64_t value) {
    Node& node = add(value <= INT64_MAX ? Kind::kInteger : Kind::kUnsigned);
    node.integer = static_cast<std::int64_t>(value);
    node.natural = value;
    return true;
  }
  bool number_float(double value, const std::string& /*text*/) {
    add(Kind::kReal).real = value;
    return true;
  }
  bool string(std::string& value) {
    const std::size_t at = line_.text_.size();
    line_.text_ += value;
    Node& node = add(Kind::kString);
    node.text_at = at;
    node.text_size = value.size();
    return true;
  }
  bool binary(nlohmann::json::binary_t& /*value*/) { return false; }
  bool key(std::string& value) {
    key_at_ = line_.text_.size();
    key_size_ = value.size();
    line_.text_ += value;
    return true;
  }
  bool start_object(std::size_t /*size*/) { return open(Kind::kObject); }
  bool start_array(std::size_t /*size*/) { return open(Kind::kArray); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::detail::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while …"
    std::string_view what = error.what();
    if (const std::size_t colon = what.find(": "); colon != std::string_view::npos) what.remove_prefix(colon + 2);
    error_ = "invalid JSON at column " + std::to_string(position) + ": " + std::string(what.substr(0, 200));
    return false;
  }

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  Node& add(Kind kind) {
    Node& node = line_.nodes_.emplace_back();
    node.kind = kind;
    node.key_at = key_at_;
    node.key_size = key_size_;
    node.end = static_cast<Index>(line_.nodes_.size());
    key_size_ = 0;
    return node;
  }
  bool open(Kind kind) {
    if (open_.size() == kMaxDepth) {
      error_ = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
      return false;
    }
    open_.push_back(static_cast<Index>(line_.nodes_.size()));
    add(kind);
    return true;
  }
  bool close() {
    line_.nodes_[open_.back()].end = static_cast<Index>(line_.nodes_.size());
    open_.pop_back();
    return true;
  }

  JsonLine& line_;
  std::vector<Index> open_;
  std::size_t key_at_ = 0;
  std::size_t key_size_ = 0;
  std::string error_;
};

std::optional<std::string> JsonLine::parse(std::string_view line) {
  nodes_.clear();
  text_.clear();
  Builder builder(*this);
  if (nlohmann::json::sax_parse(line.begin(), line.end(), &builder)) return std::nullopt;
  return builder.error().empty() ? std::optional<std::string>("invalid JSON") : builder.error();
}

JsonLine::Index JsonLine::find(Index parent, std::string_view name) {
  Index found = 0;
  for (Index i = parent + 1; i < nodes_[parent].end; i = nodes_[i].end) {
    if (key(nodes_[i]) != name) continue;
    nodes_[i].used = true;
    found = nodes_[i].kind == Kind::kNull ? 0 : i;
  }
  return found;
}

bool JsonLine::has_member(Index parent, std::string_view name) const {
  for (Index i = parent + 1; i < nodes_[parent].end; i = nodes_[i].end) {
    if (key(nodes_[i]) == name) return true;
  }
  return false;
}

void JsonLine::use_all(Index parent) {
  for (Index i = parent + 1; i < nodes_[parent].end; ++i) nodes_[i].used = true;
}

std::uint64_t JsonLine::unused(Index parent) const {
  std::uint64_t count = 0;
  for (Index i = parent + 1; i < nodes_[parent].end; i = nodes_[i].end) count += nodes_[i].used ? 0 : 1;
  return count;
}

}  // namespace rtnlprof
