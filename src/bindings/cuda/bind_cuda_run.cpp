// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "bindings/cuda/cuda_views.hpp"
#include "bindings/cuda/launch_shape.hpp"
#include "bindings/runs/scheduled_device.hpp"
#include "bindings/stopwatch.hpp"
#include "bindings/without_gil.hpp"
#include "core/engine/devices/without_moves.hpp"
#include "core/model/job_names.hpp"
#include "core/placements/registry.hpp"
#include "cuda/cuda_gpu.hpp"
#include "cuda/cuda_gpu_set.hpp"
#include "cuda/driver/shared_library.hpp"
#include "cuda/measure/hardware_run.hpp"

namespace gpushare::bindings {
namespace {

void add_launch(CudaProgram& program, std::shared_ptr<cuda::KernelCode> kernel, cuda::Extent grid, cuda::Extent block,
                unsigned shared_bytes, const std::vector<py::bytes>& arguments) {
  program.operations.push_back(cuda::DeviceLaunch{.kernel = std::move(kernel),
                                                  .grid = grid,
                                                  .block = block,
                                                  .shared_bytes = shared_bytes,
                                                  .arguments = as_arguments(arguments)});
}

void add_copy(CudaProgram& program, const std::shared_ptr<CopyBuffers>& buffers, Copy::Direction direction) {
  program.buffers.push_back(buffers);
  program.operations.push_back(cuda::DeviceCopy{
      .direction = direction, .device = buffers->device.get(), .host = buffers->host.get(), .bytes = buffers->bytes});
}

void append_submitted(CudaProgram& program, const cuda::SubmittedCode& submitted) {
  program.operations.push_back(submitted.operation());
}

std::unique_ptr<LaunchShape> make_shape(std::shared_ptr<cuda::KernelCode> kernel, cuda::Extent grid, cuda::Extent block,
                                        unsigned shared_bytes, const std::vector<ParameterTuple>& parameters,
                                        py::object array_type) {
  std::vector<PackedParameter> known;
  for (const ParameterTuple& each : parameters) known.push_back(parameter_of(each));
  return std::make_unique<LaunchShape>(
      cuda::DeviceLaunch{.kernel = std::move(kernel), .grid = grid, .block = block, .shared_bytes = shared_bytes},
      std::move(known), std::move(array_type));
}

std::vector<py::bytes> arguments_of(const cuda::SubmittedCode& code) {
  std::vector<py::bytes> values;
  for (const std::vector<std::byte>& each : std::get<cuda::DeviceLaunch>(code.operation()).arguments) {
    values.emplace_back(reinterpret_cast<const char*>(each.data()), each.size());
  }
  return values;
}

/// Owns what states, events and policies of one run point into.
struct CudaWorld {
  cuda::SharedContext context;
  Workload workload;
  Device estimates;  // for the times that an ordering estimates
};

std::vector<std::string> names_on_gpu(const cuda::CudaGpu& gpu, const Workload& workload, const CudaProgram& program) {
  std::vector<std::string> names;
  for (const BegunOperation& each : gpu.begun()) {
    const bool is_launch = std::holds_alternative<cuda::DeviceLaunch>(program.operations[index(each.id)]);
    if (is_launch && each.stage == Stage::OnDevice) names.push_back(job_name(workload, each.id));
  }
  return names;
}

/// A run that ends early leaves nothing behind on the GPU, or on the GPUs. `names`: of the launches there.
template <typename Gpus, typename Names, typename Run>
void run_or_stop(Gpus& gpus, const Names& names, const Run& run) {
  constexpr Duration patience(1'000'000'000);
  try {
    run();
  } catch (const cuda::CudaError& error) {
    const std::string message = failure_among(names(), error.what());
    gpus.stop(patience);
    throw cuda::CudaError(message);
  } catch (...) {
    gpus.stop(patience);
    throw;
  }
}

RunRecord run_on_cuda(const CudaDevice& device, const CudaProgram& program, const Workload& workload,
                      const py::object& policy, std::uint64_t seed, bool record_trace, const py::object& ended,
                      const std::optional<Device>& estimates, const std::shared_ptr<KernelTimes>& learnt) {
  const auto world = std::make_shared<CudaWorld>(
      CudaWorld{device.context, workload, estimates.value_or(device.context->description())});
  const auto [ordering_name, sharing] = in_two_parts(policy);
  const std::unique_ptr<Policy> decides = to_policy(sharing, world, seed);
  const auto ordering =
      make_ordering(ordering_name, world->estimates, world->workload, {.stopwatch = over_after, .learnt = learnt});
  UsageMeter meter(device.context->description(), world->workload);
  std::optional<TraceRecorder> recorder;
  const Interruption interruption(ended);
  std::vector<RunObserver*> observers{&meter};
  if (record_trace) observers.push_back(&recorder.emplace());
  SchedulerDelays delays;
  Duration began{};
  {
    const py::gil_scoped_release no_gil;
    cuda::CudaGpu gpu(*device.resources, program.operations);
    const auto names = [&] { return names_on_gpu(gpu, world->workload, program); };
    gpu.set_heartbeat([&] { interruption.look(names); });
    run_or_stop(gpu, names, [&] { run(gpu, *decides, world->workload, observers, ordering.get()); });
    delays = gpu.scheduler_delays();
    began = gpu.began().time_since_epoch();
  }
  RunRecord record = record_of(std::span(&meter, 1));
  record.began = count(began);
  record.longest_pause = count(delays.longest_pause);
  record.without_processor = count(delays.without_processor);
  if (recorder) record.trace = recorder->take();
  return record;
}

/// Owns what states, events and policies of a run on several GPUs point into.
struct CudaWorlds {
  std::vector<cuda::SharedContext> contexts;
  std::vector<Workload> workloads;
};

RunRecord run_on_gpus(const std::vector<const CudaDevice*>& devices, const std::vector<const CudaProgram*>& programs,
                      const std::vector<const Workload*>& workloads, const std::vector<py::object>& policies,
                      const std::string& place, std::uint64_t seed, bool record_trace, const py::object& ended) {
  require(devices.size() == programs.size() && devices.size() == workloads.size() && devices.size() == policies.size(),
          "a run needs a program, a workload and a policy for each of its devices");
  const auto world = std::make_shared<CudaWorlds>();
  std::vector<cuda::GpuOfSet> used;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    world->contexts.push_back(devices[i]->context);
    world->workloads.push_back(*workloads[i]);
    used.push_back({.resources = devices[i]->resources.get(), .program = &programs[i]->operations});
  }
  WithoutMoves placement(make_placement(place));
  const Interruption interruption(ended);
  ScheduledDevices scheduled(record_trace);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    scheduled.add(world, devices[i]->context->description(), world->workloads[i], policies[i], seed, devices.size(),
                  {});
  }
  Duration began{};
  {
    const py::gil_scoped_release no_gil;
    cuda::CudaGpuSet gpus(used);
    const auto names = [&] {
      std::vector<std::string> all;
      for (std::size_t i = 0; i < gpus.size(); ++i) {
        std::ranges::move(names_on_gpu(gpus.gpu(i), world->workloads[i], *programs[i]), std::back_inserter(all));
      }
      return all;
    };
    gpus.set_heartbeat([&] { interruption.look(names); });
    run_or_stop(gpus, names, [&] { run(gpus, scheduled.on(), placement); });
    began = gpus.began().time_since_epoch();
  }
  RunRecord record = scheduled.take_record();
  record.began = count(began);
  return record;
}

RunRecord run_as_hardware_does(const CudaDevice& device, const CudaProgram& program, const Workload& workload,
                               cuda::HardwareSharing sharing, std::vector<int> levels, std::vector<int> sms,
                               bool record_trace, const py::object& ended) {
  UsageMeter meter(device.context->description(), workload);
  std::optional<TraceRecorder> recorder;
  const Interruption interruption(ended);
  std::vector<RunObserver*> observers{&meter};
  if (record_trace) observers.push_back(&recorder.emplace());
  {
    const py::gil_scoped_release no_gil;
    cuda::run_on_hardware(device.context, workload, program.operations,
                          {.sharing = sharing, .levels = std::move(levels), .sms = std::move(sms)}, observers,
                          [&](const cuda::NamesOnGpu& on_gpu) { interruption.look(on_gpu); });
  }
  RunRecord record = record_of(std::span(&meter, 1));
  if (recorder) record.trace = recorder->take();
  return record;
}

void bind_program(py::module_& module) {
  py::class_<CopyBuffers, std::shared_ptr<CopyBuffers>>(module, "CopyBuffers", "Pinned memory, and as much on the GPU.")
      .def(py::init([](const CudaDevice& device, std::size_t bytes) {
             const py::gil_scoped_release no_gil;
             return std::shared_ptr<CopyBuffers>(new CopyBuffers(device, bytes), WithoutGil<CopyBuffers>{});
           }),
           py::arg("device"), py::arg("bytes"))
      .def_readonly("bytes", &CopyBuffers::bytes)
      .def(
          "host",
          [](const CopyBuffers& self) {
            return py::memoryview::from_memory(self.host.get(), static_cast<py::ssize_t>(self.bytes));
          },
          py::keep_alive<0, 1>(), "The pinned memory.")
      .def_property_readonly(
          "device", [](const CopyBuffers& self) -> const cuda::DeviceMemory& { return self.device; },
          py::return_value_policy::reference_internal, "The GPU's.");

  py::class_<cuda::SubmittedCode, std::shared_ptr<cuda::SubmittedCode>>(module, "SubmittedCode",
                                                                        "A launch on a GPU, with its arguments.")
      .def_property_readonly("arguments", &arguments_of, "One value per parameter.");
  py::class_<CudaProgram>(module, "CudaProgram", "What the operations of a workload are on a GPU, in its order.")
      .def(py::init<>())
      .def("add_launch", &add_launch, py::arg("kernel"), py::arg("grid"), py::arg("block"), py::arg("shared_bytes"),
           py::arg("arguments"))
      .def("add", &append_submitted, py::arg("submitted"), "Appends what was submitted to a session.")
      .def("add_copy", &add_copy, py::arg("buffers"), py::arg("direction"), "A copy of all that is in the buffers.");
  py::class_<LaunchShape>(module, "LaunchShape", "Launches on a GPU that differ in their arguments only.")
      .def(py::init(&make_shape), py::arg("kernel"), py::arg("grid"), py::arg("block"), py::arg("shared_bytes"),
           py::arg("parameters"), py::arg("array_type"),
           "`parameters`: (kind, offset, bytes, dtype, least, most, scalar) each. `array_type`: that of arrays of "
           "sessions.")
      .def("with_arguments", &LaunchShape::with, py::arg("arguments"),
           "The launch, or None if an argument is unusual or wrong.")
      .def("with_bytes", &LaunchShape::with_bytes, py::arg("arguments"), "The same with arguments that were packed.");
}

}  // namespace

void bind_cuda_run(py::module_& module) {
  bind_program(module);

  py::enum_<cuda::HardwareSharing>(module, "HardwareSharing", "How applications share a GPU without gpushare.")
      .value("SERIAL", cuda::HardwareSharing::Serial)
      .value("STREAMS", cuda::HardwareSharing::Streams)
      .value("PRIORITY", cuda::HardwareSharing::Priority)
      .value("GREEN_CONTEXTS", cuda::HardwareSharing::GreenContexts);

  module.def(
      "run_on_cuda", &run_on_cuda, py::arg("device"), py::arg("program"), py::arg("workload"), py::arg("policy"),
      py::kw_only(), py::arg("seed") = 0, py::arg("record") = false, py::arg("ended") = py::none(),
      py::arg("estimates") = py::none(), py::arg("learnt") = py::none(),
      "Runs the workload on a GPU under a policy, perhaps with an ordering and a + before it. Releases the GIL. "
      "Ctrl-C ends it, and so does ended(on_gpu) once it returns True or raises; on_gpu() names the launches there. "
      "An ordering estimates the times of copies and profiled kernels for the device `estimates`, and adds to what has "
      "been `learnt`.");
  module.def("run_on_gpus", &run_on_gpus, py::arg("devices"), py::arg("programs"), py::arg("workloads"),
             py::arg("policies"), py::kw_only(), py::arg("place"), py::arg("seed") = 0, py::arg("record") = false,
             py::arg("ended") = py::none(),
             "The same on several GPUs, without an ordering: each application runs on one of them, where the placement "
             "`place` puts it when it arrives. SMs are numbered through all of them.");
  module.def("run_as_hardware_does", &run_as_hardware_does, py::arg("device"), py::arg("program"), py::arg("workload"),
             py::arg("sharing"), py::kw_only(), py::arg("levels") = std::vector<int>{},
             py::arg("sms") = std::vector<int>{}, py::arg("record") = false, py::arg("ended") = py::none(),
             "Runs the original kernels on streams, without a scheduler.");
}

}  // namespace gpushare::bindings
