// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace gpushare {

/// The argument of Policy::begin(): a function of the run's seed (on a GPU: the number of the repeat) and of the
/// policy's name, so that no two policies of a comparison draw the same numbers. FNV-1a over both; random number
/// generators scramble their seeds themselves.
constexpr std::uint64_t policy_seed(std::uint64_t run_seed, std::string_view name) {
  constexpr std::uint64_t prime = 0x100000001b3;
  std::uint64_t hash = 0xcbf29ce484222325;
  for (int byte = 0; byte < 8; ++byte) hash = (hash ^ ((run_seed >> (8 * byte)) & 0xff)) * prime;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * prime;
  return hash;
}

}  // namespace gpushare
