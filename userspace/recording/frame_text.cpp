// SPDX-License-Identifier: BSD-2-Clause
#include "recording/frame_text.h"

#include "base/text.h"
#include "recording/hex.h"

namespace rtnlprof::events {
std::string frame_text(const Frame& frame) {
  std::string text;
  if (!frame.symbol.empty()) {
    text = frame.symbol;
    if (frame.offset != 0) text += "+" + to_hex(frame.offset);
    if (!frame.module.empty()) text += " [" + frame.module + "]";
  } else if (frame.user && !frame.module.empty()) {
    text = frame.module.substr(frame.module.rfind('/') + 1) + "+" + to_hex(frame.file_offset);
  } else {
    text = to_hex(frame.address);
    if (!frame.module.empty()) text += " [" + frame.module + "]";
  }
  return valid_utf8(text);
}

Frame parse_frame_text(std::string_view text, bool user) {
  Frame frame;
  frame.user = user;
  if (const std::size_t open = text.rfind(" ["); open != std::string_view::npos && text.back() == ']' && open > 0) {
    frame.module = text.substr(open + 2, text.size() - open - 3);
    text = text.substr(0, open);
  }
  if (const auto address = parse_hex(text)) {
    frame.address = *address;
    return frame;
  }
  if (const std::size_t plus = text.rfind("+0x"); plus != std::string_view::npos && plus > 0) {
    const std::string_view offset = text.substr(plus + 1);
    const std::size_t slash = offset.find("/0x");
    const bool sized = slash != std::string_view::npos && parse_hex(offset.substr(slash + 1)).has_value();
    if (const auto value = parse_hex(sized ? offset.substr(0, slash) : offset)) {
      frame.offset = *value;
      text = text.substr(0, plus);
    }
  }
  frame.symbol = text;
  return frame;
}

}  // namespace rtnlprof::events
