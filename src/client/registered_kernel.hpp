// SPDX-License-Identifier: Apache-2.0
// A kernel as the worker knows it, and its launches by block and dynamic shared memory.
#pragma once

#include <shared_mutex>

#include "client/argument_packer.hpp"

namespace gpushare::client {

class RegisteredKernel {
 public:
  /// Sends it to the worker.
  RegisteredKernel(std::shared_ptr<Link> link, std::string name, std::span<const std::byte> content, bool is_cubin,
                   const KernelOptions& options);
  RegisteredKernel(const RegisteredKernel&) = delete;
  RegisteredKernel& operator=(const RegisteredKernel&) = delete;
  ~RegisteredKernel();

  const std::shared_ptr<Link>& link() const { return link_; }
  const std::string& name() const { return name_; }
  void load() const;
  /// Launches with this block, which the worker prepares at their first use.
  const ArgumentPacker& launches(const Extent& block, std::size_t shared_bytes);

 private:
  struct Shape {
    std::array<std::uint32_t, 3> block{};
    std::size_t shared_bytes = 0;
    bool operator==(const Shape&) const = default;
  };

  const ArgumentPacker* find(const Shape& shape) const;

  const std::shared_ptr<Link> link_;
  const std::string name_;
  Handle number_ = 0;
  mutable std::shared_mutex mutex_;
  std::mutex preparing_;  // so that two threads do not have the worker prepare the same one
  std::vector<std::pair<Shape, std::unique_ptr<ArgumentPacker>>> known_;
};

}  // namespace gpushare::client
