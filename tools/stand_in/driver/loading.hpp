// SPDX-License-Identifier: Apache-2.0
// How code comes to a device and goes: for modules, and for libraries, which have a module per device.
#pragma once

#include <string>

#include "device/machine.hpp"

namespace gpushare::stand_in {

/// Throws Refusal where the image is not understood.
CUmodule load(const std::shared_ptr<const Context>& context, const void* image);
void unload(Machine& machine, CUmodule handle);
const std::shared_ptr<const Module>& module_behind(const Machine& machine, CUmodule handle);
/// Throws Denial where there is none of this name.
CUfunction find_function(Machine& machine, CUmodule handle, const std::string& name);

Library& library_behind(const Machine& machine, CUlibrary handle);
/// The library's code on a device, in its primary context.
CUmodule module_on(Gpu& gpu, Library& library);
CUfunction function_on(Gpu& gpu, CUkernel handle);

/// The function behind its own handle, or on this device that of a library's kernel. Throws Refusal.
Function& function_behind(Gpu& gpu, CUfunction handle);
/// The device to load a library on where none is named: that of the current context, or the first.
Gpu& current_or_first(const Machine& machine);
/// The same for a function, whose handle may say it: not where it is a library's kernel.
Gpu& device_of(const Machine& machine, CUfunction handle);

}  // namespace gpushare::stand_in
