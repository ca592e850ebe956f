// SPDX-License-Identifier: Apache-2.0
// A program that loads code from files and launches its kernels on one array of numbers, for tests of workers. It obeys
// lines of its standard input, each with a line of its own; `failed ...` where the driver says no.
//
//   load HOW FILE       module, module_ex, fat_binary, wrapped, library, wrapped_library, early_library: without a
//                       context, function_library: launched by handles of its functions, module_file, library_file;
//                       then it is the present code
//   unload              the present code
//   launch NAME BLOCKS THREADS SHARED_BYTES ROUNDS HOW      pointers, buffer, ex, or with an attribute: serialized,
//                       not_cooperative
//   threads NUMBER COUNT LAUNCH      so many threads make the same launch in the same stream, so often each
//   sync                query: is the stream idle?
//   sum                 of all values, each by its place; waits
//   variable NAME       its first 32 bits
//   kernels             the names in the present code
//   fork LINE           the child obeys this line and ends; says what the child answered
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "intercept/driver_calls.hpp"
#include "intercept/forked.hpp"

namespace intercepted {
namespace {

struct Wrapper {
  std::uint32_t magic = 0x466243b1;
  std::uint32_t version = 1;
  const void* binary = nullptr;
  const void* more = nullptr;
};

/// As a kernel finds them in a buffer.
struct Arguments {
  CUdeviceptr values;
  unsigned rounds;
};

class Program {
 public:
  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    try {
      const auto found = commands_.find(command);
      return found != commands_.end() ? found->second(words) : "no such command";
    } catch (const std::exception& error) {
      return std::string("failed ") + error.what();
    }
  }

 private:
  static constexpr std::size_t most_values = 1 << 16;

  std::string init() {
    CHECK(cu(cuInit)(0));
    CHECK(cu(cuDevicePrimaryCtxRetain)(&context_, 0));
    CHECK(cu(cuCtxSetCurrent)(context_));
    CHECK(cu(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING));
    CHECK(cu(cuMemAlloc)(&values_, sizeof(std::uint32_t) * most_values));
    CHECK(cu(cuMemsetD8Async)(values_, 0, sizeof(std::uint32_t) * most_values, stream_));
    CHECK(cu(cuStreamSynchronize)(stream_));
    return "ok";
  }

  const void* image_in(const std::string& file, bool is_wrapped) {
    std::ifstream in(file, std::ios::binary);
    images_.push_back({std::istreambuf_iterator<char>(in), {}});
    images_.back().push_back('\0');
    if (!is_wrapped) return images_.back().data();
    wrapper_ = {.binary = images_.back().data()};
    return &wrapper_;
  }

  std::string load(std::istringstream& words) {
    std::string how;
    std::string file;
    words >> how >> file;
    const void* image = how.ends_with("_file") ? nullptr : image_in(file, how.starts_with("wrapped"));
    module_ = nullptr;
    library_ = nullptr;
    launches_functions_ = how == "function_library";
    if (how == "library_file") {
      CHECK(cu(cuLibraryLoadFromFile)(&library_, file.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
      CHECK(cu(cuLibraryGetModule)(&module_, library_));
    } else if (how == "module_file") {
      CHECK(cu(cuModuleLoad)(&module_, file.c_str()));
    } else if (how.ends_with("library")) {
      if (how == "early_library") CHECK(cu(cuCtxSetCurrent)(nullptr));
      CHECK(cu(cuLibraryLoadData)(&library_, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
      CHECK(cu(cuCtxSetCurrent)(context_));
      CHECK(cu(cuLibraryGetModule)(&module_, library_));
    } else if (how == "module_ex") {
      CUjit_option option = CU_JIT_OPTIMIZATION_LEVEL;
      void* value = reinterpret_cast<void*>(std::uintptr_t{4});
      CHECK(cu(cuModuleLoadDataEx)(&module_, image, 1, &option, &value));
    } else if (how == "fat_binary") {
      CHECK(cu(cuModuleLoadFatBinary)(&module_, image));
    } else {
      CHECK(cu(cuModuleLoadData)(&module_, image));
    }
    return "ok";
  }

  std::string unload() {
    if (library_ != nullptr) {
      CHECK(cu(cuLibraryUnload)(library_));
    } else {
      CHECK(cu(cuModuleUnload)(module_));
    }
    return "ok";
  }

  CUfunction function(const std::string& name) const {
    CUfunction found = nullptr;
    if (library_ != nullptr) {
      CUkernel kernel = nullptr;
      CHECK(cu(cuLibraryGetKernel)(&kernel, library_, name.c_str()));
      if (launches_functions_) return CHECK(cu(cuKernelGetFunction)(&found, kernel)), found;
      return reinterpret_cast<CUfunction>(kernel);
    }
    CHECK(cu(cuModuleGetFunction)(&found, module_, name.c_str()));
    return found;
  }

  std::string launch(std::istringstream& words) const {
    std::string name;
    std::string how;
    unsigned blocks = 0;
    unsigned threads = 0;
    unsigned shared = 0;
    Arguments arguments{.values = values_};
    words >> name >> blocks >> threads >> shared >> arguments.rounds >> how;
    std::size_t bytes = sizeof arguments;
    void* buffer[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                      CU_LAUNCH_PARAM_END};
    void* pointers[] = {&arguments.values, &arguments.rounds};
    CUlaunchAttribute attribute{.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
    if (how == "serialized") {
      attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attribute.value.programmaticStreamSerializationAllowed = 1;
    }
    const CUlaunchConfig config{.gridDimX = blocks,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = threads,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = shared,
                                .hStream = stream_,
                                .attrs = &attribute,
                                .numAttrs = how == "ex" ? 0u : 1u};
    const CUfunction kernel = function(name);
    if (how == "ex" || how == "serialized" || how == "not_cooperative") {
      CHECK(cu(cuLaunchKernelEx)(&config, kernel, pointers, nullptr));
    } else if (how == "buffer") {
      CHECK(cu(cuLaunchKernel)(kernel, blocks, 1, 1, threads, 1, 1, shared, stream_, nullptr, buffer));
    } else {
      CHECK(cu(cuLaunchKernel)(kernel, blocks, 1, 1, threads, 1, 1, shared, stream_, pointers, nullptr));
    }
    return "ok";
  }

  std::string threads(std::istringstream& words) const {
    int number = 0;
    int count = 0;
    std::string line;
    std::getline(words >> number >> count >> std::ws, line);
    std::vector<std::string> answers(static_cast<std::size_t>(number));
    std::vector<std::thread> all;
    for (std::string& answer : answers) {
      all.emplace_back([this, count, line, &answer] {
        try {
          CHECK(cu(cuCtxSetCurrent)(context_));
          for (int turn = 0; turn < count; ++turn) {
            std::istringstream launched(line);
            answer = launch(launched);
          }
        } catch (const std::exception& error) {
          answer = std::string("failed ") + error.what();
        }
      });
    }
    for (std::thread& each : all) each.join();
    for (const std::string& each : answers) {
      if (each != "ok") return each;
    }
    return "ok";
  }

  std::string sum() const {
    std::vector<std::uint32_t> values(most_values);
    CHECK(cu(cuMemcpyDtoHAsync)(values.data(), values_, most_values * sizeof(std::uint32_t), stream_));
    CHECK(cu(cuStreamSynchronize)(stream_));
    std::uint64_t sum = 0;
    for (const std::uint32_t value : values) sum = sum * 1'000'003 + value;
    return "sum " + std::to_string(sum);
  }

  std::string variable(std::istringstream& words) const {
    std::string name;
    words >> name;
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    std::uint32_t value = 0;
    CHECK(cu(cuModuleGetGlobal)(&address, &bytes, module_, name.c_str()));
    CHECK(cu(cuMemcpyDtoHAsync)(&value, address, sizeof value, stream_));
    CHECK(cu(cuStreamSynchronize)(stream_));
    return "value " + std::to_string(value);
  }

  std::string kernels() const {
    std::vector<CUfunction> all;
    unsigned count = 0;
    if (library_ != nullptr) {
      CHECK(cu(cuLibraryGetKernelCount)(&count, library_));
      std::vector<CUkernel> kernels(count);
      CHECK(cu(cuLibraryEnumerateKernels)(kernels.data(), count, library_));
      for (const CUkernel each : kernels) CHECK(cu(cuKernelGetFunction)(&all.emplace_back(), each));
    } else {
      CHECK(cu(cuModuleGetFunctionCount)(&count, module_));
      all.resize(count);
      CHECK(cu(cuModuleEnumerateFunctions)(all.data(), count, module_));
    }
    std::string names;
    for (const CUfunction each : all) {
      const char* name = nullptr;
      CHECK(cu(cuFuncGetName)(&name, each));
      names += (names.empty() ? "" : " ") + std::string(name);
    }
    return names;
  }

  std::string fork_and_obey(std::istringstream& words) {
    return answered_by_child(words, [this](const std::string& line) { return answer(line); }).said;
  }

  std::string query() const {
    const CUresult result = cu(cuStreamQuery)(stream_);
    if (result != CUDA_ERROR_NOT_READY) check(result, "cuStreamQuery");
    return result == CUDA_SUCCESS ? "idle" : "busy";
  }

  const std::map<std::string, std::function<std::string(std::istringstream&)>> commands_ = {
      {"init", [this](auto&) { return init(); }},
      {"load", [this](auto& words) { return load(words); }},
      {"unload", [this](auto&) { return unload(); }},
      {"launch", [this](auto& words) { return launch(words); }},
      {"threads", [this](auto& words) { return threads(words); }},
      {"sync", [this](auto&) { return CHECK(cu(cuStreamSynchronize)(stream_)), std::string("ok"); }},
      {"query", [this](auto&) { return query(); }},
      {"sum", [this](auto&) { return sum(); }},
      {"variable", [this](auto& words) { return variable(words); }},
      {"kernels", [this](auto&) { return kernels(); }},
      {"fork", [this](auto& words) { return fork_and_obey(words); }},
  };

  CUcontext context_ = nullptr;
  bool launches_functions_ = false;
  CUstream stream_ = nullptr;
  CUdeviceptr values_ = 0;
  CUmodule module_ = nullptr;
  CUlibrary library_ = nullptr;
  Wrapper wrapper_;
  std::vector<std::vector<char>> images_;
};

}  // namespace
}  // namespace intercepted

int main() {
  intercepted::Program program;
  for (std::string line; std::getline(std::cin, line);) std::cout << program.answer(line) << std::endl;
}
