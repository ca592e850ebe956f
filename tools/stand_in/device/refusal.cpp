// SPDX-License-Identifier: Apache-2.0
#include "device/refusal.hpp"

#include <cstdio>
#include <cstdlib>

namespace gpushare::stand_in {

void write_log(const std::string& line) {
  const char* path = std::getenv("GPUSHARE_STAND_IN_LOG");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "a");
  if (file == nullptr) return;
  std::fputs((line + "\n").c_str(), file);
  std::fclose(file);
}

}  // namespace gpushare::stand_in
