// SPDX-License-Identifier: Apache-2.0
// Code that has been loaded. Its image is PTX text that ends with a zero: PTX as users have it, or what the `ptxas` in
// the folder above makes, which puts the assembler's report in front of it, in comments; or a cubin that a test has put
// such text behind.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/transform/ptx/ptx_module.hpp"
#include "device/context.hpp"
#include "ptx_interpreter/program.hpp"

namespace gpushare::stand_in {

struct Module;

struct Function {
  std::shared_ptr<const Module> module;
  const interpreter::FunctionCode* code = nullptr;
  int registers = 0;
  int most_threads = 0;
  int dynamic_shared_allowed = 0;

  int static_shared() const { return static_cast<int>(code->static_shared_bytes); }
};

/// The text in the image. Throws InvalidInput for machine code without any.
const char* ptx_of(const void* image);

struct Module {
  /// Throws InvalidInput where the interpreter does not understand it.
  explicit Module(std::string image) : text(std::move(image)), program(text) {}

  ptx::Module text;
  interpreter::Program program;
  std::shared_ptr<const Context> context{};  ///< in which it was loaded
};

/// Throws InvalidInput where there is none of this name.
Function function_of(std::shared_ptr<const Module> module, std::string_view name);

/// A variable in device memory, or constant; nullptr where there is none of this name.
const interpreter::Variable* variable_of(const Module& module, std::string_view name);

}  // namespace gpushare::stand_in
