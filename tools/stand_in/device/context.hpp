// SPDX-License-Identifier: Apache-2.0
// Contexts, of which every host thread has a stack: the primary one of a device, or a green one, which has some of a
// device's SMs.
#pragma once

#include <bitset>
#include <cstddef>
#include <memory>
#include <vector>

#include "device/cuda_header.hpp"
#include "device/limits.hpp"

namespace gpushare::stand_in {

class Gpu;

/// One bit for each SM.
using SmMask = std::bitset<Limits::most_sms>;
inline const SmMask all_sms = ~SmMask() >> static_cast<std::size_t>(Limits::most_sms - Limits::sms);

struct Context {
  Gpu& gpu;
  SmMask sms = all_sms;
  bool is_primary = true;
};

inline CUcontext handle_of(const Context& context) {
  return reinterpret_cast<CUcontext>(const_cast<Context*>(&context));
}

/// The calling thread's stack of current contexts.
std::vector<std::shared_ptr<const Context>>& contexts_pushed();
/// The one on top. Throws Refusal where there is none.
const std::shared_ptr<const Context>& current_context();

}  // namespace gpushare::stand_in
