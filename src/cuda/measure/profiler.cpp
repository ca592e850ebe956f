// SPDX-License-Identifier: Apache-2.0
#include "cuda/measure/profiler.hpp"

#include "cuda/driver/cupti.hpp"
#include "cuda/launch/grids.hpp"
#include "cuda/measure/launch_timing.hpp"

namespace gpushare::cuda {

#if !GPUSHARE_HAS_CUPTI

struct CuptiParts {};

Profiler::Profiler(GpuResources&, const std::string&, std::vector<std::string>) {
  throw CudaError("gpushare was built without CUPTI's headers (package nvidia-cuda-cupti)");
}
Profiler::~Profiler() = default;
std::size_t Profiler::passes() const { return 0; }
bool Profiler::run(const DeviceLaunch&) { return true; }
std::vector<double> Profiler::values() const { return {}; }

#else

namespace {

/// CUPTI's structures contain their size, so that older and newer libraries understand each other.
#define GPUSHARE_CUPTI_PARAMETERS(type, name) \
  type##_Params name{};                       \
  name.structSize = type##_Params_STRUCT_SIZE

#define GPUSHARE_CUPTI(call) check_cupti(api, api.call, #call)

using Image = std::vector<std::uint8_t>;

std::string chip_name(const Cupti& api, CUdevice device) {
  GPUSHARE_CUPTI_PARAMETERS(CUpti_Device_GetChipName, parameters);
  parameters.deviceIndex = static_cast<std::size_t>(device);
  GPUSHARE_CUPTI(cuptiDeviceGetChipName(&parameters));
  return parameters.pChipName;
}

/// The counters that this GPU has and that may be read.
Image counter_availability(const Cupti& api, CUcontext context) {
  GPUSHARE_CUPTI_PARAMETERS(CUpti_Profiler_GetCounterAvailability, parameters);
  parameters.ctx = context;
  GPUSHARE_CUPTI(cuptiProfilerGetCounterAvailability(&parameters));
  Image image(parameters.counterAvailabilityImageSize);
  parameters.pCounterAvailabilityImage = image.data();
  GPUSHARE_CUPTI(cuptiProfilerGetCounterAvailability(&parameters));
  return image;
}

}  // namespace

/// Owns both halves of CUPTI: the host's, which knows metrics, and the one that is attached to the context.
struct CuptiParts {
  CuptiParts(GpuResources& used, const Cupti& opened, std::vector<std::string> metrics)
      : resources(used), api(opened), stream(make_stream(used.context)), names(std::move(metrics)) {
    for (const std::string& name : names) name_pointers.push_back(name.c_str());
  }
  /// Releases whatever open() has opened.
  ~CuptiParts() { detach(); }

  void open() {
    const CurrentContext current(*resources.context);
    start_host();
    make_configuration();
    attach();
  }

  void start_host() {
    GPUSHARE_CUPTI_PARAMETERS(CUpti_Profiler_Initialize, whole);
    GPUSHARE_CUPTI(cuptiProfilerInitialize(&whole));
    chip = chip_name(api, resources.context->device());
    available = counter_availability(api, resources.context->get());
    GPUSHARE_CUPTI_PARAMETERS(CUpti_Profiler_Host_Initialize, parameters);
    parameters.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    parameters.pChipName = chip.c_str();
    parameters.pCounterAvailabilityImage = available.data();
    GPUSHARE_CUPTI(cuptiProfilerHostInitialize(&parameters));
    host = parameters.pHostObject;
  }

  void make_configuration() {
    GPUSHARE_CUPTI_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics, metrics);
    metrics.pHostObject = host;
    metrics.ppMetricNames = name_pointers.data();
    metrics.numMetrics = name_pointers.size();
    GPUSHARE_CUPTI(cuptiProfilerHostConfigAddMetrics(&metrics));
    GPUSHARE_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize, size);
    size.pHostObject = host;
    GPUSHARE_CUPTI(cuptiProfilerHostGetConfigImageSize(&size));
    configuration.resize(size.configImageSize);
    GPUSHARE_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImage, image);
    image.pHostObject = host;
    image.configImageSize = configuration.size();
    image.pConfigImage = configuration.data();
    GPUSHARE_CUPTI(cuptiProfilerHostGetConfigImage(&image));
    GPUSHARE_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses, counted);
    counted.configImageSize = configuration.size();
    counted.pConfigImage = configuration.data();
    GPUSHARE_CUPTI(cuptiProfilerHostGetNumOfPasses(&counted));
    passes = counted.numOfPasses;
  }

  void attach() {
    GPUSHARE_CUPTI_PARAMETERS(CUpti_RangeProfiler_Enable, enable);
    enable.ctx = resources.context->get();
    GPUSHARE_CUPTI(cuptiRangeProfilerEnable(&enable));
    target = enable.pRangeProfilerObject;
    make_counter_data();
    GPUSHARE_CUPTI_PARAMETERS(CUpti_RangeProfiler_SetConfig, setup);
    setup.pRangeProfilerObject = target;
    setup.configSize = configuration.size();
    setup.pConfig = configuration.data();
    setup.counterDataImageSize = data.size();
    setup.pCounterDataImage = data.data();
    setup.range = CUPTI_UserRange;
    // Without CUPTI's replay of kernels, which would save and restore all memory that they write.
    setup.replayMode = CUPTI_UserReplay;
    setup.maxRangesPerPass = 1;
    setup.numNestingLevels = 1;
    setup.minNestingLevel = 1;
    setup.passIndex = 0;
    setup.targetNestingLevel = 1;
    GPUSHARE_CUPTI(cuptiRangeProfilerSetConfig(&setup));
  }

  void make_counter_data() {
    GPUSHARE_CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize, size);
    size.pRangeProfilerObject = target;
    size.pMetricNames = name_pointers.data();
    size.numMetrics = name_pointers.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    GPUSHARE_CUPTI(cuptiRangeProfilerGetCounterDataSize(&size));
    data.resize(size.counterDataSize);
    GPUSHARE_CUPTI_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize, image);
    image.pRangeProfilerObject = target;
    image.counterDataSize = data.size();
    image.pCounterData = data.data();
    GPUSHARE_CUPTI(cuptiRangeProfilerCounterDataImageInitialize(&image));
  }

  bool run(const DeviceLaunch& launch) {
    const auto in_use = hold_for_timing(resources);
    const CurrentContext current(*resources.context);
    GPUSHARE_CUPTI_PARAMETERS(CUpti_RangeProfiler_Start, start);
    start.pRangeProfilerObject = target;
    GPUSHARE_CUPTI(cuptiRangeProfilerStart(&start));
    GPUSHARE_CUPTI_PARAMETERS(CUpti_RangeProfiler_PushRange, push);
    push.pRangeProfilerObject = target;
    push.pRangeName = "launch";
    GPUSHARE_CUPTI(cuptiRangeProfilerPushRange(&push));
    launch_grid(launch.kernel->original(), launch.grid, launch, {}, stream.get());
    wait_for(resources, stream.get());
    GPUSHARE_CUPTI_PARAMETERS(CUpti_RangeProfiler_PopRange, pop);
    pop.pRangeProfilerObject = target;
    GPUSHARE_CUPTI(cuptiRangeProfilerPopRange(&pop));
    GPUSHARE_CUPTI_PARAMETERS(CUpti_RangeProfiler_Stop, stop);
    stop.pRangeProfilerObject = target;
    GPUSHARE_CUPTI(cuptiRangeProfilerStop(&stop));
    if (stop.isAllPassSubmitted == 0) return false;
    GPUSHARE_CUPTI_PARAMETERS(CUpti_RangeProfiler_DecodeData, decode);
    decode.pRangeProfilerObject = target;
    GPUSHARE_CUPTI(cuptiRangeProfilerDecodeData(&decode));
    return true;
  }

  std::vector<double> values() {
    std::vector<double> found(names.size());
    GPUSHARE_CUPTI_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues, parameters);
    parameters.pHostObject = host;
    parameters.pCounterDataImage = data.data();
    parameters.counterDataImageSize = data.size();
    parameters.rangeIndex = 0;
    parameters.ppMetricNames = name_pointers.data();
    parameters.numMetrics = name_pointers.size();
    parameters.pMetricValues = found.data();
    GPUSHARE_CUPTI(cuptiProfilerHostEvaluateToGpuValues(&parameters));
    return found;
  }

  void detach() noexcept {
    if (target != nullptr && !resources.context->is_lost()) {
      const CurrentContext current(*resources.context);
      GPUSHARE_CUPTI_PARAMETERS(CUpti_RangeProfiler_Disable, disable);
      disable.pRangeProfilerObject = target;
      static_cast<void>(api.cuptiRangeProfilerDisable(&disable));
    }
    if (host != nullptr) {
      GPUSHARE_CUPTI_PARAMETERS(CUpti_Profiler_Host_Deinitialize, end);
      end.pHostObject = host;
      static_cast<void>(api.cuptiProfilerHostDeinitialize(&end));
    }
  }

  GpuResources& resources;
  const Cupti& api;
  Stream stream;
  std::vector<std::string> names;
  std::vector<const char*> name_pointers{};
  CUpti_Profiler_Host_Object* host = nullptr;
  CUpti_RangeProfiler_Object* target = nullptr;
  // CUPTI keeps pointers into these.
  std::string chip{};
  Image available{};
  Image configuration{};
  Image data{};
  std::size_t passes = 0;
};

Profiler::Profiler(GpuResources& resources, const std::string& library_path, std::vector<std::string> metrics)
    : parts_(std::make_unique<CuptiParts>(resources, cupti(library_path), std::move(metrics))) {
  parts_->open();
}
Profiler::~Profiler() = default;
std::size_t Profiler::passes() const { return parts_->passes; }
bool Profiler::run(const DeviceLaunch& launch) { return parts_->run(launch); }
std::vector<double> Profiler::values() const { return parts_->values(); }

#endif

}  // namespace gpushare::cuda
