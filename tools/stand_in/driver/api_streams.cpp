// SPDX-License-Identifier: Apache-2.0
// The driver's functions about streams and events.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "driver/call.hpp"

namespace gpushare::stand_in {
namespace {

bool has_memory_waits() {
  const char* text = std::getenv("GPUSHARE_STAND_IN_WAITS");
  return text == nullptr || std::string_view(text) != "0";
}

template <class Value>
CUresult put_write(const char* name, CUstream handle, CUdeviceptr to, Value value) {
  return answer_in_stream(name, handle, [&](Stream& stream, Machine::Lock&) {
    Gpu& gpu = stream.gpu();
    static_cast<void>(gpu.machine().bytes_at(to, sizeof value, gpu));
    expect(to % sizeof value == 0, CUDA_ERROR_INVALID_VALUE, "misaligned");
    gpu.put(stream, [&all = gpu.machine(), to, value] {
      auto* word = reinterpret_cast<Value*>(all.bytes_at(to, sizeof value));
      std::atomic_ref(*word).store(value, std::memory_order_release);
      return true;
    });
  });
}

/// Whether a wait for this value, which CUDA's flags describe, is over.
template <class Value>
bool has_come(Value found, Value value, unsigned flags) {
  switch (flags) {
    case CU_STREAM_WAIT_VALUE_EQ:
      return found == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (found & value) != 0;
    default:
      return static_cast<std::make_signed_t<Value>>(found - value) >= 0;
  }
}

/// The stream goes on when the word has come to the value, which any process may write.
template <class Value>
CUresult put_wait(const char* name, CUstream handle, CUdeviceptr at, Value value, unsigned flags) {
  return answer_in_stream(name, handle, [&](Stream& stream, Machine::Lock&) {
    if (!has_memory_waits()) throw Denial(CUDA_ERROR_NOT_SUPPORTED, "as GPUSHARE_STAND_IN_WAITS=0 asks for");
    expect(flags <= CU_STREAM_WAIT_VALUE_AND && at % sizeof value == 0, CUDA_ERROR_NOT_SUPPORTED,
           "the stand-in waits for bits, equality and larger values");
    Gpu& gpu = stream.gpu();
    static_cast<void>(gpu.machine().bytes_at(at, sizeof value, gpu));
    gpu.put(stream, [&gpu, at, value, flags] {
      Machine& all = gpu.machine();
      auto* word = reinterpret_cast<Value*>(all.bytes_at(at, sizeof value));
      const Value found = std::atomic_ref(*word).load(std::memory_order_acquire);
      const bool is_over = has_come(found, value, flags) || gpu.has_failed();
      all.looks_at_memory |= !is_over;
      return is_over;
    });
  });
}

/// Whether the device has come to what the event was told at this point, or never will because a kernel has failed.
bool is_past(const Event& event, std::uint64_t record) { return event.reached >= record || event.gpu.has_failed(); }

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

/// No function of the driver, but for tests: streams of primary contexts that have not been destroyed. The hardware has
/// 32 queues for those of a context. Where there are more, some share one, and the work of one waits for that of
/// another.
__attribute__((visibility("default"))) long gpushare_stand_in_streams() {
  Machine& all = machine();
  const Machine::Lock lock(all);
  long count = 0;
  for (const auto& gpu : all.gpus()) {
    count += std::ranges::count_if(gpu->streams(), [](const auto& each) {
      return each.second->context->is_primary && !each.second->is_destroyed;
    });
  }
  return count;
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return answer_in_context(
      __func__, [&](Gpu& gpu, Machine::Lock&) { *stream = gpu.add_stream(current_context(), flags, priority); });
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return answer_in_stream(__func__, handle,
                          [&](Stream& stream, Machine::Lock&) { *context = handle_of(*stream.context); });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) { *device = stream.gpu().ordinal(); });
}

CUresult cuStreamDestroy(CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) {
    const bool is_default = handle == CU_STREAM_PER_THREAD || is_legacy_stream(handle);
    expect(!is_default, CUDA_ERROR_INVALID_HANDLE, "a default stream stays");
    stream.gpu().destroy_stream(handle);
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock& lock) {
    Machine::expect_not_captured(stream);
    lock.wait_until(stream.gpu(), [&] { return stream.commands.empty(); });
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) {
    Machine::expect_not_captured(stream);
    if (!stream.commands.empty()) throw Denial(CUDA_ERROR_NOT_READY, "under way");
  });
}

/// For what the event was recorded last before this call, on whatever device.
CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) {
    const Machine& all = stream.gpu().machine();
    const std::shared_ptr<Event> awaited = all.event(event);
    if (all.is_under_way(awaited->capture)) return void(stream.capture = awaited->capture);
    stream.gpu().put(stream, [awaited, wanted = awaited->recorded] { return is_past(*awaited, wanted); });
  });
}

/// The function must not call the driver, as the manual has it: it would wait for itself.
CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) {
    stream.gpu().put(stream, [function, data] {
      function(data);
      return true;
    });
  });
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned) {
  return put_write(__func__, stream, to, value);
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned) {
  return put_write(__func__, stream, to, value);
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags) {
  return put_wait(__func__, stream, at, value, flags);
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams* steps, unsigned) {
  for (const CUstreamBatchMemOpParams& step : std::span(steps, count)) {
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    if (step.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32) {
      result = put_wait(__func__, stream, step.waitValue.address, step.waitValue.value, step.waitValue.flags);
    } else if (step.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32) {
      result = put_write(__func__, stream, step.writeValue.address, step.writeValue.value);
    } else if (step.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64) {
      result = put_write(__func__, stream, step.writeValue.address, step.writeValue.value64);
    }
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned flags) {
  return put_wait(__func__, stream, at, value, flags);
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock&) {
    auto made = std::make_shared<Event>(Event{.gpu = gpu, .has_time = (flags & CU_EVENT_DISABLE_TIMING) == 0});
    *event = reinterpret_cast<CUevent>(made.get());
    gpu.machine().events.emplace(*event, std::move(made));
  });
}

CUresult cuEventDestroy(CUevent event) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    all.event(event)->gpu.expect_healthy();
    all.events.erase(event);
  });
}

CUresult cuEventQuery(CUevent event) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    const std::shared_ptr<Event> asked = all.event(event);
    asked->gpu.expect_healthy();
    all.expect_no_capture();
    if (asked->reached < asked->recorded) throw Denial(CUDA_ERROR_NOT_READY, "under way");
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock& lock) {
    const std::shared_ptr<Event> awaited = all.event(event);
    awaited->gpu.expect_healthy();
    all.expect_no_capture();
    lock.wait_until(awaited->gpu, [&, wanted = awaited->recorded] { return awaited->reached >= wanted; });
  });
}

/// In a stream that is captured it only brings other streams into the capture.
CUresult cuEventRecord(CUevent event, CUstream handle) {
  return answer_in_stream(__func__, handle, [&](Stream& stream, Machine::Lock&) {
    Gpu& gpu = stream.gpu();
    const std::shared_ptr<Event> recorded = gpu.machine().event(event);
    expect(&recorded->gpu == &gpu, CUDA_ERROR_INVALID_HANDLE, "the event is another device's");
    recorded->capture = stream.capture;
    if (recorded->capture != nullptr) return;
    gpu.put(stream, [&all = gpu.machine(), recorded, record = ++recorded->recorded] {
      recorded->reached = std::max(recorded->reached, record);
      recorded->time_ns = all.now_ns();
      return true;
    });
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    for (const CUevent each : {start, end}) {
      const std::shared_ptr<Event> event = all.event(each);
      event->gpu.expect_healthy();
      expect(event->has_time && event->recorded > 0, CUDA_ERROR_INVALID_HANDLE, "the event has no time");
      if (event->reached < event->recorded) throw Denial(CUDA_ERROR_NOT_READY, "under way");
    }
    expect(&all.event(start)->gpu == &all.event(end)->gpu, CUDA_ERROR_INVALID_HANDLE, "events of two devices");
    const auto first = static_cast<std::int64_t>(all.event(start)->time_ns);
    const auto last = static_cast<std::int64_t>(all.event(end)->time_ns);
    *milliseconds = static_cast<float>(static_cast<double>(last - first) * 1e-6);
  });
}

}  // extern "C"
