// SPDX-License-Identifier: Apache-2.0
// The start of CUDA in a process, and the ends of contexts, which take their events and pinned words with them, and of
// streams.
#include "intercept/driver.hpp"
#include "intercept/launch_samples.hpp"
#include "intercept/membership.hpp"
#include "intercept/phases.hpp"
#include "intercept/progress.hpp"
#include "intercept/staging.hpp"
#include "intercept/workers/worker_rounds.hpp"

using namespace gpushare::intercept;

namespace gpushare::intercept {
namespace {

void forget_contexts() {
  drop_samples();
  pin_again();
  drop_workers();
  forget_staging_of_context();
}

bool is_active(CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  return call(real.cuDevicePrimaryCtxGetState, device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

}  // namespace
}  // namespace gpushare::intercept

extern "C" {

CUresult cuInit(unsigned flags) {
  const CUresult result = call(real.cuInit, flags);
  if (result == CUDA_SUCCESS) this_member();
  return result;
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  forget_phase_of_context();
  forget_contexts();
  return call(real.cuCtxDestroy_v2, context);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  forget_phase_of_context();
  forget_contexts();
  return call(real.cuDevicePrimaryCtxReset_v2, device);
}

/// Other libraries of the program may retain it.
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  forget_phase_of_context();
  const CUresult result = call(real.cuDevicePrimaryCtxRelease_v2, device);
  if (result == CUDA_SUCCESS && !is_active(device)) forget_contexts();
  return result;
}

/// Nothing more can be put into it, so the end of its phase is marked now.
CUresult cuStreamDestroy_v2(CUstream stream) {
  complete_task();
  return call(real.cuStreamDestroy_v2, stream);
}

}  // extern "C"
