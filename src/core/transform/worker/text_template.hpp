// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace gpushare::ptx {

/// Puts values into a text: "{name}" becomes its value.
inline std::string filled(std::string text, const std::string& name, const std::string& value) {
  const std::string placeholder = "{" + name + "}";
  for (std::size_t at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder, at)) {
    text.replace(at, placeholder.size(), value);
    at += value.size();
  }
  return text;
}

}  // namespace gpushare::ptx
