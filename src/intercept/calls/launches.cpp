// SPDX-License-Identifier: Apache-2.0
// What every launch passes through: the gate, and the counts. In the common case it costs a load of the lease, a
// lookup, and a few additions.
#include <mutex>

#include "intercept/calls/captures.hpp"
#include "intercept/calls/known_launches.hpp"
#include "intercept/gate.hpp"
#include "intercept/launch_samples.hpp"
#include "intercept/phases.hpp"
#include "intercept/progress.hpp"
#include "intercept/waiting.hpp"
#include "intercept/workers/worker_rounds.hpp"

namespace gpushare::intercept {
namespace {

using programs::LaunchKind;

/// Called after the work has been counted: the scheduler checks the counters once more after it has cleared the word,
/// so either sees the other's write.
void wake_scheduler(const Membership& member) {
  std::atomic<std::uint32_t>& is_known = member.page->is_known_busy;
  if (is_known.load() != 0 || is_known.exchange(1) != 0) return;
  member.slot->last_launch_ns.store(now_ns(), std::memory_order_relaxed);
  wake_all(is_known);
}

void count_launch(const Membership& member, KnownLaunch* known, StreamWords& words, CUstream stream) {
  member.slot->launches.fetch_add(1, std::memory_order_relaxed);
  programs::KernelRecord* record = known != nullptr ? known->record(member) : nullptr;
  if (record != nullptr) record->launches.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t predicted = known != nullptr ? known->predicted_ns(member) : unknown_ns;
  const std::uint64_t launched = words.progress->launched.fetch_add(predicted) + predicted;
  if (known != nullptr && known->thing.kind != LaunchKind::Graph) {
    const std::uint64_t of_a_block = predicted >> known->waves_log2;
    member.slot->block_times.fetch_add((predicted >> 10) * of_a_block, std::memory_order_relaxed);
  }
  wake_scheduler(member);
  const auto lease = programs::Lease::of(member.page->lease.load(std::memory_order_relaxed));
  // Another thread may have marked more than this one has launched.
  const auto unmarked = static_cast<std::int64_t>(launched - words.marked.load(std::memory_order_relaxed));
  if (unmarked < static_cast<std::int64_t>(mark_interval_ns(lease))) return;
  mark(member, words, stream);
  read_samples(member);
}

/// What count_launch() writes comes into the cache while the driver launches, instead of one after the other behind it.
void fetch_counts(const Membership& member, const KnownLaunch* known, const StreamWords& words) {
  __builtin_prefetch(&words.progress->launched, 1);
  const programs::KernelRecord* record = known != nullptr ? known->record(member) : nullptr;
  if (record == nullptr) return;
  __builtin_prefetch(&record->launches, 1);
  __builtin_prefetch(&record->predicted_ns);
}

PhaseWork phase_work(const Membership& member, const KnownLaunch* known) {
  if (!is_ordered(member)) return {};
  return {.kind = programs::PhaseKind::Kernels,
          .predicted_ns = known != nullptr ? known->predicted_ns(member) : unknown_ns,
          .is_known = known != nullptr && known->known_ns(member) != 0};
}

struct Made {
  CUresult result = CUDA_SUCCESS;
  bool as_workers = false;
};

/// The launch itself, or as workers where that is possible.
template <class Launch>
Made made(const Membership& member, const KnownLaunch* known, const KernelArguments* arguments, StreamWords& words,
          CUstream stream, const Launch& launch) {
  const std::lock_guard lock(words.launching);
  // The rest of an evicted kernel would stand in front of a collective for which other processes wait on the GPU.
  const bool has_peers = member.slot->collectives.load(std::memory_order_relaxed) > 0;
  if (known != nullptr && arguments != nullptr && !has_peers && is_worth_workers(member, *known)) {
    const std::optional<CUresult> result = launched_as_workers(member, *known, *arguments, words, stream);
    if (result) return {*result, true};
  }
  return {launch()};
}

bool is_timed(const Membership& member, KnownLaunch& known) {
  if (is_sampled(member, known)) return true;
  return makes_workers(&member) && is_worth_workers(member, known) && wants_time_of_workers(known);
}

/// `stream` as `named` names it; `launch` makes the launch, and its result is passed on. `arguments`: nullptr for what
/// cannot be made as workers.
template <class Launch>
CUresult launched(const LaunchedThing& thing, const KernelArguments* arguments, CUstream stream, void* caller,
                  const Launch& launch) {
  const Membership* member = this_member();
  if (member == nullptr || is_captured(stream)) return launch();
  const std::uint64_t hash = sought_launch(thing);
  __builtin_prefetch(&member->page->lease);
  __builtin_prefetch(&member->slot->launches, 1);
  StreamWords& words = words_of(*member, stream);
  KnownLaunch* known = known_launch(*member, thing, hash, caller);
  fetch_counts(*member, known, words);
  pass_gate(*member, words, stream);
  const PhaseCall phase(*member, stream, phase_work(*member, known));
  const bool is_wanted = known != nullptr && is_timed(*member, *known);
  Sample sample(*member, known, stream, is_wanted);
  const auto [result, as_workers] =
      makes_workers(member) ? made(*member, known, arguments, words, stream, launch) : Made{launch()};
  if (result != CUDA_SUCCESS) return result;
  sample.ends(stream, as_workers);
  count_launch(*member, known, words, stream);
  if (known != nullptr && known->is_collective) [[unlikely]]
    note_collective(*member);
  return result;
}

LaunchKind kind_of(const CUlaunchConfig& config) {
  for (unsigned index = 0; index < config.numAttrs; ++index) {
    const CUlaunchAttribute& attribute = config.attrs[index];
    const auto& cluster = attribute.value.clusterDim;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative != 0) {
      return LaunchKind::Cooperative;
    }
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && cluster.x * cluster.y * cluster.z > 1) {
      return LaunchKind::Cluster;
    }
  }
  return LaunchKind::Kernel;
}

/// Is a launch of kind Kernel the same without its attributes?
bool is_plain(const CUlaunchConfig& config) {
  for (unsigned index = 0; index < config.numAttrs; ++index) {
    const CUlaunchAttributeID id = config.attrs[index].id;
    // The last two say then that it is not cooperative, and has no clusters.
    const bool says_nothing = id == CU_LAUNCH_ATTRIBUTE_IGNORE || id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE ||
                              id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    if (!says_nothing) return false;
  }
  return true;
}

LaunchedThing thing_of(const CUlaunchConfig& config, CUfunction function) {
  return {function,
          kind_of(config),
          {{config.gridDimX, config.gridDimY, config.gridDimZ},
           {config.blockDimX, config.blockDimY, config.blockDimZ},
           config.sharedMemBytes}};
}

}  // namespace
}  // namespace gpushare::intercept

using namespace gpushare::intercept;

#define GPUSHARE_CALLER __builtin_return_address(0)

// The two variants of each function differ only in the meaning of stream 0.
#define GPUSHARE_LAUNCHES(suffix, otherwise)                                                                           \
  CUresult cuLaunchKernel##suffix(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,              \
                                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,         \
                                  CUstream stream, void** parameters, void** extra) {                                  \
    const LaunchedThing thing{                                                                                         \
        function, LaunchKind::Kernel, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}};          \
    const KernelArguments arguments{parameters, extra};                                                                \
    return launched(thing, &arguments, named(stream, otherwise), GPUSHARE_CALLER, [&] {                                \
      return call(real.cuLaunchKernel##suffix, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,            \
                  shared_bytes, stream, parameters, extra);                                                            \
    });                                                                                                                \
  }                                                                                                                    \
  CUresult cuLaunchKernelEx##suffix(const CUlaunchConfig* config, CUfunction function, void** parameters,              \
                                    void** extra) {                                                                    \
    const auto launch = [&] { return call(real.cuLaunchKernelEx##suffix, config, function, parameters, extra); };      \
    if (config == nullptr) return launch();                                                                            \
    const KernelArguments arguments{parameters, extra};                                                                \
    return launched(thing_of(*config, function), is_plain(*config) ? &arguments : nullptr,                             \
                    named(config->hStream, otherwise), GPUSHARE_CALLER, launch);                                       \
  }                                                                                                                    \
  CUresult cuLaunchCooperativeKernel##suffix(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,   \
                                             unsigned block_x, unsigned block_y, unsigned block_z,                     \
                                             unsigned shared_bytes, CUstream stream, void** parameters) {              \
    const LaunchedThing thing{                                                                                         \
        function, LaunchKind::Cooperative, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}};     \
    return launched(thing, nullptr, named(stream, otherwise), GPUSHARE_CALLER, [&] {                                   \
      return call(real.cuLaunchCooperativeKernel##suffix, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, \
                  shared_bytes, stream, parameters);                                                                   \
    });                                                                                                                \
  }                                                                                                                    \
  CUresult cuGraphLaunch##suffix(CUgraphExec graph, CUstream stream) {                                                 \
    return launched({.handle = graph, .kind = LaunchKind::Graph}, nullptr, named(stream, otherwise), GPUSHARE_CALLER,  \
                    [&] { return call(real.cuGraphLaunch##suffix, graph, stream); });                                  \
  }

extern "C" {
GPUSHARE_LAUNCHES(, DefaultStream::Legacy)
GPUSHARE_LAUNCHES(_ptsz, DefaultStream::PerThread)
}
