// SPDX-License-Identifier: BSD-2-Clause
#include "recording/json_writer.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace rtnlprof {

std::string json_string(std::string_view text) {
  return nlohmann::json(valid_utf8(text)).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace rtnlprof
