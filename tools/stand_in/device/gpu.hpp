// SPDX-License-Identifier: Apache-2.0
// One device: its streams, SMs and copy engines, and what is allocated on it. A fault of a kernel is its own: other
// devices go on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/capture.hpp"
#include "device/copy_engine.hpp"
#include "device/multiprocessors.hpp"
#include "device/refusal.hpp"
#include "device/shared_memories.hpp"
#include "device/stream.hpp"

namespace gpushare::stand_in {

class Machine;

/// Device memory of two kinds, with different rules for other devices' access.
enum class MemoryKind {
  Plain,  ///< of cuMemAlloc, and modules' variables: where peer access was enabled
  Pooled  ///< of cuMemAllocAsync: where cuMemPoolSetAccess says so
};

struct Allocation {
  std::size_t bytes = 0;
  MemoryKind kind{};
};

class Gpu {
 public:
  Gpu(Machine& owner, int number, std::uint64_t seed);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Machine& machine() const { return machine_; }
  int ordinal() const { return ordinal_; }
  const std::shared_ptr<const Context>& primary() const { return primary_; }

  // What follows is for a thread that has locked the machine.

  /// The one of the calling thread that cuda.h calls CU_STREAM_PER_THREAD.
  Stream& stream_of_thread();
  /// It and the threads' own streams wait for one another, in the order of the calls.
  Stream& legacy_stream() { return *legacy_; }
  CUstream add_stream(const std::shared_ptr<const Context>& context, unsigned flags, int priority);
  void destroy_stream(CUstream handle);
  const std::map<CUstream, std::unique_ptr<Stream>>& streams() const { return streams_; }
  /// None of its streams takes part in it any more.
  void end_capture(const std::shared_ptr<Capture>& capture);
  /// Behind what is in the stream; into the graph where that is captured.
  void put(Stream& stream, Command command);
  void put_node(Stream& stream, const Node& node);
  void launch(Stream& stream, CUfunction kernel, std::shared_ptr<Grid> grid);
  /// A copy at a copy engine, behind what is in the stream.
  void copy(Stream& stream, CopyEngine& engine, std::size_t bytes, std::function<void()> move);
  /// What the driver has a kernel of its own do, at once but not before an SM has room for that.
  void put_on_sm(Stream& stream, std::function<void()> action);
  /// Has an SM room for a block of the driver's own kernels?
  bool has_room_for_driver() const;
  /// Says, whenever it is called, whether all kernels have ended that are on the SMs now.
  std::function<bool()> end_of_kernels() const;
  bool is_idle() const;

  /// Throws Refusal where the device is full.
  std::uint64_t allocate(std::size_t bytes, MemoryKind kind);
  /// Throws Refusal where nothing begins there.
  void release(std::uint64_t address);
  /// By address.
  const std::map<std::uint64_t, Allocation>& allocated() const { return allocated_; }
  std::size_t free_bytes();
  /// Throws Refusal where the device has no room for them.
  void expect_room(std::size_t bytes);
  OwnFiles& files() { return files_; }

  /// A bit of its own.
  interpreter::Devices bit() const { return interpreter::Devices{1} << ordinal_; }
  /// The devices whose kernels may access memory of this kind.
  interpreter::Devices accessible_to(MemoryKind kind) const { return kind == MemoryKind::Plain ? peers_ : pool_users_; }
  void let_access(MemoryKind kind, interpreter::Devices devices);

  /// Does something of what there is to do; true while there is more, or a copy to wait for.
  bool advance();
  /// What every call about this device says from now on.
  void fail(CUresult failure, const std::string& why);
  CUresult failure() const { return failure_; }
  bool has_failed() const { return failure_ != CUDA_SUCCESS; }
  void expect_healthy() const;

  CopyEngine to_device, to_host, to_peers;

 private:
  bool all_streams(const std::function<bool(const Stream&)>& holds) const;
  int free_queue(const Context& context) const;
  bool is_held_up(const Stream& stream) const;
  bool waits_for_default(const Stream& stream) const;
  bool advance_streams();
  bool run_blocks();

  Machine& machine_;
  int ordinal_;
  std::shared_ptr<const Context> primary_;
  Multiprocessors sms_;
  std::map<CUstream, std::unique_ptr<Stream>> streams_;
  std::uint32_t streams_made_ = 0;
  std::map<std::thread::id, std::unique_ptr<Stream>> of_threads_;
  std::unique_ptr<Stream> legacy_;
  std::uint64_t commands_put_ = 0;
  std::map<std::uint64_t, Allocation> allocated_;
  std::size_t allocated_bytes_ = 0;
  OwnFiles files_;
  interpreter::Devices peers_, pool_users_;
  CUresult failure_ = CUDA_SUCCESS;
};

}  // namespace gpushare::stand_in
