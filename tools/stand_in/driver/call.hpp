// SPDX-License-Identifier: Apache-2.0
// What all functions of the driver have in common: what has to be so before they do anything, and how they answer.
#pragma once

#include "device/machine.hpp"

namespace gpushare::stand_in {

/// The one machine, until the process ends.
Machine& machine();
/// Remembers that cuInit was called, and by which process.
void initialise();
bool is_initialised();
CUresult refused(const char* name, const Refusal& refusal);

/// For what needs no lock.
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

/// While the calling thread has locked the machine: action(machine, lock).
template <class Action>
CUresult answer_locked(const char* name, Action action) noexcept {
  return answer(name, [&] {
    Machine& all = machine();
    Machine::Lock lock(all);
    action(all, lock);
  });
}

/// For what needs a current context, on whose device no kernel has failed: action(gpu, lock).
template <class Action>
CUresult answer_in_context(const char* name, Action action) noexcept {
  return answer_locked(name, [&](Machine&, Machine::Lock& lock) {
    Gpu& gpu = current_context()->gpu;
    gpu.expect_healthy();
    action(gpu, lock);
  });
}

/// For what is given a stream, on whose device no kernel has failed: action(stream, lock). On an H100 with driver 580,
/// what is given a stream, an event or a function needs no current context: those know their own.
template <class Action>
CUresult answer_in_stream(const char* name, CUstream handle, Action action) noexcept {
  return answer_locked(name, [&](Machine& all, Machine::Lock& lock) {
    Stream& stream = all.stream(handle);
    stream.gpu().expect_healthy();
    action(stream, lock);
  });
}

}  // namespace gpushare::stand_in
