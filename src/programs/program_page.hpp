// SPDX-License-Identifier: Apache-2.0
// The memory through which a program that was started with `gpushare run` communicates with the scheduler: all
// processes of the program map it, `gpushare run` does, and the server does. It holds numbers alone, and each side
// checks the numbers of the others.
//
// To launch, a process reads `lease` and, if that permits, launches, without a system call, lock or event. Its launched
// and its ended work, in predicted nanoseconds, are one pair of words per stream; the GPU writes the second one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "programs/phases.hpp"

namespace gpushare::programs {

/// A program's permission to launch. The two low bits of `ProgramPage::lease`.
enum class LeaseState : std::uint32_t {
  Free = 0,     ///< no other program has work: launch, and mark progress seldom
  Limited = 1,  ///< launch, with so much predicted work under way per stream at most
  Held = 2,     ///< wait before the next launch
};

/// `limit_us`: predicted work under way per stream, in microseconds; 0 has no limit. Up to 2^30 - 1.
struct Lease {
  LeaseState state = LeaseState::Free;
  std::uint32_t limit_us = 0;

  std::uint32_t word() const { return static_cast<std::uint32_t>(state) | (limit_us << 2); }
  static Lease of(std::uint32_t word) { return {static_cast<LeaseState>(word & 3), word >> 2}; }
  friend bool operator==(const Lease&, const Lease&) = default;
};

constexpr std::uint64_t page_magic = 0x3165726168737067;  // "gpshare1"
constexpr std::uint32_t page_version = 3;
constexpr std::size_t most_processes = 64;
constexpr std::size_t most_streams = 64;  ///< the streams of a process with separate words; further ones share these
constexpr std::size_t most_kernels = 4096;
constexpr std::size_t most_name_bytes = 512;
constexpr std::size_t most_sms = 512;  ///< for which workers have orders

/// Predicted work in one stream since its process began, in ns. On separate cache lines: the GPU writes the second.
struct StreamProgress {
  alignas(64) std::atomic<std::uint64_t> launched;
  alignas(64) std::atomic<std::uint64_t> ended;  ///< as `launched` was when the stream came to its last mark
  /// Not 0, and another number each time, while the stream is between two rounds of a kernel's workers. While the
  /// program is held it stays there: the rest of the kernel has been evicted, and nothing behind it runs.
  std::atomic<std::uint64_t> stopped;
};

/// A process of the program that has used CUDA. Free where `pid` is 0; a process takes it by compare-and-swap, also
/// from a dead process. Its fields are then set to 0, except for totals over all processes that had the slot.
struct ProcessSlot {
  alignas(64) std::atomic<std::int32_t> pid;
  std::atomic<std::uint32_t> streams;  ///< how many of `progress` are in use, from the first
  std::atomic<std::uint32_t> waiting;  ///< threads that wait for the GPU, for example in cuStreamSynchronize
  /// Launched kernels that wait on the GPU for those of other processes. A process that is behind another one in this
  /// number is not held: the other one's kernel occupies the GPU until its own has come.
  std::atomic<std::uint64_t> collectives;
  std::atomic<std::uint64_t> last_launch_ns;  ///< on CLOCK_MONOTONIC, stored where the clock is read anyway
  std::atomic<std::uint64_t> memory_bytes;    ///< of device memory that it has
  // The totals:
  std::atomic<std::uint64_t> launches;  ///< of kernels and graphs
  /// Sum over launches of the predicted time of the kernel, in units of 1024 ns, times that of one of its blocks, in
  /// ns; of graphs 0.
  std::atomic<std::uint64_t> block_times;
  std::atomic<std::uint64_t> held_ns;          ///< its threads have waited for the lease
  std::atomic<std::uint64_t> limited_ns;       ///< its threads have waited for work under way
  std::atomic<std::uint64_t> let_go;           ///< waits that ended after the longest hold
  std::atomic<std::uint64_t> worker_launches;  ///< the part of `launches` that was made as workers
  std::atomic<std::uint64_t> evictions;        ///< of kernels under way, where their streams were seen to stop
  std::array<StreamProgress, most_streams> progress;
  PhaseLine line;  ///< directly behind `progress`: both are pinned together
};

/// Do copies and launches of the program wait for an ordering?
enum class Ordered : std::uint32_t {
  No = 0,
  Yes = 1,         ///< the scheduler has set it: work is put behind gates
  Impossible = 2,  ///< a process has set it: its GPU or driver has no gates
};

enum class LaunchKind : std::uint32_t { Kernel = 1, Cooperative = 2, Cluster = 3, Graph = 4 };

/// A kernel with a shape, or a graph. Taken by compare-and-swap of `key`, which is never 0 and is a hash of all
/// distinguishing fields (kernel_records.hpp); `is_named` says that the other fields are set.
struct KernelRecord {
  alignas(64) std::atomic<std::uint64_t> key;
  std::atomic<std::uint32_t> is_named;
  LaunchKind kind;
  std::array<std::uint32_t, 3> grid;  ///< of a graph: its nodes, 0, 0
  std::array<std::uint32_t, 3> block;
  std::uint32_t shared_bytes;
  std::uint32_t library;  ///< index into ProgramPage::libraries
  std::atomic<std::uint64_t> launches;
  std::atomic<std::uint64_t> samples;       ///< launches that were timed
  std::atomic<std::uint64_t> sampled_ns;    ///< in total
  std::atomic<std::uint64_t> predicted_ns;  ///< of one launch; 0: not known yet
  std::array<char, most_name_bytes> name;   ///< as the driver gives it, cut; ends with 0
};

constexpr std::size_t most_libraries = 64;
constexpr std::size_t most_library_bytes = 64;
/// The file that contains the launching code, without its folder. Taken like kernels, by `key`, a hash of the name.
struct LibraryName {
  std::atomic<std::uint64_t> key;
  std::array<char, most_library_bytes - 8> name;
};

constexpr std::size_t most_remarks = 64;
constexpr std::size_t most_remark_bytes = 192;
/// Why kernels run whole though the program asks for workers. Taken like kernels, by `key`, a hash of the text.
struct Remark {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> count;  ///< kernels, or images of code
  std::array<char, most_remark_bytes> text;
};

/// What workers of the program's kernels obey: functions are in worker_words.hpp. GPUs read it where it is, so it is a
/// page of the processor's own.
struct WorkerWords {
  /// Bit 0: streams may go on with the next round of a kernel. Above it, how often the program has been held.
  alignas(4096) std::atomic<std::uint32_t> go;
  alignas(64) std::array<std::atomic<std::uint32_t>, most_sms> orders;  ///< by SM, each a WorkerOrder
};

struct ProgramPage {
  std::uint64_t magic;
  std::uint32_t version;
  std::int32_t keeper_pid;           ///< the process of `gpushare run`: when it has ended, no lease holds the program
  std::uint64_t memory_limit_bytes;  ///< 0: none
  std::uint64_t longest_hold_ns;     ///< a launch that has waited for so long is made
  std::uint32_t makes_workers;       ///< 1: kernels whose PTX is found become workers

  /// Written by the scheduler; a futex for threads that wait. `keeper_pid` frees it where the server has gone.
  alignas(64) std::atomic<std::uint32_t> lease;
  /// 1: the scheduler knows that the program has work. Where it is 0, a process that has launched sets it and wakes the
  /// thread that waits for it (a futex). The scheduler clears it, and then reads `launched` once more.
  std::atomic<std::uint32_t> is_known_busy;

  /// Copies and launches wait for an ordering of tasks (phases.hpp).
  alignas(64) std::atomic<Ordered> ordering;
  std::atomic<std::uint32_t> task_news;  ///< grows when a phase begins or a task is complete; a futex for the scheduler
  std::atomic<std::uint64_t> piece_to_device_bytes;  ///< copies go in pieces of this size, each a phase; 0: whole
  std::atomic<std::uint64_t> piece_to_host_bytes;

  alignas(64) std::array<ProcessSlot, most_processes> processes;
  std::array<LibraryName, most_libraries> libraries;
  std::array<KernelRecord, most_kernels> kernels;
  std::array<Remark, most_remarks> remarks;
  WorkerWords workers;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace gpushare::programs
