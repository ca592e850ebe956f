// SPDX-License-Identifier: Apache-2.0
// A libcupti.so of the tests: hands out the records that it has been given (fake_add), as CUPTI does, in buffers that
// it asks for. FAKE_CUPTI=old: of another release; forbidden: no permission; lossy: it has dropped 7 records;
// waitless: it cannot record waits.
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_result.h>
#include <cupti_version.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Fake {
  std::mutex mutex;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_CallbackFunc callback = nullptr;
  std::set<int> enabled;
  std::vector<std::vector<std::uint8_t>> waiting;
  std::size_t dropped = 0;
  std::atomic<int> flushes = 0;
};

/// Never destroyed: the library flushes at the very end.
Fake& fake() {
  static Fake& one = *new Fake;
  return one;
}

bool is(const char* mode) {
  const char* chosen = std::getenv("FAKE_CUPTI");
  return chosen != nullptr && std::string(chosen) == mode;
}

std::size_t size_of(const CUpti_Activity& activity) {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_NAME:
      return sizeof(CUpti_ActivityName);
    default:
      return sizeof(CUpti_ActivityAPI);
  }
}

}  // namespace

extern "C" {

/// A record, as CUPTI would have it. Kinds that nobody has enabled are dropped, but for that of names.
void fake_add(const CUpti_Activity* activity) {
  const std::lock_guard lock(fake().mutex);
  if (activity->kind != CUPTI_ACTIVITY_KIND_NAME && !fake().enabled.contains(activity->kind)) return;
  const auto* first = reinterpret_cast<const std::uint8_t*>(activity);
  fake().waiting.emplace_back(first, first + size_of(*activity));
}

/// What a thread does that is interrupted within CUPTI: flushes wait for ever.
void fake_hold() { fake().mutex.lock(); }

/// Returns once all that was added before has been asked for, and taken.
void fake_await_flush() {
  // The one under way may have begun before.
  for (const int until = fake().flushes + 2; fake().flushes < until;)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// A context ends: whoever has subscribed is told.
void fake_end_context() {
  if (fake().callback) {
    fake().callback(nullptr, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, nullptr);
  }
  fake().waiting.clear();
}

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = is("old") ? 120000 : CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_OF_THE_FAKE";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(std::uint64_t* time) {
  *time = 500;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  fake().request = request;
  fake().complete = complete;
  if (is("lossy")) fake().dropped = 7;
  return is("broken") ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (is("forbidden")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  if (is("waitless") && kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) return CUPTI_ERROR_NOT_SUPPORTED;
  fake().enabled.insert(kind);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*) {
  fake().callback = callback;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) {
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  std::vector<std::vector<std::uint8_t>> waiting;
  {
    const std::lock_guard lock(fake().mutex);
    waiting.swap(fake().waiting);
  }
  for (std::size_t next = 0; next < waiting.size();) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0;
    std::size_t most = 0;
    fake().request(&buffer, &size, &most);
    std::size_t used = 0;
    for (; next < waiting.size() && used + waiting[next].size() <= size; ++next) {
      std::memcpy(buffer + used, waiting[next].data(), waiting[next].size());
      used += waiting[next].size();
    }
    fake().complete(nullptr, 0, buffer, size, used);
  }
  ++fake().flushes;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<std::uint8_t*>(*record) + size_of(**record);
  if (next >= buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = fake().dropped;
  fake().dropped = 0;
  return CUPTI_SUCCESS;
}

}  // extern "C"
