// SPDX-License-Identifier: Apache-2.0
// The stand-in: one thread does all that a GPU does, and a host thread that calls the driver takes its turn in between.
// So nothing is done at the same time in here, whatever order things come in, and host and device share no memory but
// what is pinned.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ptx_interpreter/global_memory.hpp"
#include "device/capture.hpp"
#include "device/copy_engine.hpp"
#include "device/module.hpp"
#include "device/multiprocessors.hpp"
#include "device/refusal.hpp"
#include "device/shared_memories.hpp"
#include "device/stream.hpp"

namespace gpushare::stand_in {

/// Host memory that the device sees.
struct PinnedBytes {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size = 0;
  std::uint64_t device_address = 0;
};

/// Host memory of others that was pinned where it is.
struct RegisteredBytes {
  std::size_t size = 0;
  std::uint64_t device_address = 0;
  std::shared_ptr<const int> use = std::make_shared<int>();  ///< copies that have not ended hold it, too
};

/// The calling thread's stack of current contexts: green ones, or nullptr for the primary one.
std::vector<CUgreenCtx>& contexts_pushed();
void expect_current_context();
/// The current one. Throws Refusal where there is none.
CUgreenCtx green_context();

class Gpu {
 public:
  Gpu();
  /// Whatever is under way then stays undone.
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// A host thread's turn.
  class Turn {
   public:
    explicit Turn(Gpu& gpu);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// Lets the device go on until this holds. Throws Refusal where a kernel has failed.
    void wait_until(const std::function<bool()>& holds);

   private:
    void take();

    Gpu& gpu_;
    std::unique_lock<std::mutex> lock_;
  };

  // What follows belongs to whoever has the turn.

  /// The stream behind a handle, also CU_STREAM_PER_THREAD.
  Stream& stream(CUstream handle);
  CUstream add_stream(CUgreenCtx context, unsigned flags, int priority);
  /// Behind what is in the stream; into the graph where that is captured.
  void put(CUstream handle, Command command);
  void put_node(CUstream handle, const Node& node);
  /// For what a capture in this thread or another one forbids, and is spoilt by.
  void expect_no_capture();
  bool is_under_way(const std::shared_ptr<Capture>& capture) const;
  void end_capture(const std::shared_ptr<Capture>& capture);
  /// For what cannot be asked about a stream that is captured.
  void expect_not_captured(CUstream handle);
  Event& event(CUevent handle) const { return *shared_event(handle); }
  std::shared_ptr<Event> shared_event(CUevent handle) const;
  /// The function behind its own handle, or that of a kernel of a library.
  Function& function(CUfunction handle) const;
  /// Host bytes that are pinned, all of them.
  bool is_pinned(const void* first, std::size_t bytes) const;
  /// Held while a copy from or to them is under way; nothing where they are not registered. Throws Refusal where only
  /// some of them are.
  std::shared_ptr<const int> registration(const void* first, std::size_t bytes) const;
  /// So many bytes of one allocation, wherever they begin. Throws Refusal.
  std::byte* bytes_at(std::uint64_t address, std::size_t bytes);
  void launch(CUstream handle, std::shared_ptr<Grid> grid);
  /// A copy at a copy engine, behind what is in the stream.
  void copy(CUstream handle, CopyEngine& engine, std::size_t bytes, std::function<void()> move);
  /// What the driver has a kernel of its own do, at once but not before an SM has room for that.
  void put_on_sm(CUstream handle, std::function<void()> action);
  /// Have all kernels ended that are on the SMs now? To be asked again and again.
  std::function<bool()> end_of_kernels() const;
  bool is_idle() const;
  std::uint64_t now_ns() const { return now_ns_; }
  /// What every call says from now on.
  void fail(CUresult failure, const std::string& why);
  CUresult failure() const { return failure_; }

  interpreter::GlobalMemory memory;
  std::map<std::uint64_t, std::size_t> allocated;  ///< bytes by address
  std::size_t allocated_bytes = 0;
  std::map<const void*, PinnedBytes> pinned;
  std::map<const std::byte*, RegisteredBytes> registered;
  SharedMemories shared;
  std::map<CUstream, std::unique_ptr<Stream>> streams;
  std::map<CUgreenCtx, std::unique_ptr<SmMask>> green_contexts;
  std::deque<SmMask> descriptions;  ///< of green contexts to be
  std::map<CUevent, std::shared_ptr<Event>> events;
  std::map<CUmodule, std::shared_ptr<const Module>> modules;
  std::map<std::pair<CUmodule, std::string>, std::unique_ptr<Function>> functions;
  std::map<CUlibrary, CUmodule> libraries;
  std::map<CUkernel, CUfunction> kernels;
  std::vector<std::shared_ptr<Capture>> captures;
  std::map<CUgraph, std::shared_ptr<Graph>> graphs;
  std::map<CUgraphExec, std::shared_ptr<Graph>> executables;
  CopyEngine to_device, to_host;

 private:
  void serve();
  bool advance();
  int free_queue(CUgreenCtx context) const;
  bool is_held_up(const Stream& stream) const;
  bool advance_streams();
  bool run_blocks();
  void read_clock();
  void tell_hosts();

  Multiprocessors sms_;
  std::map<std::thread::id, std::unique_ptr<Stream>> of_threads_;
  std::uint64_t commands_put_ = 0;
  CUresult failure_ = CUDA_SUCCESS;
  std::uint64_t now_ns_ = 0;
  std::mutex mutex_;
  std::atomic<int> hosts_waiting_ = 0;
  std::atomic<unsigned> news_ = 0;  ///< grows with all that a host may wait for
  std::condition_variable device_wakes_;
  bool ends_ = false;
  std::thread device_;
};

}  // namespace gpushare::stand_in
