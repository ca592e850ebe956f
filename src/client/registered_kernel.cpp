// SPDX-License-Identifier: Apache-2.0
#include "client/registered_kernel.hpp"

#include <algorithm>
#include <cstring>

#include "client/launch_limits.hpp"

namespace gpushare::client {

RegisteredKernel::RegisteredKernel(std::shared_ptr<Link> link, std::string name, std::span<const std::byte> content,
                                   bool is_cubin, const KernelOptions& options)
    : link_(std::move(link)), name_(std::move(name)) {
  const auto shared = shared_memory(content.size());
  std::memcpy(shared.bytes().data(), content.data(), content.size());
  const Json parameters = options.parameters.empty() ? Json() : Json(options.parameters);
  const Json fields{{"name", name_},
                    {"source_bytes", content.size()},
                    {"file_name", is_cubin ? "kernel.cubin" : "kernel.cu"},
                    {"is_cubin", is_cubin},
                    {"parameters", parameters},
                    {"preemptible", options.preemptible},
                    {"options", options.compiler}};
  number_ = link_->request_handle("kernel", fields, shared.descriptor());
}

RegisteredKernel::~RegisteredKernel() { link_->tell("unload", {{"kernels", {number_}}, {"after", link_->last_job()}}); }

void RegisteredKernel::load() const { link_->request("load", {{"kernel", number_}}); }

const ArgumentPacker* RegisteredKernel::find(const Shape& shape) const {
  const std::shared_lock lock(mutex_);
  const auto found = std::ranges::find(known_, shape, [](const auto& each) { return each.first; });
  return found == known_.end() ? nullptr : found->second.get();
}

const ArgumentPacker& RegisteredKernel::launches(const Extent& block, std::size_t shared_bytes) {
  const Shape shape{.block = block.values, .shared_bytes = shared_bytes};
  if (const ArgumentPacker* known = find(shape)) return *known;
  require_block(name_, block);
  const std::lock_guard preparing(preparing_);
  if (const ArgumentPacker* known = find(shape)) return *known;
  const Json answer =
      link_->request("shape", {{"kernel", number_}, {"block", block.values}, {"shared_bytes", shared_bytes}});
  auto added = std::make_unique<ArgumentPacker>(name_, answer);
  const std::lock_guard lock(mutex_);
  return *known_.emplace_back(shape, std::move(added)).second;
}

}  // namespace gpushare::client
