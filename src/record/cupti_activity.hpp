// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity interface, opened at run time inside the process that is recorded.
#pragma once

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_result.h>
#include <cupti_version.h>

#include <stdexcept>
#include <string>
#include <type_traits>

namespace gpushare::recording {

/// CUPTI is missing, of another release, or refuses; the message says what to do.
struct CuptiError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

#define GPUSHARE_ACTIVITY_FUNCTIONS(F) \
  F(cuptiActivityEnable)               \
  F(cuptiActivityFlushAll)             \
  F(cuptiActivityGetNextRecord)        \
  F(cuptiActivityGetNumDroppedRecords) \
  F(cuptiActivityRegisterCallbacks)    \
  F(cuptiEnableCallback)               \
  F(cuptiGetResultString)              \
  F(cuptiGetTimestamp)                 \
  F(cuptiGetVersion)                   \
  F(cuptiSubscribe)

// Additions of later releases.
#define GPUSHARE_ACTIVITY_EXTRAS(F) \
  F(cuptiActivityEnableDriverApi)   \
  F(cuptiActivityEnableRuntimeApi)

struct CuptiActivity {
  /// Opens the library at this path, or one that the process has loaded already. Throws CuptiError unless it is of the
  /// major release that this was built for.
  explicit CuptiActivity(const std::string& path);

  /// Throws CuptiError naming the call unless it succeeded.
  void check(CUptiResult result, const char* call) const;

#define GPUSHARE_DECLARE(name) std::add_pointer_t<decltype(::name)> name = nullptr;
  GPUSHARE_ACTIVITY_FUNCTIONS(GPUSHARE_DECLARE)
  GPUSHARE_ACTIVITY_EXTRAS(GPUSHARE_DECLARE)
#undef GPUSHARE_DECLARE
};

}  // namespace gpushare::recording
