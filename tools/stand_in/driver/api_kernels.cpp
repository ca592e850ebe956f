// SPDX-License-Identifier: Apache-2.0
// The driver's functions about code and launches.
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

#include "core/model/errors.hpp"
#include "driver/call.hpp"
#include "driver/loading.hpp"

namespace gpushare::stand_in {
namespace {

using interpreter::Dimensions;

/// As one buffer, whose address and size stand between the numbers that say so.
std::vector<std::byte> packed_already(const interpreter::FunctionCode& entry, void** extra) {
  std::vector<std::byte> bytes(entry.parameter_bytes);
  const void* from = nullptr;
  std::size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) from = extra[1];
    if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const std::size_t*>(extra[1]);
  }
  expect(from != nullptr && size >= bytes.size(), CUDA_ERROR_INVALID_VALUE, "fewer bytes than the kernel's parameters");
  std::memcpy(bytes.data(), from, bytes.size());
  return bytes;
}

std::vector<std::byte> packed(const interpreter::FunctionCode& entry, void** arguments, void** extra) {
  if (extra != nullptr) return packed_already(entry, extra);
  std::vector<std::byte> bytes(entry.parameter_bytes);
  for (std::size_t index = 0; index < entry.parameters.size(); ++index) {
    const interpreter::LocalBytes& parameter = entry.parameters[index];
    std::memcpy(bytes.data() + parameter.offset, arguments[index], parameter.bytes);
  }
  return bytes;
}

void expect_possible(const Function& function, const Dimensions& blocks, const Dimensions& threads, unsigned shared) {
  const auto at_least_one = [](const Dimensions& each) { return each.x > 0 && each.y > 0 && each.z > 0; };
  expect(at_least_one(blocks) && blocks.x <= 0x7fffffffu && blocks.y <= 65'535 && blocks.z <= 65'535,
         CUDA_ERROR_INVALID_VALUE, "no such grid");
  expect(at_least_one(threads) && threads.z <= 64 && threads.count() <= Limits::threads_per_block,
         CUDA_ERROR_INVALID_VALUE, "no such block");
  expect(static_cast<int>(threads.count()) <= function.most_threads, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
         "more threads than the kernel was compiled for");
  expect(static_cast<int>(shared) <= function.dynamic_shared_allowed, CUDA_ERROR_INVALID_VALUE,
         "more dynamic shared memory than the kernel has been allowed");
}

Footprint footprint_of(const Function& function, std::size_t threads, std::size_t dynamic_shared) {
  return footprint(static_cast<int>(threads), function.registers,
                   function.static_shared() + static_cast<int>(dynamic_shared));
}

struct Shape {
  Dimensions blocks;
  Dimensions threads;
  unsigned shared = 0;
};

void launch(Stream& stream, CUfunction handle, const Shape& shape, void** arguments, void** extra) {
  Gpu& gpu = stream.gpu();
  const Function& function = function_behind(gpu, handle);
  expect(function.module->context == stream.context, CUDA_ERROR_INVALID_HANDLE,
         "the function was loaded in another context than the stream's");
  expect(extra == nullptr || arguments == nullptr, CUDA_ERROR_INVALID_VALUE, "arguments in two ways");
  expect_possible(function, shape.blocks, shape.threads, shape.shared);
  gpu.launch(stream, handle,
             std::make_shared<Grid>(Grid{
                 .module = function.module,
                 .launch = {.program = function.module->program,
                            .entry = *function.code,
                            .grid = {shape.blocks, shape.threads, shape.shared},
                            .memory = gpu.machine().memory,
                            .parameters = packed(*function.code, arguments, extra),
                            .sms = static_cast<std::uint32_t>(Limits::sms)},
                 .block = footprint_of(function, shape.threads.count(), shape.shared),
             }));
}

void expect_resident(const Function& function, const Shape& shape) {
  const int per_sm = occupancy(footprint_of(function, shape.threads.count(), shape.shared));
  expect(shape.blocks.count() <= static_cast<std::size_t>(per_sm * Limits::sms),
         CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "more blocks than fit on the device at once");
}

/// The blocks of a cluster run as any others do: kernels that use more of it do not run on the interpreter.
void expect_bearable(const CUlaunchAttribute& attribute, const Function& function, const Shape& shape) {
  const Dimensions& blocks = shape.blocks;
  const auto& cluster = attribute.value.clusterDim;
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return expect(blocks.x % cluster.x == 0 && blocks.y % cluster.y == 0 && blocks.z % cluster.z == 0,
                    CUDA_ERROR_INVALID_VALUE, "the grid is no whole number of clusters");
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      if (attribute.value.cooperative != 0) expect_resident(function, shape);
      return;
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      return;
    default:
      throw Refusal(CUDA_ERROR_NOT_SUPPORTED, "the stand-in does not know this attribute of a launch");
  }
}

/// For what needs only the function, on whose device no kernel has failed: action(function).
template <class Action>
CUresult answer_about(const char* name, CUfunction handle, Action action) {
  return answer_locked(name, [&](Machine& all, Machine::Lock&) {
    Gpu& gpu = device_of(all, handle);
    gpu.expect_healthy();
    action(function_behind(gpu, handle));
  });
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuModuleLoadData(CUmodule* handle, const void* image) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock& lock) {
    lock.wait_until(gpu, gpu.end_of_kernels());
    *handle = load(current_context(), image);
  });
}

CUresult cuModuleLoad(CUmodule* handle, const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  return cuModuleLoadData(handle, image.c_str());
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    *count = static_cast<unsigned>(module_behind(all, handle)->text.entry_names().size());
  });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    for (const std::string& name : module_behind(all, handle)->text.entry_names()) {
      if (count-- == 0) return;
      *functions++ = find_function(all, handle, name);
    }
  });
}

/// The options of the compiler mean nothing here.
CUresult cuModuleLoadDataEx(CUmodule* handle, const void* image, unsigned, CUjit_option*, void**) {
  return cuModuleLoadData(handle, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* handle, const void* image) { return cuModuleLoadData(handle, image); }

CUresult cuModuleUnload(CUmodule handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock& lock) {
    const Gpu& gpu = module_behind(all, handle)->context->gpu;
    gpu.expect_healthy();
    lock.wait_until(gpu, gpu.end_of_kernels());
    unload(all, handle);
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    module_behind(all, handle)->context->gpu.expect_healthy();
    *function = find_function(all, handle, name);
  });
}

CUresult cuModuleGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule handle, const char* name) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    const Module& module = *module_behind(all, handle);
    module.context->gpu.expect_healthy();
    const gpushare::interpreter::Variable* found = variable_of(module, name);
    if (found == nullptr) throw Denial(CUDA_ERROR_NOT_FOUND, "no variable '" + std::string(name) + "' in this module");
    if (address != nullptr) *address = all.memory.variable(module.program, name);
    if (bytes != nullptr) *bytes = found->bytes;
  });
}

CUresult cuFuncLoad(CUfunction handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock& lock) {
    Gpu& gpu = device_of(all, handle);
    gpu.expect_healthy();
    static_cast<void>(function_behind(gpu, handle));
    lock.wait_until(gpu, gpu.end_of_kernels());
  });
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction handle) {
  return answer_about(__func__, handle, [&](const Function& function) {
    if (which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) {
      *value = function.most_threads;
    } else if (which == CU_FUNC_ATTRIBUTE_NUM_REGS) {
      *value = function.registers;
    } else if (which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) {
      *value = function.static_shared();
    } else if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
      *value = function.dynamic_shared_allowed;
    } else {
      throw Refusal(CUDA_ERROR_INVALID_VALUE, "the stand-in does not know this attribute");
    }
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which, int value) {
  return answer_about(__func__, handle, [&](Function& function) {
    expect(which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CUDA_ERROR_INVALID_VALUE,
           "the stand-in does not know this attribute");
    expect(value >= 0 && value + function.static_shared() <= Limits::shared_per_block, CUDA_ERROR_INVALID_VALUE,
           "more shared memory than a block can have");
    function.dynamic_shared_allowed = value;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads, std::size_t shared) {
  return answer_about(__func__, handle, [&](const Function& function) {
    const bool possible =
        threads <= function.most_threads && static_cast<int>(shared) <= function.dynamic_shared_allowed;
    *blocks = possible ? occupancy(footprint_of(function, static_cast<std::size_t>(threads), shared)) : 0;
  });
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    device_of(all, handle).expect_healthy();
    for (const auto& [key, function] : all.functions) {
      if (reinterpret_cast<CUfunction>(function.get()) == handle) return void(*name = key.second.c_str());
    }
    throw Denial(CUDA_ERROR_INVALID_HANDLE, "this is no function");
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    for (const auto& [key, function] : all.functions) {
      if (reinterpret_cast<CUfunction>(function.get()) == handle) return void(*module = key.first);
    }
    throw Denial(CUDA_ERROR_INVALID_HANDLE, "this is no function");
  });
}

CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** arguments,
                        void** extra) {
  return answer_in_stream(__func__, stream, [&](Stream& to, Machine::Lock&) {
    launch(to, handle, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared}, arguments, extra);
  });
}

/// All blocks have to be there at once.
CUresult cuLaunchCooperativeKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                   CUstream stream, void** arguments) {
  return answer_in_stream(__func__, stream, [&](Stream& to, Machine::Lock&) {
    const Shape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared};
    expect_resident(function_behind(to.gpu(), handle), shape);
    launch(to, handle, shape, arguments, nullptr);
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction handle, void** arguments, void** extra) {
  return answer_in_stream(__func__, config->hStream, [&](Stream& to, Machine::Lock&) {
    const Shape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                      {config->blockDimX, config->blockDimY, config->blockDimZ},
                      config->sharedMemBytes};
    for (const CUlaunchAttribute& each : std::span(config->attrs, config->numAttrs)) {
      expect_bearable(each, function_behind(to.gpu(), handle), shape);
    }
    launch(to, handle, shape, arguments, extra);
  });
}

}  // extern "C"
