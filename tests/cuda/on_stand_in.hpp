// SPDX-License-Identifier: Apache-2.0
// The stand-in with its context, kernels of tests/data/ptx on it, and arrays.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "core/transform/worker/preemptible.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/launch/launch_factory.hpp"

namespace gpushare::cuda::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class OnStandIn : public testing::Test {
 protected:
  OnStandIn() : log_(std::filesystem::path(testing::TempDir()) / ("stand-in log " + std::to_string(getpid()))) {
    setenv("GPUSHARE_STAND_IN_LOG", log_.c_str(), 1);
    context = std::make_shared<Context>(0);
    resources = std::make_unique<GpuResources>(context);
    resources->mode_limits.brief = {};  // tests of workers are as short
  }
  ~OnStandIn() override {
    resources.reset();
    context.reset();
    EXPECT_EQ(misuse(), "");
    std::filesystem::remove(log_);
  }

  /// Of a kernel of tests/data/ptx, or of another module.
  std::shared_ptr<KernelCode> load(const std::string& kernel) {
    return load(kernel, read_file(std::filesystem::path(GPUSHARE_SOURCE_DIR) / "tests/data/ptx" / (kernel + ".ptx")));
  }
  std::shared_ptr<KernelCode> load(const std::string& kernel, const std::string& ptx, bool preemptible = true) {
    return load(load_module(ptx, ModuleState::None), kernel, preemptible);
  }
  /// All kernels of this text, with their workers.
  std::shared_ptr<KernelModule> load_module(const std::string& ptx, ModuleState state) {
    const std::string text = ptx::make_preemptible(ptx).ptx;
    return std::make_shared<KernelModule>(context, std::span(text.c_str(), text.size() + 1), state);  // with the zero
  }
  static std::shared_ptr<KernelCode> load(const std::shared_ptr<KernelModule>& module, const std::string& kernel,
                                          bool preemptible = true) {
    return std::make_shared<KernelCode>(module, kernel, preemptible ? ptx::worker_name(kernel) : "");
  }

  template <class T>
  DeviceMemory array(const std::vector<T>& values) {
    DeviceMemory memory = make_device_memory(context, values.size() * sizeof(T));
    const CurrentContext current(*context);
    GPUSHARE_CU(cuMemcpyHtoDAsync(memory.get(), values.data(), values.size() * sizeof(T), CU_STREAM_PER_THREAD));
    GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return memory;
  }
  template <class T>
  std::vector<T> values(const DeviceMemory& memory, std::size_t count) {
    std::vector<T> read(count);
    const CurrentContext current(*context);
    GPUSHARE_CU(cuMemcpyDtoHAsync(read.data(), memory.get(), count * sizeof(T), CU_STREAM_PER_THREAD));
    GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    return read;
  }

  void write(const DeviceMemory& memory, int value) {
    const CurrentContext current(*context);
    GPUSHARE_CU(cuMemcpyHtoDAsync(memory.get(), &value, sizeof value, CU_STREAM_PER_THREAD));
    GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  }

  /// How a launch would run in its original form on these SMs, all of each; nothing where it would not.
  std::optional<OriginalSetup> setup_for(const DeviceLaunch& code, int max_residency, const std::vector<SmId>& sms,
                                         Duration original_up_to = {}) {
    const LaunchTraits traits{.kernel = code.kernel->id(),
                              .has_worker = code.has_worker(),
                              .blocks = count(code.grid),
                              .max_residency = max_residency};
    const Program none;
    return LaunchFactory(*resources, none).setup_for(traits, code, sms, original_up_to);
  }

  /// What was asked of the driver that no correct program asks, so far.
  std::string misuse() {
    std::string found;
    std::ifstream file(log_);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("misuse: ")) found += line + "\n";
    }
    return found;
  }
  void forget_misuse() { std::filesystem::remove(log_); }

  SharedContext context;
  std::unique_ptr<GpuResources> resources;

 private:
  std::filesystem::path log_;
};

/// The bytes of a kernel's arguments.
template <class... Values>
std::vector<std::vector<std::byte>> arguments(const Values&... each) {
  std::vector<std::vector<std::byte>> list;
  const auto add = [&list](const auto& value) {
    const auto* first = reinterpret_cast<const std::byte*>(&value);
    list.emplace_back(first, first + sizeof value);
  };
  (add(each), ...);
  return list;
}

}  // namespace gpushare::cuda::test
