// SPDX-License-Identifier: Apache-2.0
// Launches that say where their blocks ran, and as what.
#pragma once

#include <deque>
#include <limits>
#include <set>

#include "core/policies/registry.hpp"
#include "core/trace/trace_recorder.hpp"
#include "cuda/cuda_gpu.hpp"
#include "sample_work.hpp"

namespace gpushare::cuda::test {

/// Every block says where it is, and adds a number to that.
inline std::string tell_where(int plus) {
  return R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry tell_where(.param .u64 where)
{
  .reg .b32 %block;
  .reg .b32 %sm;
  .reg .b64 %where;
  .reg .b64 %offset;
  ld.param.u64 %where, [where];
  mov.u32 %block, %ctaid.x;
  mov.u32 %sm, %smid;
  add.u32 %sm, %sm, )" +
         std::to_string(plus) + R"(;
  mul.wide.u32 %offset, %block, 4;
  add.u64 %where, %where, %offset;
  st.global.u32 [%where], %sm;
  ret;
}
)";
}
constexpr int of_worker = 1000;
constexpr unsigned blocks = 64;  // more than fit at a time
constexpr Duration worth(3);     // of a partition; no launch is shorter than a nanosecond

class TellingLaunches : public OnStandIn {
 protected:
  TellingLaunches() : kernel(load_kernel()) {
    resources = std::make_unique<GpuResources>(context, WorkerTables::usual_slots, worth);
    resources->mode_limits.brief = {};
    let_win(ExecutionMode::Original);
  }

  /// The stand-in does not show which mode is faster.
  void let_win(ExecutionMode faster) {
    constexpr double never = std::numeric_limits<double>::infinity();
    resources->history = KernelHistory(faster == ExecutionMode::Worker ? never : 0, never);
    for (const std::size_t sms : {2u, 4u}) {
      for (const ExecutionMode way : {ExecutionMode::Worker, ExecutionMode::Original}) {
        for (int time = 0; time < 4; ++time) resources->history.add({kernel->id(), sms, way, 1}, Duration(1));
      }
    }
  }

  /// As workers it tells more, so that one can see as what it ran. They may have a limit of their own.
  std::shared_ptr<KernelCode> load_kernel(const std::string& limit_of_worker = "") {
    std::string text = ptx::make_preemptible(tell_where(of_worker)).ptx;
    const std::string added = ", " + std::to_string(of_worker) + ";";
    text.replace(text.find(added), added.size(), ", 0;");  // of the original, which comes first
    text.insert(text.find('{', text.find(ptx::worker_name("tell_where"))), limit_of_worker);
    const std::span<const char> image(text.c_str(), text.size() + 1);
    return load(std::make_shared<KernelModule>(context, image, ModuleState::None), "tell_where");
  }

  /// As many launches of the kernel one after the other, in an application of their own.
  void add_application(const std::string& name, int launches, unsigned blocks_each = blocks) {
    work.add_application(name);
    auto& applications_places = places.emplace_back();
    for (int launch = 0; launch < launches; ++launch) {
      const DeviceMemory& where = applications_places.emplace_back(array(std::vector<int>(blocks_each, -1)));
      work.add_launch(kernel, blocks_each, 32, arguments(where.get()));
    }
  }

  Trace run_under(const std::string& policy) { return run_under(*make_policy(policy)); }
  Trace run_under(Policy& policy) {
    TraceRecorder recorder;
    std::vector<RunObserver*> observers{&recorder};
    CudaGpu gpu(*resources, work.program);
    run(gpu, policy, work.workload, observers);
    return recorder.take();
  }

  /// Where the blocks of each launch of an application were that ran as they were written.
  std::vector<std::set<int>> whole_launches(std::size_t application = 0, unsigned blocks_each = blocks) {
    std::vector<std::set<int>> found;
    for (const DeviceMemory& where : places[application]) {
      const std::vector<int> seen = values<int>(where, blocks_each);
      if (seen.front() < of_worker) found.emplace_back(seen.begin(), seen.end());
    }
    return found;
  }

  std::shared_ptr<KernelCode> kernel;
  std::deque<std::deque<DeviceMemory>> places;  // by application
  Work work;
};

}  // namespace gpushare::cuda::test
