// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver/cupti.hpp"

#if GPUSHARE_HAS_CUPTI

namespace gpushare::cuda {
namespace {

bool is_about_permission(CUptiResult result) {
  return result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
         result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
}

}  // namespace

Cupti::Cupti(const SharedLibrary& library) {
#define GPUSHARE_LOAD(name) name = library.get<std::remove_pointer_t<decltype(&::name)>>(#name);
  GPUSHARE_CUPTI_FUNCTIONS(GPUSHARE_LOAD)
#undef GPUSHARE_LOAD
}

const Cupti& cupti(const std::string& path) {
  static const Cupti opened{SharedLibrary(path)};
  return opened;
}

void check_cupti(const Cupti& api, CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  if (is_about_permission(result)) {
    throw CudaError(
        "the driver lets only administrators read counters (ERR_NVGPUCTRPERM): run as root, or load the driver with "
        "NVreg_RestrictProfilingToAdminUsers=0");
  }
  const char* meaning = nullptr;
  api.cuptiGetErrorMessage(result, &meaning);
  throw CudaError(std::string(call) + " failed: " + (meaning != nullptr ? meaning : "no description") + " (result " +
                  std::to_string(static_cast<int>(result)) + ")");
}

}  // namespace gpushare::cuda

#endif
