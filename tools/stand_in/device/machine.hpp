// SPDX-License-Identifier: Apache-2.0
// All devices, and what they have in common: one address space, and the objects for which the driver has handles. One
// thread does all that the devices do, and a host thread that calls the driver locks the machine meanwhile. So nothing
// is done at the same time in here, whatever order things come in, and host and devices share no memory but what is
// pinned. In virtual time there is no such thread: each call of the driver has the devices do one step, which takes a
// fixed time, so that what one host thread sees depends on its calls alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/capture.hpp"
#include "device/gpu.hpp"
#include "device/module.hpp"
#include "device/shared_memories.hpp"
#include "ptx_interpreter/global_memory.hpp"

namespace gpushare::stand_in {

/// Host memory that the devices see.
struct PinnedBytes {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size = 0;
  std::uint64_t device_address = 0;
};

/// Host memory of the program that was pinned where it is.
struct RegisteredBytes {
  std::size_t size = 0;
  std::uint64_t device_address = 0;
  std::shared_ptr<const int> use = std::make_shared<int>();  ///< copies that have not ended hold it, too
};

/// Code for all devices, each of which loads it when it is first asked for there.
struct Library {
  std::string image;
  std::map<const Gpu*, CUmodule> modules{};
};

struct LibraryKernel {
  CUlibrary library = nullptr;
  std::string name;
};

/// Does this mean the legacy default stream? There is one where GPUSHARE_STAND_IN_LEGACY_STREAM is 1.
bool is_legacy_stream(CUstream handle);

/// The SMs of a green context to be.
struct SmChoice {
  Gpu* gpu = nullptr;
  SmMask sms;
};

class Machine {
 public:
  Machine();
  /// Whatever is under way then stays undone.
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const std::vector<std::unique_ptr<Gpu>>& gpus() const { return gpus_; }
  /// Throws Refusal where there is none of this number.
  Gpu& gpu(int ordinal) const;

  /// Keeps the devices from going on while a host thread looks at them or changes something.
  class Lock {
   public:
    explicit Lock(Machine& machine);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    /// Lets the devices go on until this holds. Throws Refusal where a kernel of this device has failed.
    void wait_until(const Gpu& gpu, const std::function<bool()>& holds);

   private:
    void take();

    Machine& machine_;
    std::unique_lock<std::mutex> lock_;
  };

  // What follows is for a thread that has locked the machine, or the devices themselves.

  /// The stream behind a handle, also CU_STREAM_PER_THREAD and, where there is one, the legacy default stream.
  Stream& stream(CUstream handle);
  std::shared_ptr<Event> event(CUevent handle) const;
  /// A context by its handle, also of a green one. Throws Refusal.
  std::shared_ptr<const Context> context(CUcontext handle) const;
  /// For what a capture in this thread or another one forbids, and is spoilt by.
  void expect_no_capture();
  bool is_under_way(const std::shared_ptr<Capture>& capture) const;
  void end_capture(const std::shared_ptr<Capture>& capture);
  /// For what cannot be asked about a stream that is captured.
  static void expect_not_captured(const Stream& stream);
  /// Host bytes that are pinned, all of them.
  bool is_pinned(const void* first, std::size_t bytes) const;
  /// Held while a copy from or to them is under way; nothing where they are not registered. Throws Refusal where only
  /// some of them are.
  std::shared_ptr<const int> registration(const void* first, std::size_t bytes) const;
  /// So many bytes of one allocation, wherever they begin. Throws Refusal.
  std::byte* bytes_at(std::uint64_t address, std::size_t bytes);
  /// The same for what kernels of a device may access.
  std::byte* bytes_at(std::uint64_t address, std::size_t bytes, const Gpu& gpu);
  /// The device with an allocation or a variable at this address; nothing for host memory and what is not allocated.
  Gpu* owner_of(std::uint64_t address) const;
  /// On all devices.
  std::function<bool()> end_of_kernels() const;

  std::uint64_t now_ns() const { return now_ns_; }
  const std::uint64_t* clock() const { return &now_ns_; }
  bool has_hosts_waiting() const { return hosts_waiting_ > 0; }
  void tell_hosts();

  bool looks_at_memory = false;  ///< since the last step: a stream waits for a word that other processes may write
  interpreter::GlobalMemory memory;
  std::map<const void*, PinnedBytes> pinned;
  std::map<const std::byte*, RegisteredBytes> registered;
  SharedMemories shared;
  std::map<CUgreenCtx, std::shared_ptr<const Context>> green_contexts;
  std::deque<SmChoice> descriptions;
  std::map<CUevent, std::shared_ptr<Event>> events;
  std::map<CUmodule, std::shared_ptr<const Module>> modules;
  std::map<std::pair<CUmodule, std::string>, std::unique_ptr<Function>> functions;
  std::map<CUlibrary, std::unique_ptr<Library>> libraries;
  std::map<CUkernel, std::unique_ptr<LibraryKernel>> kernels;
  std::vector<std::shared_ptr<Capture>> captures;
  std::map<CUgraph, std::shared_ptr<Graph>> graphs;
  std::map<CUgraphExec, std::shared_ptr<Graph>> executables;

 private:
  void serve();
  bool advance();
  void read_clock();

  const bool is_time_virtual_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::uint64_t now_ns_ = 0;
  std::mutex mutex_;
  std::atomic<int> hosts_waiting_ = 0;
  std::atomic<unsigned> news_ = 0;  ///< grows with all that a host may wait for
  std::condition_variable devices_wake_;
  bool ends_ = false;
  std::thread devices_;
};

}  // namespace gpushare::stand_in
