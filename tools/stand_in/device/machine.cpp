// SPDX-License-Identifier: Apache-2.0
#include "device/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "ptx_interpreter/fault.hpp"

namespace gpushare::stand_in {
namespace {

/// So often a host thread looks whether it can have the lock, before it sleeps until then.
constexpr int most_tries = 1000;

/// So often the devices' thread looks whether a host has had the lock: where others keep the processors busy, the host
/// may not be running at all.
constexpr int most_looks = 100;

/// Between two looks at a word that other processes may write, where nothing else is to be done.
constexpr std::chrono::microseconds between_looks_at_memory(50);

/// What a step of the devices takes in virtual time.
constexpr std::uint64_t virtual_step_ns = 500;

bool is_time_virtual() {
  const char* text = std::getenv("GPUSHARE_STAND_IN_CLOCK");
  return text != nullptr && std::string_view(text) == "virtual";
}

std::uint64_t seed() {
  const char* text = std::getenv("GPUSHARE_STAND_IN_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

std::vector<std::unique_ptr<Gpu>> made_for(Machine& machine) {
  std::vector<std::unique_ptr<Gpu>> made;
  const int count = devices_asked_for(Limits::most_devices);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    made.push_back(std::make_unique<Gpu>(machine, ordinal, seed() + static_cast<std::uint64_t>(ordinal)));
  }
  return made;
}

bool has_variable_at(const interpreter::GlobalMemory& memory, const interpreter::Program& program,
                     std::uint64_t address) {
  for (std::size_t index = 0; index < program.variables().size(); ++index) {
    const std::uint64_t first = memory.variable(program, index);  // 0 for those that are not in device memory
    if (first != 0 && address - first < program.variables()[index].bytes) return true;
  }
  return false;
}

/// Does something of what a device has to do; true while there may be more.
bool advance_or_fail(Gpu& gpu) {
  try {
    return gpu.advance();
  } catch (const interpreter::BadAddress& fault) {
    gpu.fail(CUDA_ERROR_ILLEGAL_ADDRESS, fault.what());
  } catch (const interpreter::Fault& fault) {
    gpu.fail(CUDA_ERROR_LAUNCH_FAILED, fault.what());
  } catch (const Refusal& refusal) {
    gpu.fail(CUDA_ERROR_ILLEGAL_ADDRESS, refusal.what());
  }
  gpu.machine().tell_hosts();
  return true;  // other devices may have waited for it
}

}  // namespace

bool is_legacy_stream(CUstream handle) {
  static const bool is_there = [] {
    const char* text = std::getenv("GPUSHARE_STAND_IN_LEGACY_STREAM");
    return text != nullptr && std::string_view(text) == "1";
  }();
  return is_there && (handle == nullptr || handle == CU_STREAM_LEGACY);
}

Machine::Lock::Lock(Machine& machine) : machine_(machine), lock_(machine.mutex_, std::defer_lock) {
  take();
  if (machine_.is_time_virtual_) machine_.advance();
}

void Machine::Lock::take() {
  ++machine_.hosts_waiting_;
  // The devices give way within microseconds; to sleep and be woken takes longer.
  for (int tries = 0; tries < most_tries && !lock_.try_lock(); ++tries) std::this_thread::yield();
  if (!lock_.owns_lock()) lock_.lock();
  --machine_.hosts_waiting_;
}

Machine::Lock::~Lock() { machine_.devices_wake_.notify_one(); }

void Machine::Lock::wait_until(const Gpu& gpu, const std::function<bool()>& holds) {
  // No condition variable: a thread that is woken by one takes the mutex without saying that it waits for it, and
  // devices that are never idle would not let it.
  while (!gpu.has_failed() && !holds()) {
    const unsigned seen = machine_.news_;
    machine_.devices_wake_.notify_one();
    lock_.unlock();
    if (!machine_.is_time_virtual_) machine_.news_.wait(seen);
    take();
    if (machine_.is_time_virtual_) machine_.advance();
  }
  gpu.expect_healthy();
}

Machine::Machine() : is_time_virtual_(is_time_virtual()), gpus_(made_for(*this)) {
  if (!is_time_virtual_) devices_ = std::thread([this] { serve(); });
}

Machine::~Machine() {
  {
    const Lock lock(*this);
    ends_ = true;
  }
  if (devices_.joinable()) devices_.join();
}

Gpu& Machine::gpu(int ordinal) const {
  const bool is_there = ordinal >= 0 && static_cast<std::size_t>(ordinal) < gpus_.size();
  expect(is_there, CUDA_ERROR_INVALID_DEVICE, "there is no device of this number");
  return *gpus_[static_cast<std::size_t>(ordinal)];
}

Stream& Machine::stream(CUstream handle) {
  if (handle == CU_STREAM_PER_THREAD) return current_context()->gpu.stream_of_thread();
  if (is_legacy_stream(handle)) return current_context()->gpu.legacy_stream();
  for (const auto& gpu : gpus_) {
    const auto found = gpu->streams().find(handle);
    if (found != gpu->streams().end() && !found->second->is_destroyed) return *found->second;
  }
  throw Refusal(CUDA_ERROR_INVALID_HANDLE, "no such stream; there is no legacy default stream");
}

std::shared_ptr<Event> Machine::event(CUevent handle) const {
  const auto found = events.find(handle);
  expect(found != events.end(), CUDA_ERROR_INVALID_HANDLE, "no such event");
  return found->second;
}

std::shared_ptr<const Context> Machine::context(CUcontext handle) const {
  for (const auto& gpu : gpus_) {
    if (handle_of(*gpu->primary()) == handle) return gpu->primary();
  }
  const auto green = green_contexts.find(reinterpret_cast<CUgreenCtx>(handle));
  expect(green != green_contexts.end(), CUDA_ERROR_INVALID_CONTEXT, "no such context");
  return green->second;
}

void Machine::expect_no_capture() {
  const CUstreamCaptureMode own = capture_mode_of_thread();
  bool is_forbidden = false;
  for (const auto& capture : captures) {
    const bool is_of_this_thread = capture->thread == std::this_thread::get_id();
    const bool is_strict = own == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (own == CU_STREAM_CAPTURE_MODE_RELAXED || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    if (!is_of_this_thread && !is_strict) continue;
    capture->is_spoilt = true;
    is_forbidden = true;
  }
  if (is_forbidden) throw Denial(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "not while a stream is captured");
}

void Machine::expect_not_captured(const Stream& stream) {
  if (stream.capture == nullptr) return;
  stream.capture->is_spoilt = true;
  throw Denial(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream is captured");
}

bool Machine::is_under_way(const std::shared_ptr<Capture>& capture) const {
  return std::ranges::find(captures, capture) != captures.end();
}

void Machine::end_capture(const std::shared_ptr<Capture>& capture) {
  std::erase(captures, capture);
  for (const auto& gpu : gpus_) gpu->end_capture(capture);
}

std::shared_ptr<const int> Machine::registration(const void* first, std::size_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(first);
  for (const auto& [start, range] : registered) {
    if (begin >= start + range.size || start >= begin + bytes) continue;
    expect(begin >= start && begin + bytes <= start + range.size, CUDA_ERROR_INVALID_VALUE,
           "only a part of this is registered");
    return range.use;
  }
  return nullptr;
}

bool Machine::is_pinned(const void* first, std::size_t bytes) const {
  if (registration(first, bytes) != nullptr) return true;
  const auto behind = pinned.upper_bound(first);
  if (behind == pinned.begin()) return false;
  const PinnedBytes& before = std::prev(behind)->second;
  const auto offset = static_cast<const std::byte*>(first) - before.bytes.get();
  return static_cast<std::size_t>(offset) + bytes <= before.size;
}

std::byte* Machine::bytes_at(std::uint64_t address, std::size_t bytes) {
  if (std::byte* found = memory.find_range(address, bytes)) return found;
  throw Refusal(CUDA_ERROR_INVALID_VALUE, "no " + std::to_string(bytes) + " bytes at " + memory.describe(address));
}

std::byte* Machine::bytes_at(std::uint64_t address, std::size_t bytes, const Gpu& gpu) {
  expect(!memory.is_of_others(address, gpu.bit()), CUDA_ERROR_INVALID_VALUE, "only another device may access this");
  return bytes_at(address, bytes);
}

Gpu* Machine::owner_of(std::uint64_t address) const {
  for (const auto& gpu : gpus_) {
    const auto behind = gpu->allocated().upper_bound(address);
    if (behind == gpu->allocated().begin()) continue;
    const auto& [first, allocation] = *std::prev(behind);
    if (address - first < allocation.bytes) return gpu.get();
  }
  for (const auto& [first, range] : shared.ranges) {
    if (range.mapped != nullptr && address - first < range.size) return &gpu(range.mapped->device());
  }
  for (const auto& [handle, module] : modules) {
    if (has_variable_at(memory, module->program, address)) return &module->context->gpu;
  }
  return nullptr;
}

std::function<bool()> Machine::end_of_kernels() const {
  std::vector<std::function<bool()>> ends;
  for (const auto& gpu : gpus_) ends.push_back(gpu->end_of_kernels());
  return [ends = std::move(ends)] { return std::ranges::all_of(ends, [](const auto& end) { return end(); }); };
}

void Machine::tell_hosts() {
  ++news_;
  news_.notify_all();
}

void Machine::read_clock() {
  if (is_time_virtual_) {
    now_ns_ += virtual_step_ns;
    return;
  }
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  now_ns_ = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

bool Machine::advance() {
  bool any = false;
  looks_at_memory = false;
  for (const auto& gpu : gpus_) {
    read_clock();
    any |= !gpu->has_failed() && advance_or_fail(*gpu);
  }
  return any;
}

void Machine::serve() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (const bool is_idle = !advance(); is_idle && looks_at_memory) {
      devices_wake_.wait_for(lock, between_looks_at_memory);
    } else if (is_idle) {
      devices_wake_.wait(lock);
    } else if (hosts_waiting_ > 0) {
      lock.unlock();
      for (int look = 0; look < most_looks && hosts_waiting_ > 0; ++look) std::this_thread::yield();
      lock.lock();
    }
  }
}

}  // namespace gpushare::stand_in
