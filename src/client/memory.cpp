// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "client/allocation.hpp"
#include "client/device_copies.hpp"

namespace gpushare::client {
namespace {

void require_inside(const char* what, std::size_t size, std::size_t offset, std::size_t bytes) {
  if (offset <= size && bytes <= size - offset) return;
  throw InvalidInput("a copy of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) + ": the " +
                     what + " has " + std::to_string(size) + " bytes");
}

Allocation& live(const std::unique_ptr<Allocation>& allocation) { return in_place(allocation, "memory"); }

std::span<std::byte> bytes_at(void* address, std::size_t count) { return {static_cast<std::byte*>(address), count}; }

Answer begun(const char* verb, const Allocation& memory, std::size_t offset, const std::shared_ptr<PinnedBlock>& block,
             std::size_t block_offset, std::size_t bytes) {
  if (in_place(block, "pinned memory").link() != memory.link().get())
    throw InvalidInput("this pinned memory belongs to another session");
  require_inside("memory", memory.bytes(), offset, bytes);
  require_inside("pinned memory", block->size(), block_offset, bytes);
  const DevicePart part{memory.handle(), offset};
  if (bytes > 0) return begin_copy(*memory.link(), verb, part, block->arena(), block_offset, bytes);
  std::promise<Json> nothing;
  nothing.set_value({});
  return nothing.get_future().share();
}

}  // namespace

Handle Allocation::handle() const {
  if (is_freed_) throw InvalidInput("this memory of " + std::to_string(bytes_) + " bytes has been freed");
  return handle_;
}

void Allocation::free() noexcept {
  if (is_freed_.exchange(true)) return;
  link_->tell("free", {{"arrays", {handle_}}, {"after", link_->last_job()}});
}

Memory::Memory(std::unique_ptr<Allocation> allocation) : allocation_(std::move(allocation)) {}
Memory::Memory(Memory&&) noexcept = default;
Memory& Memory::operator=(Memory&&) noexcept = default;
Memory::~Memory() = default;

std::size_t Memory::size() const { return live(allocation_).bytes(); }

void Memory::free() { live(allocation_).free(); }

void Memory::write(const void* from, std::size_t bytes, std::size_t offset) {
  const Allocation& memory = live(allocation_);
  require_inside("memory", memory.bytes(), offset, bytes);
  copy_to_device(*memory.link(), {memory.handle(), offset}, {static_cast<const std::byte*>(from), bytes});
}

void Memory::read(void* to, std::size_t bytes, std::size_t offset) const {
  const Allocation& memory = live(allocation_);
  require_inside("memory", memory.bytes(), offset, bytes);
  copy_to_host(*memory.link(), {memory.handle(), offset}, bytes_at(to, bytes));
}

PendingCopy Memory::begin_write(const PinnedMemory& from, std::size_t bytes, std::size_t from_offset,
                                std::size_t offset) {
  const Answer answer = begun("write", live(allocation_), offset, from.block_, from_offset, bytes);
  return PendingCopy(std::make_unique<Reply>(Reply{from.block_, answer}));
}

PendingCopy Memory::begin_read(PinnedMemory& to, std::size_t bytes, std::size_t to_offset, std::size_t offset) const {
  const Answer answer = begun("read", live(allocation_), offset, to.block_, to_offset, bytes);
  return PendingCopy(std::make_unique<Reply>(Reply{to.block_, answer}));
}

PinnedMemory::PinnedMemory(std::shared_ptr<PinnedBlock> block) : block_(std::move(block)) {}
PinnedMemory::PinnedMemory(PinnedMemory&&) noexcept = default;
PinnedMemory& PinnedMemory::operator=(PinnedMemory&&) noexcept = default;
PinnedMemory::~PinnedMemory() = default;

std::span<std::byte> PinnedMemory::bytes() const {
  if (block_ == nullptr) return {};
  return block_->arena().memory.bytes().first(block_->size());
}

PendingCopy::PendingCopy(std::unique_ptr<Reply> reply) : reply_(std::move(reply)) {}
PendingCopy::PendingCopy(PendingCopy&&) noexcept = default;
PendingCopy& PendingCopy::operator=(PendingCopy&&) noexcept = default;
PendingCopy::~PendingCopy() = default;

void PendingCopy::wait() {
  while (!wait_for(longest_wait)) {
  }
}

bool PendingCopy::wait_for(std::chrono::nanoseconds timeout) {
  const Reply& reply = in_place(reply_, "copy");
  reply.block->link()->require_own_process();
  if (reply.answer.wait_for(std::min(timeout, longest_wait)) != std::future_status::ready) return false;
  reply.answer.get();
  return true;
}

Argument::Argument(const Memory& memory, std::size_t offset)
    : kind_(Kind::Memory), address_(memory.allocation_.get()), bits_(offset) {}

}  // namespace gpushare::client
