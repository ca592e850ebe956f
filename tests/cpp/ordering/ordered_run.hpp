// SPDX-License-Identifier: Apache-2.0
// Runs a workload on the simulated GPU under an ordering and a policy.
#pragma once

#include <string_view>
#include <vector>

#include "core/ordering/ordering_registry.hpp"
#include "core/trace/trace_recorder.hpp"
#include "recorded_run.hpp"

namespace gpushare::test {

/// `name` as users write it: "cumas:window=8+srtf". A second observer may watch.
inline Trace ordered_run(const Device& device, const Workload& workload, std::string_view name,
                         RunObserver* watching = nullptr) {
  const OrderedPolicy parts = ordered_policy(name);
  SimulatedGpu gpu(device, 1);
  TraceRecorder recorder;
  std::vector<RunObserver*> observers{&recorder};
  if (watching != nullptr) observers.push_back(watching);
  run(gpu, *make_policy(parts.policy), workload, observers, make_ordering(parts.ordering, device, workload).get());
  return recorder.take();
}

}  // namespace gpushare::test
