// SPDX-License-Identifier: Apache-2.0
// The driver's functions about streams and events.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "driver/call.hpp"

namespace gpushare::stand_in {
namespace {

template <class Value>
void put_write(Gpu& device, CUstream stream, CUdeviceptr to, Value value) {
  static_cast<void>(device.bytes_at(to, sizeof value));
  expect(to % sizeof value == 0, CUDA_ERROR_INVALID_VALUE, "misaligned");
  device.put(stream, [&device, to, value] {
    auto* word = reinterpret_cast<Value*>(device.bytes_at(to, sizeof value));
    std::atomic_ref(*word).store(value, std::memory_order_release);
    return true;
  });
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

/// No function of the driver, but for tests: streams of the primary context that have not been destroyed. The hardware
/// has 32 queues for them. Where there are more, some share one, and the work of one waits for that of another.
__attribute__((visibility("default"))) long gpushare_stand_in_streams() {
  Gpu& device = gpu();
  const Gpu::Turn turn(device);
  return std::ranges::count_if(
      device.streams, [](const auto& each) { return each.second->context == nullptr && !each.second->is_destroyed; });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return answer_in_context(
      __func__, [&](Gpu& device, Gpu::Turn&) { *stream = device.add_stream(green_context(), flags, priority); });
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    auto* green = reinterpret_cast<CUcontext>(device.stream(stream).context);
    *context = green != nullptr ? green : reinterpret_cast<CUcontext>(&device);
  });
}

CUresult cuStreamDestroy(CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    Stream& destroyed = device.stream(stream);
    destroyed.is_destroyed = true;
    if (destroyed.commands.empty()) device.streams.erase(stream);
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    device.expect_not_captured(stream);
    const Stream& waited_for = device.stream(stream);
    turn.wait_until([&] { return waited_for.commands.empty(); });
  });
}

CUresult cuStreamQuery(CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    device.expect_not_captured(stream);
    if (!device.stream(stream).commands.empty()) throw Denial(CUDA_ERROR_NOT_READY, "under way");
  });
}

/// For what the event was recorded last before this call.
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    const std::shared_ptr<Event> awaited = device.shared_event(event);
    if (device.is_under_way(awaited->capture)) return void(device.stream(stream).capture = awaited->capture);
    device.put(stream, [awaited, wanted = awaited->recorded] { return awaited->reached >= wanted; });
  });
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) { put_write(device, stream, to, value); });
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) { put_write(device, stream, to, value); });
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return answer_in_context(__func__, [&](Gpu& device, Gpu::Turn&) {
    auto made = std::make_shared<Event>();
    made->has_time = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    *event = reinterpret_cast<CUevent>(made.get());
    device.events.emplace(*event, std::move(made));
  });
}

CUresult cuEventDestroy(CUevent event) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    expect(device.events.erase(event) == 1, CUDA_ERROR_INVALID_HANDLE, "no such event");
  });
}

CUresult cuEventQuery(CUevent event) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    device.expect_no_capture();
    const Event& asked = device.event(event);
    if (asked.reached < asked.recorded) throw Denial(CUDA_ERROR_NOT_READY, "under way");
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn& turn) {
    device.expect_no_capture();
    const std::shared_ptr<Event> awaited = device.shared_event(event);
    turn.wait_until([&, wanted = awaited->recorded] { return awaited->reached >= wanted; });
  });
}

/// In a stream that is captured it only brings other streams into the capture.
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    const std::shared_ptr<Event> recorded = device.shared_event(event);
    recorded->capture = device.stream(stream).capture;
    if (recorded->capture != nullptr) return;
    device.put(stream, [&device, recorded, record = ++recorded->recorded] {
      recorded->reached = std::max(recorded->reached, record);
      recorded->time_ns = device.now_ns();
      return true;
    });
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return answer_in_turn(__func__, [&](Gpu& device, Gpu::Turn&) {
    for (const CUevent each : {start, end}) {
      const Event& event = device.event(each);
      expect(event.has_time && event.recorded > 0, CUDA_ERROR_INVALID_HANDLE, "the event has no time");
      if (event.reached < event.recorded) throw Denial(CUDA_ERROR_NOT_READY, "under way");
    }
    const auto first = static_cast<std::int64_t>(device.event(start).time_ns);
    *milliseconds =
        static_cast<float>(static_cast<double>(static_cast<std::int64_t>(device.event(end).time_ns) - first) * 1e-6);
  });
}

}  // extern "C"
