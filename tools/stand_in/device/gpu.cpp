// SPDX-License-Identifier: Apache-2.0
#include "device/gpu.hpp"

#include <algorithm>
#include <array>

#include "device/machine.hpp"
#include "ptx_interpreter/fault.hpp"

namespace gpushare::stand_in {
namespace {

/// So often a block runs some instructions between two looks at the streams.
constexpr int runs_at_a_time = 16;

/// Of the kernels with which the driver fills and copies device memory.
constexpr Footprint block_of_driver = footprint(128, 32, 0);

}  // namespace

Gpu::Gpu(Machine& owner, int number, std::uint64_t seed)
    : machine_(owner),
      ordinal_(number),
      primary_(std::make_shared<const Context>(Context{.gpu = *this})),
      sms_(seed),
      legacy_(std::make_unique<Stream>(Stream{.context = primary_})),
      peers_(bit()),
      pool_users_(bit()) {}

Stream& Gpu::stream_of_thread() {
  std::unique_ptr<Stream>& own = of_threads_[std::this_thread::get_id()];
  if (own == nullptr) own = std::make_unique<Stream>(Stream{.context = primary_});
  return *own;
}

/// The one that fewest of the context's streams have.
int Gpu::free_queue(const Context& context) const {
  std::array<int, Limits::queues> streams_of{};
  for (const auto& [handle, stream] : streams_) {
    const bool counts = stream->context.get() == &context && !stream->is_destroyed;
    if (counts) ++streams_of[static_cast<std::size_t>(stream->queue)];
  }
  return static_cast<int>(std::ranges::min_element(streams_of) - streams_of.begin());
}

CUstream Gpu::add_stream(const std::shared_ptr<const Context>& context, unsigned flags, int priority) {
  expect(flags == CU_STREAM_NON_BLOCKING, CUDA_ERROR_NOT_SUPPORTED, "it would wait for the default stream");
  auto made = std::make_unique<Stream>(Stream{.context = context,
                                              .priority = std::clamp(priority, Limits::most_urgent_priority, 0),
                                              .queue = free_queue(*context)});
  // Ascending, not an address: streams advance in the order of their handles, which is then the same in every process.
  const auto number = (static_cast<std::uintptr_t>(ordinal_) + 1) << 32 | ++streams_made_;
  auto* handle = reinterpret_cast<CUstream>(number);
  streams_.emplace(handle, std::move(made));
  return handle;
}

void Gpu::destroy_stream(CUstream handle) {
  Stream& destroyed = *streams_.at(handle);
  destroyed.is_destroyed = true;
  if (destroyed.commands.empty()) streams_.erase(handle);
}

void Gpu::end_capture(const std::shared_ptr<Capture>& capture) {
  for (const auto& [handle, stream] : streams_) {
    if (stream->capture == capture) stream->capture = nullptr;
  }
  for (const auto& [thread, stream] : of_threads_) {
    if (stream->capture == capture) stream->capture = nullptr;
  }
  if (legacy_->capture == capture) legacy_->capture = nullptr;
}

void Gpu::put(Stream& stream, Command command) {
  put_node(stream, {.command = [command = std::move(command)] { return command; }});
}

void Gpu::put_node(Stream& stream, const Node& node) {
  if (stream.capture == nullptr) {
    stream.commands.push_back({++commands_put_, node.command()});
    return;
  }
  if (stream.capture->is_spoilt) throw Denial(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture was spoilt");
  stream.capture->graph.nodes.push_back(node);
}

/// A graph may have nodes of several devices: one that has failed holds up no other.
void Gpu::launch(Stream& stream, CUfunction kernel, std::shared_ptr<Grid> grid) {
  grid->priority = stream.priority;
  grid->sms = stream.context->sms;
  grid->launch.device = bit();
  grid->launch.nanoseconds = machine_.clock();
  const auto command = [this, grid]() -> Command {
    return [this, own = std::make_shared<Grid>(*grid), has_begun = false]() mutable {
      if (!has_begun) sms_.add(own);
      has_begun = true;
      return own->has_ended() || has_failed();
    };
  };
  put_node(stream, {.command = command, .kernel = kernel});
}

void Gpu::copy(Stream& stream, CopyEngine& engine, std::size_t bytes, std::function<void()> move) {
  const auto command = [this, &engine, bytes, move = std::move(move)]() -> Command {
    return [this, &engine, job = std::make_shared<CopyJob>(CopyJob{.bytes = bytes, .move = move}),
            has_begun = false]() mutable {
      if (!has_begun) engine.add(job);
      has_begun = true;
      return job->has_ended || has_failed();
    };
  };
  put_node(stream, {.command = command});
}

void Gpu::put_on_sm(Stream& stream, std::function<void()> action) {
  put(stream, [this, action = std::move(action)] {
    if (has_failed()) return true;
    if (!has_room_for_driver()) return false;
    action();
    return true;
  });
}

bool Gpu::has_room_for_driver() const { return sms_.has_room_for(block_of_driver); }

std::function<bool()> Gpu::end_of_kernels() const {
  return [this, grids = sms_.grids()] {
    return has_failed() || std::ranges::all_of(grids, [](const auto& each) { return each->has_ended(); });
  };
}

bool Gpu::all_streams(const std::function<bool(const Stream&)>& holds) const {
  const auto of_each = [&](const auto& each) { return holds(*each.second); };
  return std::ranges::all_of(streams_, of_each) && std::ranges::all_of(of_threads_, of_each) && holds(*legacy_);
}

bool Gpu::is_idle() const {
  return all_streams([](const Stream& each) { return each.commands.empty(); });
}

std::size_t Gpu::free_bytes() { return Limits::memory - allocated_bytes_ - files_.bytes(); }

void Gpu::expect_room(std::size_t bytes) {
  if (bytes > free_bytes()) throw Denial(CUDA_ERROR_OUT_OF_MEMORY, "the device is full");
}

std::uint64_t Gpu::allocate(std::size_t bytes, MemoryKind kind) {
  expect(bytes > 0, CUDA_ERROR_INVALID_VALUE, "no bytes");
  expect_room(bytes);
  const std::uint64_t address = machine_.memory.allocate(bytes);
  std::ranges::fill_n(machine_.bytes_at(address, bytes), static_cast<std::ptrdiff_t>(bytes), poison);
  machine_.memory.let_access(address, accessible_to(kind));
  allocated_[address] = {bytes, kind};
  allocated_bytes_ += bytes;
  return address;
}

void Gpu::release(std::uint64_t address) {
  const auto found = allocated_.find(address);
  expect(found != allocated_.end(), CUDA_ERROR_INVALID_VALUE, "frees what is not allocated");
  allocated_bytes_ -= found->second.bytes;
  allocated_.erase(found);
  machine_.memory.release(address);
}

void Gpu::let_access(MemoryKind kind, interpreter::Devices devices) {
  (kind == MemoryKind::Plain ? peers_ : pool_users_) = devices | bit();
  for (const auto& [address, allocation] : allocated_) {
    if (allocation.kind == kind) machine_.memory.let_access(address, accessible_to(kind));
  }
  if (kind != MemoryKind::Plain) return;
  for (const auto& [handle, module] : machine_.modules) {
    if (&module->context->gpu == this) machine_.memory.let_access(module->program, peers_);
  }
}

void Gpu::fail(CUresult failure, const std::string& why) {
  failure_ = failure;
  write_log("fault: " + why);
}

void Gpu::expect_healthy() const {
  if (has_failed()) throw Denial(failure_, "a kernel has failed");
}

/// Where streams share a queue, it is in the order in which commands came: the first waits, and all others behind it.
bool Gpu::is_held_up(const Stream& stream) const {
  return !stream.commands.empty() && std::ranges::any_of(streams_, [&](const auto& each) {
    const Stream& other = *each.second;
    return stream.shares_queue_with(other) && !other.commands.empty() &&
           other.commands.front().number < stream.commands.front().number;
  });
}

bool Gpu::waits_for_default(const Stream& stream) const {
  const auto is_behind = [&](const Stream& other) {
    return !other.commands.empty() && other.commands.front().number < stream.commands.front().number;
  };
  if (stream.commands.empty()) return false;
  if (&stream != legacy_.get()) return is_behind(*legacy_);
  return std::ranges::any_of(of_threads_, [&](const auto& each) { return is_behind(*each.second); });
}

bool Gpu::advance_streams() {
  bool any = false;
  for (const auto& [handle, stream] : streams_) any |= !is_held_up(*stream) && stream->advance();
  for (const auto& [thread, stream] : of_threads_) any |= !waits_for_default(*stream) && stream->advance();
  any |= !waits_for_default(*legacy_) && legacy_->advance();
  const auto is_gone = [](const auto& each) { return each.second->is_destroyed && each.second->commands.empty(); };
  if (any) std::erase_if(streams_, is_gone);
  return any;
}

/// Until a block ends or a host wants something; true if a block ended.
bool Gpu::run_blocks() {
  for (int run = 0; run < runs_at_a_time && !sms_.empty(); ++run) {
    if (sms_.run_some()) return true;
    if (machine_.has_hosts_waiting()) return false;
  }
  return false;
}

bool Gpu::advance() {
  const std::uint64_t now_ns = machine_.now_ns();
  bool any = to_device.advance(now_ns) | to_host.advance(now_ns) | to_peers.advance(now_ns) | advance_streams();
  if (any) machine_.tell_hosts();
  while (!machine_.has_hosts_waiting() && sms_.place()) any = true;
  any |= run_blocks();
  return any || !sms_.empty() || !to_device.empty() || !to_host.empty() || !to_peers.empty();
}

}  // namespace gpushare::stand_in
