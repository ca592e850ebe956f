// SPDX-License-Identifier: Apache-2.0
#include "record/cupti_activity.hpp"

#include <dlfcn.h>

#include <cstdint>

namespace gpushare::recording {
namespace {

constexpr std::uint32_t major_of(std::uint32_t version) { return version / 10000; }

void* open_cupti(const std::string& path) {
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* reason = dlerror();
  throw CuptiError("cannot open " + path + ": " + (reason != nullptr ? reason : "no reason given"));
}

/// Two copies in one process do not work: where the program has one, it is used.
void* loaded_or_opened(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return handle;
  return open_cupti(path);
}

}  // namespace

CuptiActivity::CuptiActivity(const std::string& path) {
  void* handle = loaded_or_opened(path);
#define GPUSHARE_LOAD(name) name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));
  GPUSHARE_ACTIVITY_FUNCTIONS(GPUSHARE_LOAD)
  GPUSHARE_ACTIVITY_EXTRAS(GPUSHARE_LOAD)
#undef GPUSHARE_LOAD
#define GPUSHARE_REQUIRE(name) \
  if (name == nullptr) throw CuptiError(path + " has no function " #name ": it is too old");
  GPUSHARE_ACTIVITY_FUNCTIONS(GPUSHARE_REQUIRE)
#undef GPUSHARE_REQUIRE
  std::uint32_t version = 0;
  check(cuptiGetVersion(&version), "cuptiGetVersion");
  if (major_of(version) != major_of(CUPTI_API_VERSION)) {
    throw CuptiError(path + " is CUPTI " + std::to_string(major_of(version)) + ", but gpushare was built for CUPTI " +
                     std::to_string(major_of(CUPTI_API_VERSION)) + ", whose records are others");
  }
}

void CuptiActivity::check(CUptiResult result, const char* call) const {
  if (result == CUPTI_SUCCESS) return;
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
      result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES) {
    throw CuptiError(std::string(call) +
                     " is not permitted: the driver lets only administrators trace (run as root, or load the driver "
                     "with NVreg_RestrictProfilingToAdminUsers=0)");
  }
  const char* meaning = nullptr;
  if (cuptiGetResultString != nullptr) cuptiGetResultString(result, &meaning);
  throw CuptiError(std::string(call) + " failed: " + (meaning != nullptr ? meaning : "no description") + " (result " +
                   std::to_string(static_cast<int>(result)) + ")");
}

}  // namespace gpushare::recording
