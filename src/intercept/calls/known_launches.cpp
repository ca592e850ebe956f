// SPDX-License-Identifier: Apache-2.0
#include "intercept/calls/known_launches.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "intercept/calls/library_kernels.hpp"
#include "intercept/forks.hpp"
#include "intercept/waiting.hpp"

namespace gpushare::intercept {
namespace {

using programs::KernelRecord;
using programs::LaunchKind;

/// Beyond this number of entries new shapes are not distinguished; the rest of the table is for new handles.
constexpr std::size_t most_with_a_shape = most_launches / 2;
constexpr std::size_t most_known_launches = most_launches / 4 * 3;

/// Open addressing; nothing is removed, and readers need no lock. After code was unloaded its handles may be used for
/// other kernels: their launches in a known shape are counted as the earlier kernel's.
std::array<KnownLaunch, most_launches> launches;
std::atomic<std::size_t> known_launches = 0;
Lock adding_launch;

std::uint64_t hash_of(const LaunchedThing& thing) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  const auto& [grid, block, shared_bytes] = thing.shape;
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(thing.handle) ^ static_cast<std::uint64_t>(thing.kind) << 56;
  hash = hash * odd ^ (grid[0] | std::uint64_t{grid[1]} << 32);
  hash = (hash ^ hash >> 29) * odd ^ (grid[2] | std::uint64_t{block[0]} << 32);
  hash = (hash ^ hash >> 29) * odd ^ (block[1] | std::uint64_t{block[2]} << 16 | std::uint64_t{shared_bytes} << 32);
  hash = (hash ^ hash >> 29) * odd;
  hash ^= hash >> 32;
  return hash != 0 ? hash : 1;
}

/// The entry of this, or the free one where it would be.
KnownLaunch& entry_of(const LaunchedThing& thing, std::uint64_t hash) {
  for (std::size_t at = hash % most_launches;; at = (at + 1) % most_launches) {
    const std::uint64_t found = launches[at].hash.load(std::memory_order_acquire);
    if (found == 0 || (found == hash && launches[at].thing == thing)) return launches[at];
  }
}

const char* name_of_function(const void* handle) {
  const char* name = nullptr;
  auto* function = static_cast<CUfunction>(const_cast<void*>(handle));
  return call(real.cuFuncGetName, &name, function) == CUDA_SUCCESS ? name : nullptr;
}

const char* name_of_kernel(const void* handle) {
  const char* name = nullptr;
  auto* kernel = static_cast<CUkernel>(const_cast<void*>(handle));
  return call(real.cuKernelGetName, &name, kernel) == CUDA_SUCCESS ? name : nullptr;
}

/// The name that the driver gives. A handle may have been of the other kind before.
const char* name_of(const void* handle) {
  const bool is_kernel = is_kernel_of_library(handle);
  const char* name = is_kernel ? name_of_kernel(handle) : name_of_function(handle);
  if (name == nullptr) name = is_kernel ? name_of_function(handle) : name_of_kernel(handle);
  return name != nullptr ? name : "(no name)";
}

std::string_view file_of(void* address) {
  Dl_info found{};
  if (dladdr(address, &found) == 0 || found.dli_fname == nullptr) return "(unknown)";
  std::string_view path = found.dli_fname;
  path.remove_prefix(path.rfind('/') + 1);
  return path;
}

/// NCCL's kernels, by the names that its versions give them.
bool is_collective(std::string_view name) {
  return name.starts_with("ncclDevKernel") || name.starts_with("ncclKernel");
}

/// By threads alone: what else limits the blocks of an SM makes more waves.
std::uint8_t waves_log2_of(const programs::LaunchShape& shape) {
  CUdevice device = 0;
  int sms = 0;
  int threads_per_sm = 0;
  if (call(real.cuCtxGetDevice, &device) != CUDA_SUCCESS) return 0;
  call(real.cuDeviceGetAttribute, &sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  call(real.cuDeviceGetAttribute, &threads_per_sm, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device);
  double threads = 1;
  for (const auto& extent : {shape.grid, shape.block}) {
    for (const std::uint32_t size : extent) threads *= size;
  }
  const double waves = threads / std::max(1.0, static_cast<double>(sms) * threads_per_sm);
  return waves < 2 ? 0 : static_cast<std::uint8_t>(std::log2(waves));
}

void describe(KnownLaunch& entry, const Membership& member, std::size_t nodes, void* caller) {
  const LaunchedThing& thing = entry.thing;
  char of_graph[64];
  const char* name = of_graph;
  programs::LaunchShape shape = thing.shape;
  if (thing.kind == LaunchKind::Graph) {
    std::snprintf(of_graph, sizeof of_graph, "graph of %zu nodes", nodes);
    shape.grid = {static_cast<std::uint32_t>(nodes), 0, 0};
  } else {
    const AllowedWhileCapturing allowed;
    name = name_of(thing.handle);
  }
  const std::uint32_t library = programs::library_of(*member.page, file_of(caller));
  const auto index = programs::record_of(*member.page, name, thing.kind, shape, library);
  entry.record_index = index ? static_cast<std::int32_t>(*index) : -1;
  if (thing.kind == LaunchKind::Graph) return;  // other threads may read the entry of a graph that is described anew
  entry.is_collective = is_collective(name);
  entry.waves_log2 = waves_log2_of(shape);
}

/// With the lock.
KnownLaunch* added(const Membership& member, const LaunchedThing& thing, std::size_t nodes, void* caller) {
  if (known_launches == most_known_launches) return nullptr;
  const std::uint64_t hash = hash_of(thing);
  KnownLaunch& entry = entry_of(thing, hash);
  if (entry.hash == hash) return &entry;
  ++known_launches;
  entry.thing = thing;
  describe(entry, member, nodes, caller);
  entry.hash.store(hash, std::memory_order_release);
  return &entry;
}

/// Falls at once and rises slowly: where the host is slower than the GPU, its time between two events is in the sample,
/// and the smallest sample has least of it.
std::uint64_t corrected(std::uint64_t predicted, std::uint64_t sample) {
  const std::uint64_t ns = std::max<std::uint64_t>(sample, 1);
  return predicted == 0 || ns < predicted ? ns : predicted + (ns - predicted) / 16;
}

}  // namespace

std::uint64_t KnownLaunch::samples(const Membership& member) const {
  const KernelRecord* found = thing.kind != LaunchKind::Graph ? record(member) : nullptr;
  return found != nullptr ? found->samples.load(std::memory_order_relaxed)
                          : graph_samples.load(std::memory_order_relaxed);
}

std::uint64_t KnownLaunch::known_ns(const Membership& member) const {
  const KernelRecord* found = record(member);
  if (thing.kind == LaunchKind::Graph || found == nullptr) {
    if (const std::uint64_t own = graph_predicted_ns.load(std::memory_order_relaxed)) return own;
  }
  return found != nullptr ? found->predicted_ns.load(std::memory_order_relaxed) : 0;
}

std::uint64_t KnownLaunch::predicted_ns(const Membership& member) const {
  const std::uint64_t known = known_ns(member);
  return known != 0 ? known : unknown_ns;
}

void KnownLaunch::add_sample(const Membership& member, std::uint64_t ns) {
  KernelRecord* found = record(member);
  if (thing.kind == LaunchKind::Graph || found == nullptr) {
    graph_predicted_ns = corrected(graph_predicted_ns, ns);
    ++graph_samples;
  }
  if (found == nullptr) return;
  found->sampled_ns += ns;
  ++found->samples;
  found->predicted_ns = corrected(found->predicted_ns, ns);
}

std::uint64_t sought_launch(const LaunchedThing& thing) {
  const std::uint64_t hash = hash_of(thing);
  __builtin_prefetch(&launches[hash % most_launches], 1);
  return hash;
}

KnownLaunch* known_launch(const Membership& member, const LaunchedThing& thing, std::uint64_t hash, void* caller) {
  KnownLaunch& entry = entry_of(thing, hash);
  if (entry.hash.load(std::memory_order_acquire) == hash) [[likely]]
    return &entry;
  LaunchedThing stored = thing;
  if (known_launches.load(std::memory_order_relaxed) >= most_with_a_shape) {
    stored.shape = {};
    const std::uint64_t shapeless = hash_of(stored);
    KnownLaunch& shared = entry_of(stored, shapeless);
    if (shared.hash.load(std::memory_order_acquire) == shapeless) return &shared;
  }
  const std::lock_guard lock(adding_launch);
  return added(member, stored, 0, caller);
}

std::size_t index_of(const KnownLaunch& known) { return static_cast<std::size_t>(&known - launches.data()); }

void remember_graph(const Membership& member, CUgraphExec graph, const GraphContents& contents, void* caller) {
  const LaunchedThing thing{.handle = graph, .kind = LaunchKind::Graph};
  const std::lock_guard lock(adding_launch);
  KnownLaunch* entry = added(member, thing, contents.nodes, caller);
  if (entry == nullptr) return;
  describe(*entry, member, contents.nodes, caller);
  entry->is_collective = contents.has_collective;
  entry->graph_samples = 0;
  entry->has_enough_samples = false;
  entry->graph_predicted_ns = 0;
}

bool is_collective_kernel(const void* handle) {
  const AllowedWhileCapturing allowed;
  return is_collective(name_of(handle));
}

void forget_kernels() { adding_launch.unlock(); }

}  // namespace gpushare::intercept
