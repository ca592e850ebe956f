// SPDX-License-Identifier: Apache-2.0
#include "bindings/bindings.hpp"

PYBIND11_MODULE(_core, module) {
  using namespace gpushare::bindings;
  module.doc() = "The C++ core of gpushare. Users import gpushare, which documents and re-exports what is here.";
  bind_errors(module);
  bind_cuda_errors(module);
  bind_device(module);
  bind_workload(module);
  bind_state(module);
  bind_predictors(module);
  bind_allocation(module);
  bind_policies(module);
  bind_metrics(module);
  bind_trace(module);
  bind_accuracy(module);
  bind_run(module);
  bind_transform(module);
  bind_compiler(module);
  bind_cuda_device(module);
  bind_shared_memory(module);
  bind_dlpack(module);
  bind_cuda_run(module);
  bind_session(module);
  bind_spread(module);
  bind_held_jobs(module);
  bind_session_history(module);
  bind_session_devices(module);
  bind_profile(module);
  bind_calibration(module);
  bind_slate(module);
  bind_kernel_states(module);
  bind_ordering(module);
  bind_off_sm_bandwidth(module);
  bind_daemon(module);
  bind_corun(module);
  bind_programs(module);
}
