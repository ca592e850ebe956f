// SPDX-License-Identifier: Apache-2.0
#include "device/gpu.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "ptx_interpreter/fault.hpp"

namespace gpushare::stand_in {
namespace {

/// So many turns of blocks between two looks at the streams.
constexpr int turns_at_a_time = 16;

/// So often a host thread looks whether it is its turn, before it sleeps until then.
constexpr int most_tries = 1000;

/// So often the device looks whether a host has had its turn: where others keep the processors busy, the host may not
/// be running at all.
constexpr int most_looks = 100;

/// Of the kernels with which the driver fills and copies device memory.
constexpr Footprint block_of_driver = footprint(128, 32, 0);

std::uint64_t seed() {
  const char* text = std::getenv("GPUSHARE_STAND_IN_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

}  // namespace

std::vector<CUgreenCtx>& contexts_pushed() {
  thread_local std::vector<CUgreenCtx> pushed;
  return pushed;
}

void expect_current_context() {
  expect(!contexts_pushed().empty(), CUDA_ERROR_INVALID_CONTEXT, "the thread has no current context");
}

CUgreenCtx green_context() {
  expect_current_context();
  return contexts_pushed().back();
}

Gpu::Turn::Turn(Gpu& gpu) : gpu_(gpu), lock_(gpu.mutex_, std::defer_lock) { take(); }

void Gpu::Turn::take() {
  ++gpu_.hosts_waiting_;
  // The device gives way within microseconds; to sleep and be woken takes longer.
  for (int tries = 0; tries < most_tries && !lock_.try_lock(); ++tries) std::this_thread::yield();
  if (!lock_.owns_lock()) lock_.lock();
  --gpu_.hosts_waiting_;
}

Gpu::Turn::~Turn() { gpu_.device_wakes_.notify_one(); }

void Gpu::Turn::wait_until(const std::function<bool()>& holds) {
  // No condition variable: who is woken by one takes the lock without saying that he waits for it, and a device that is
  // never idle would not let him.
  while (gpu_.failure_ == CUDA_SUCCESS && !holds()) {
    const unsigned seen = gpu_.news_;
    gpu_.device_wakes_.notify_one();
    lock_.unlock();
    gpu_.news_.wait(seen);
    take();
  }
  if (gpu_.failure_ != CUDA_SUCCESS) throw Denial(gpu_.failure_, "a kernel has failed");
}

Gpu::Gpu() : sms_(seed()), device_([this] { serve(); }) {}

Gpu::~Gpu() {
  {
    const Turn turn(*this);
    ends_ = true;
  }
  device_.join();
}

Stream& Gpu::stream(CUstream handle) {
  if (handle == CU_STREAM_PER_THREAD) {
    expect_current_context();
    std::unique_ptr<Stream>& own = of_threads_[std::this_thread::get_id()];
    if (own == nullptr) own = std::make_unique<Stream>();
    return *own;
  }
  const auto found = streams.find(handle);
  if (found != streams.end() && !found->second->is_destroyed) return *found->second;
  throw Refusal(CUDA_ERROR_INVALID_HANDLE, "no such stream; the legacy default stream is none that gpushare may use");
}

/// The one that fewest of the context's streams have.
int Gpu::free_queue(CUgreenCtx context) const {
  std::array<int, Limits::queues> streams_of{};
  for (const auto& [handle, stream] : streams) {
    if (stream->context == context && !stream->is_destroyed) ++streams_of[static_cast<std::size_t>(stream->queue)];
  }
  return static_cast<int>(std::ranges::min_element(streams_of) - streams_of.begin());
}

CUstream Gpu::add_stream(CUgreenCtx context, unsigned flags, int priority) {
  expect(flags == CU_STREAM_NON_BLOCKING, CUDA_ERROR_NOT_SUPPORTED, "it would wait for the default stream");
  auto made = std::make_unique<Stream>(
      Stream{.priority = std::clamp(priority, Limits::most_urgent_priority, 0), .queue = free_queue(context)});
  made->context = context;
  auto* handle = reinterpret_cast<CUstream>(made.get());
  streams.emplace(handle, std::move(made));
  return handle;
}

void Gpu::put(CUstream handle, Command command) {
  put_node(handle, [command = std::move(command)] { return command; });
}

void Gpu::put_node(CUstream handle, const Node& node) {
  Stream& to = stream(handle);
  if (to.capture == nullptr) {
    to.commands.push_back({++commands_put_, node()});
    return;
  }
  if (to.capture->is_spoilt) throw Denial(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture was spoilt");
  to.capture->graph.nodes.push_back(node);
}

void Gpu::expect_no_capture() {
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

void Gpu::expect_not_captured(CUstream handle) {
  const std::shared_ptr<Capture> capture = stream(handle).capture;
  if (capture == nullptr) return;
  capture->is_spoilt = true;
  throw Denial(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream is captured");
}

bool Gpu::is_under_way(const std::shared_ptr<Capture>& capture) const {
  return std::ranges::find(captures, capture) != captures.end();
}

void Gpu::end_capture(const std::shared_ptr<Capture>& capture) {
  std::erase(captures, capture);
  for (const auto& [handle, stream] : streams) {
    if (stream->capture == capture) stream->capture = nullptr;
  }
  for (const auto& [thread, stream] : of_threads_) {
    if (stream->capture == capture) stream->capture = nullptr;
  }
}

std::shared_ptr<Event> Gpu::shared_event(CUevent handle) const {
  const auto found = events.find(handle);
  if (found == events.end()) throw Refusal(CUDA_ERROR_INVALID_HANDLE, "no such event");
  return found->second;
}

Function& Gpu::function(CUfunction handle) const {
  const auto kernel = kernels.find(reinterpret_cast<CUkernel>(handle));
  if (kernel != kernels.end()) return function(kernel->second);
  for (const auto& [name, function] : functions) {
    if (reinterpret_cast<CUfunction>(function.get()) == handle) return *function;
  }
  throw Refusal(CUDA_ERROR_INVALID_HANDLE, "no such function: it may have gone with its module");
}

std::shared_ptr<const int> Gpu::registration(const void* first, std::size_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(first);
  for (const auto& [start, range] : registered) {
    if (begin >= start + range.size || start >= begin + bytes) continue;
    expect(begin >= start && begin + bytes <= start + range.size, CUDA_ERROR_INVALID_VALUE,
           "only a part of this is registered");
    return range.use;
  }
  return nullptr;
}

bool Gpu::is_pinned(const void* first, std::size_t bytes) const {
  if (registration(first, bytes) != nullptr) return true;
  const auto behind = pinned.upper_bound(first);
  if (behind == pinned.begin()) return false;
  const PinnedBytes& before = std::prev(behind)->second;
  const auto offset = static_cast<const std::byte*>(first) - before.bytes.get();
  return static_cast<std::size_t>(offset) + bytes <= before.size;
}

std::byte* Gpu::bytes_at(std::uint64_t address, std::size_t bytes) {
  if (std::byte* found = memory.find_range(address, bytes)) return found;
  throw Refusal(CUDA_ERROR_INVALID_VALUE, "no " + std::to_string(bytes) + " bytes at " + memory.describe(address));
}

void Gpu::launch(CUstream handle, std::shared_ptr<Grid> grid) {
  grid->priority = stream(handle).priority;
  grid->sms = stream(handle).sms;
  grid->launch.nanoseconds = &now_ns_;
  put_node(handle, [this, grid]() -> Command {
    return [this, own = std::make_shared<Grid>(*grid), has_begun = false]() mutable {
      if (!has_begun) sms_.add(own);
      has_begun = true;
      return own->has_ended();
    };
  });
}

void Gpu::copy(CUstream handle, CopyEngine& engine, std::size_t bytes, std::function<void()> move) {
  put_node(handle, [&engine, bytes, move = std::move(move)]() -> Command {
    return
        [&engine, job = std::make_shared<CopyJob>(CopyJob{.bytes = bytes, .move = move}), has_begun = false]() mutable {
          if (!has_begun) engine.add(job);
          has_begun = true;
          return job->has_ended;
        };
  });
}

void Gpu::put_on_sm(CUstream handle, std::function<void()> action) {
  put(handle, [this, action = std::move(action)] {
    if (!sms_.has_room_for(block_of_driver)) return false;
    action();
    return true;
  });
}

std::function<bool()> Gpu::end_of_kernels() const {
  return
      [grids = sms_.grids()] { return std::ranges::all_of(grids, [](const auto& each) { return each->has_ended(); }); };
}

bool Gpu::is_idle() const {
  const auto is_empty = [](const auto& each) { return each.second->commands.empty(); };
  return std::ranges::all_of(streams, is_empty) && std::ranges::all_of(of_threads_, is_empty);
}

void Gpu::fail(CUresult failure, const std::string& why) {
  failure_ = failure;
  write_log("fault: " + why);
  tell_hosts();
}

void Gpu::tell_hosts() {
  ++news_;
  news_.notify_all();
}

void Gpu::read_clock() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  now_ns_ = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

/// Where streams share a queue, it is in the order in which commands came: the first waits, and all others behind it.
bool Gpu::is_held_up(const Stream& stream) const {
  return !stream.commands.empty() && std::ranges::any_of(streams, [&](const auto& each) {
    const Stream& other = *each.second;
    return stream.shares_queue_with(other) && !other.commands.empty() &&
           other.commands.front().number < stream.commands.front().number;
  });
}

bool Gpu::advance_streams() {
  bool any = false;
  for (const auto& [handle, stream] : streams) any |= !is_held_up(*stream) && stream->advance();
  for (const auto& [thread, stream] : of_threads_) any |= stream->advance();
  if (any)
    std::erase_if(streams, [](const auto& each) { return each.second->is_destroyed && each.second->commands.empty(); });
  return any;
}

/// Turns until a block ends or a host wants something, at least one; true if a block ended.
bool Gpu::run_blocks() {
  for (int turn = 0; turn < turns_at_a_time && !sms_.empty(); ++turn) {
    if (sms_.turn()) return true;
    if (hosts_waiting_ > 0) return false;
  }
  return false;
}

/// True while there is something to do, or a copy to wait for.
bool Gpu::advance() {
  read_clock();
  bool any = to_device.advance(now_ns_) | to_host.advance(now_ns_) | advance_streams();
  if (any) tell_hosts();
  while (hosts_waiting_ == 0 && sms_.place()) any = true;
  any |= run_blocks();
  return any || !sms_.empty() || !to_device.empty() || !to_host.empty();
}

void Gpu::serve() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    bool any = false;
    try {
      any = failure_ == CUDA_SUCCESS && advance();
    } catch (const interpreter::BadAddress& fault) {
      fail(CUDA_ERROR_ILLEGAL_ADDRESS, fault.what());
    } catch (const interpreter::Fault& fault) {
      fail(CUDA_ERROR_LAUNCH_FAILED, fault.what());
    } catch (const Refusal& refusal) {
      fail(CUDA_ERROR_ILLEGAL_ADDRESS, refusal.what());
    }
    if (!any) {
      device_wakes_.wait(lock);
    } else if (hosts_waiting_ > 0) {
      lock.unlock();
      for (int look = 0; look < most_looks && hosts_waiting_ > 0; ++look) std::this_thread::yield();
      lock.lock();
    }
  }
}

}  // namespace gpushare::stand_in
