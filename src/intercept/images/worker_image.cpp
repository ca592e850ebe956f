// SPDX-License-Identifier: Apache-2.0
#include "intercept/images/worker_image.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/errors.hpp"
#include "core/transform/ptx/kernel_parameters.hpp"
#include "core/transform/worker/preemptible.hpp"
#include "intercept/images/fat_binary.hpp"

namespace gpushare::images {
namespace {

struct OwnedKernel {
  std::string name;
  std::vector<std::uint32_t> offsets;
  std::uint32_t bytes = 0;
  ptx::BlockShapes blocks;
};

/// A WorkerImage that points to what it owns.
class OwnedImage : public WorkerImage {
 public:
  OwnedImage() : WorkerImage{} {}

  void make(const void* image, int capability) {
    const std::string given = ptx_of(image, capability);
    ptx::Transformed made = ptx::make_preemptible(given);
    std::unordered_map<std::string, ptx::KernelSignature> signatures;
    for (ptx::KernelSignature& each : ptx::kernel_signatures(given)) signatures.emplace(each.name, std::move(each));
    for (const ptx::KernelVerdict& each : made.kernels) add(each, signatures.at(each.name));
    text_ = std::move(made.ptx);
  }

  void refuse(std::string reason) { why_.push_back(std::move(reason)); }

  void point() {
    for (const OwnedKernel& each : owned_) {
      pointed_.push_back({.name = each.name.c_str(),
                          .parameter_offsets = each.offsets.data(),
                          .parameters = static_cast<std::uint32_t>(each.offsets.size()),
                          .parameter_bytes = each.bytes,
                          .blocks = each.blocks});
    }
    for (const std::string& each : why_) pointed_reasons_.push_back(each.c_str());
    kernels = pointed_.data();
    kernel_count = pointed_.size();
    reasons = pointed_reasons_.data();
    reason_count = pointed_reasons_.size();
    text = kernel_count > 0 ? text_.c_str() : nullptr;
  }

 private:
  void add(const ptx::KernelVerdict& verdict, const ptx::KernelSignature& signature) {
    if (const auto* refusal = std::get_if<ptx::Refusal>(&verdict.outcome))
      return refuse("a kernel: " + refusal->reason);
    OwnedKernel kernel{.name = verdict.name, .blocks = std::get<ptx::WorkerNeeds>(verdict.outcome).blocks};
    for (const ptx::KernelParameter& each : signature.parameters) {
      const auto alignment = static_cast<std::uint32_t>(std::max<std::size_t>(each.alignment, 1));
      kernel.bytes = (kernel.bytes + alignment - 1) / alignment * alignment;
      kernel.offsets.push_back(kernel.bytes);
      kernel.bytes += static_cast<std::uint32_t>(each.bytes);
    }
    owned_.push_back(std::move(kernel));
  }

  std::string text_;
  std::vector<OwnedKernel> owned_;
  std::vector<WorkerKernel> pointed_;
  std::vector<std::string> why_;
  std::vector<const char*> pointed_reasons_;
};

}  // namespace
}  // namespace gpushare::images

using namespace gpushare::images;

const WorkerImage* gpushare_make_workers(const void* image, int capability) noexcept try {
  auto made = std::make_unique<OwnedImage>();
  try {
    made->make(image, capability);
  } catch (const std::exception& error) {
    made->refuse("an image: " + std::string(error.what()));
  }
  made->point();
  return made.release();
} catch (const std::exception&) {
  return nullptr;
}

void gpushare_drop_workers(const WorkerImage* made) noexcept { delete static_cast<const OwnedImage*>(made); }
