// SPDX-License-Identifier: Apache-2.0
// A module and the program made from it.
#pragma once

#include <string>
#include <utility>

#include "core/transform/ptx/ptx_module.hpp"
#include "ptx_interpreter/program.hpp"

namespace gpushare::interpreter {

struct Kernel {
  explicit Kernel(std::string text) : module(std::move(text)), program(module) {}
  ptx::Module module;
  Program program;
};

}  // namespace gpushare::interpreter
