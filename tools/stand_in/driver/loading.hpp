// SPDX-License-Identifier: Apache-2.0
// How code comes to the device and goes: for modules, and for libraries, which have one each.
#pragma once

#include <string>

#include "device/gpu.hpp"

namespace gpushare::stand_in {

/// Throws Refusal where the image is not understood.
CUmodule load(Gpu& device, const void* image, CUgreenCtx context);
void unload(Gpu& device, CUmodule handle);
/// Throws Denial where there is none of this name.
CUfunction find_function(Gpu& device, CUmodule handle, const std::string& name);

}  // namespace gpushare::stand_in
