// SPDX-License-Identifier: Apache-2.0
// What Memory, PinnedMemory and PendingCopy are made of.
#pragma once

#include "client/link.hpp"

namespace gpushare::client {

class Allocation {
 public:
  Allocation(std::shared_ptr<Link> link, Handle handle, std::size_t bytes)
      : link_(std::move(link)), handle_(handle), bytes_(bytes) {}
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() { free(); }

  const std::shared_ptr<Link>& link() const { return link_; }
  std::size_t bytes() const { return bytes_; }
  /// The worker's handle. Throws InvalidInput after free().
  Handle handle() const;
  /// Jobs that use it keep it on the worker until they have ended.
  void free() noexcept;

 private:
  const std::shared_ptr<Link> link_;
  const Handle handle_;
  const std::size_t bytes_;
  std::atomic<bool> is_freed_ = false;
};

class PinnedBlock {
 public:
  PinnedBlock(std::shared_ptr<Link> link, std::size_t bytes)
      : link_(std::move(link)), arena_(shared_arena(*link_, bytes)), bytes_(bytes) {}
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  ~PinnedBlock() { drop_arena(*link_, arena_); }

  const Link* link() const { return link_.get(); }
  const Arena& arena() const { return arena_; }
  std::size_t size() const { return bytes_; }

 private:
  const std::shared_ptr<Link> link_;
  const Arena arena_;
  const std::size_t bytes_;
};

/// The answer of a copy. The memory in this process stays as long as the copy may use it.
struct Reply {
  std::shared_ptr<PinnedBlock> block;
  Answer answer;
};

}  // namespace gpushare::client
