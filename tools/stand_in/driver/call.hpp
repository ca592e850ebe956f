// SPDX-License-Identifier: Apache-2.0
// What all functions of the driver have in common: who may call them when, and how they answer.
#pragma once

#include "device/gpu.hpp"

namespace gpushare::stand_in {

/// The one GPU, until the process ends.
Gpu& gpu();
/// Remembers that cuInit was called, and by which process.
void initialise();
bool is_initialised();
CUresult refused(const char* name, const Refusal& refusal);

/// For what needs no context.
template <class Action>
CUresult answer(const char* name, Action action) noexcept {
  if (!is_initialised()) return CUDA_ERROR_NOT_INITIALIZED;
  try {
    action();
    return CUDA_SUCCESS;
  } catch (const Refusal& refusal) {
    return refused(name, refusal);
  }
}

/// In a turn of the calling thread, while no kernel has failed. action(gpu, turn).
template <class Action>
CUresult answer_in_turn(const char* name, Action action) noexcept {
  return answer(name, [&] {
    Gpu& device = gpu();
    Gpu::Turn turn(device);
    if (device.failure() != CUDA_SUCCESS) throw Denial(device.failure(), "a kernel has failed");
    action(device, turn);
  });
}

/// For what needs a current context besides. On an H100 with driver 580, what is given a stream, an event or a function
/// needs none: those know their own.
template <class Action>
CUresult answer_in_context(const char* name, Action action) noexcept {
  return answer_in_turn(name, [&](Gpu& device, Gpu::Turn& turn) {
    expect_current_context();
    action(device, turn);
  });
}

}  // namespace gpushare::stand_in
