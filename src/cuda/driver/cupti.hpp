// SPDX-License-Identifier: Apache-2.0
// CUPTI's range profiler, opened when counters are requested. Its headers need not be installed when gpushare is built:
// without them there are no counters, and everything else works.
#pragma once

#if __has_include(<cupti_profiler_host.h>) && __has_include(<cupti_range_profiler.h>)
#define GPUSHARE_HAS_CUPTI 1
#else
#define GPUSHARE_HAS_CUPTI 0
#endif

#if GPUSHARE_HAS_CUPTI

#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <string>

#include "cuda/driver/shared_library.hpp"

namespace gpushare::cuda {

#define GPUSHARE_CUPTI_FUNCTIONS(F)               \
  F(cuptiGetErrorMessage)                         \
  F(cuptiProfilerInitialize)                      \
  F(cuptiDeviceGetChipName)                       \
  F(cuptiProfilerGetCounterAvailability)          \
  F(cuptiProfilerHostInitialize)                  \
  F(cuptiProfilerHostDeinitialize)                \
  F(cuptiProfilerHostConfigAddMetrics)            \
  F(cuptiProfilerHostGetConfigImageSize)          \
  F(cuptiProfilerHostGetConfigImage)              \
  F(cuptiProfilerHostGetNumOfPasses)              \
  F(cuptiProfilerHostEvaluateToGpuValues)         \
  F(cuptiRangeProfilerEnable)                     \
  F(cuptiRangeProfilerDisable)                    \
  F(cuptiRangeProfilerGetCounterDataSize)         \
  F(cuptiRangeProfilerCounterDataImageInitialize) \
  F(cuptiRangeProfilerSetConfig)                  \
  F(cuptiRangeProfilerStart)                      \
  F(cuptiRangeProfilerStop)                       \
  F(cuptiRangeProfilerPushRange)                  \
  F(cuptiRangeProfilerPopRange)                   \
  F(cuptiRangeProfilerDecodeData)

struct Cupti {
  explicit Cupti(const SharedLibrary& library);
#define GPUSHARE_DECLARE(name) decltype(&::name) name;
  GPUSHARE_CUPTI_FUNCTIONS(GPUSHARE_DECLARE)
#undef GPUSHARE_DECLARE
};

/// The library at this path, opened once and for as long as the process lives: later paths do not matter. Throws
/// CudaError where it cannot be opened or is too old.
const Cupti& cupti(const std::string& path);

/// Throws CudaError naming the call, unless it succeeded.
void check_cupti(const Cupti& api, CUptiResult result, const char* call);

}  // namespace gpushare::cuda

#endif
