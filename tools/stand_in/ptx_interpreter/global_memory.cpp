// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/global_memory.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "ptx_interpreter/program.hpp"

namespace gpushare::interpreter {
namespace {

constexpr std::size_t allocation_alignment = 256;
constexpr std::size_t gap_bytes = 4096;

std::string hexadecimal(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void put_address(std::vector<std::byte>& bytes, const AddressValue& value, std::uint64_t address) {
  address += static_cast<std::uint64_t>(value.plus);
  std::memcpy(bytes.data() + value.offset, &address, value.bytes);
}

}  // namespace

std::uint64_t GlobalMemory::place(std::vector<Allocation>& where, std::uint64_t& next, std::size_t bytes,
                                  std::string name) {
  const std::uint64_t address = next;
  next += align_up(bytes, allocation_alignment) + gap_bytes;
  where.push_back({address, std::vector<std::byte>(bytes), std::move(name)});
  latest_ = nullptr;  // the vector may have moved
  return address;
}

std::uint64_t GlobalMemory::allocate(std::size_t bytes, std::string name) {
  if (name.empty()) name = "allocation " + std::to_string(allocations_.size());
  return place(allocations_, next_allocation_, bytes, std::move(name));
}

std::uint64_t GlobalMemory::map(std::span<std::byte> bytes, std::string name) {
  const std::uint64_t address = place(allocations_, next_allocation_, 0, std::move(name));
  next_allocation_ += align_up(bytes.size(), allocation_alignment);
  allocations_.back().mapped = bytes;
  return address;
}

std::uint64_t GlobalMemory::reserve(std::size_t bytes, std::size_t alignment) {
  const std::uint64_t address = align_up(next_allocation_, alignment);
  next_allocation_ = address + align_up(bytes, allocation_alignment) + gap_bytes;
  return address;
}

void GlobalMemory::show(std::uint64_t address, std::span<std::byte> bytes, std::string name) {
  const auto behind = std::ranges::upper_bound(allocations_, address, {}, &Allocation::address);
  allocations_.insert(behind, {address, {}, std::move(name), bytes});
  latest_ = nullptr;
}

void GlobalMemory::let_access(std::uint64_t address, Devices devices) {
  for (auto* group : {&allocations_, &module_variables_}) {
    const auto found = std::ranges::lower_bound(*group, address, {}, &Allocation::address);
    if (found != group->end() && found->address == address) found->accessible_to = devices;
  }
}

void GlobalMemory::let_access(const Program& program, Devices devices) {
  for (const std::uint64_t address : variables_.at(&program)) let_access(address, devices);
}

bool GlobalMemory::release(std::uint64_t address) {
  const auto found = std::ranges::find(allocations_, address, &Allocation::address);
  if (found == allocations_.end()) return false;
  allocations_.erase(found);
  latest_ = nullptr;
  return true;
}

void GlobalMemory::unload(const Program& program) {
  for (const std::uint64_t address : variables_.at(&program)) {
    std::erase_if(module_variables_, [address](const Allocation& each) { return each.address == address; });
  }
  variables_.erase(&program);
  latest_ = nullptr;
}

void GlobalMemory::load(const Program& program) {
  std::vector<std::uint64_t>& addresses = variables_[&program];
  for (const Variable& each : program.variables()) {
    const bool here = each.space == Space::Global || each.space == Space::Constant;
    addresses.push_back(here ? place(module_variables_, next_variable_, each.bytes, each.name) : 0);
    if (here) std::ranges::copy(each.initial, module_variables_.back().own.begin());
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    for (const AddressValue& value : program.variables()[i].addresses) {
      const auto allocation = std::ranges::find(module_variables_, addresses[i], &Allocation::address);
      const auto function = program.function_address(value.name);
      put_address(allocation->own, value, function ? *function : variable(program, value.name));
    }
  }
}

std::uint64_t GlobalMemory::variable(const Program& program, std::string_view name) const {
  for (std::size_t i = 0; i < program.variables().size(); ++i) {
    if (program.variables()[i].name == name) return variable(program, i);
  }
  throw std::out_of_range("the module has no variable '" + std::string(name) + "'");
}

const GlobalMemory::Allocation* GlobalMemory::containing(std::uint64_t address) const {
  for (const auto* group : {&allocations_, &module_variables_}) {
    const auto after = std::ranges::upper_bound(*group, address, {}, &Allocation::address);
    if (after == group->begin()) continue;
    const Allocation& before = *(after - 1);
    if (address - before.address < before.bytes().size()) return &before;
  }
  return nullptr;
}

std::byte* GlobalMemory::find(std::uint64_t address, std::size_t bytes, Devices devices) {
  if (address % bytes != 0) return nullptr;
  if (latest_ == nullptr || address - latest_->address >= latest_->bytes().size()) {
    Allocation* found = containing(address);
    if (found == nullptr) return nullptr;
    latest_ = found;
  }
  if ((latest_->accessible_to & devices) == 0) return nullptr;
  const std::uint64_t offset = address - latest_->address;
  if (latest_->bytes().size() - offset < bytes) return nullptr;
  return latest_->bytes().data() + offset;
}

bool GlobalMemory::is_of_others(std::uint64_t address, Devices devices) const {
  const Allocation* found = containing(address);
  return found != nullptr && (found->accessible_to & devices) == 0;
}

std::byte* GlobalMemory::find_range(std::uint64_t address, std::size_t bytes) {
  Allocation* found = containing(address);
  if (found == nullptr || found->bytes().size() - (address - found->address) < bytes) return nullptr;
  return found->bytes().data() + (address - found->address);
}

void GlobalMemory::copy_out(std::uint64_t address, std::span<std::byte> to) const {
  const Allocation* found = containing(address);
  if (to.empty()) return;
  if (found == nullptr || found->bytes().size() - (address - found->address) < to.size()) {
    throw std::out_of_range("no " + std::to_string(to.size()) + " bytes at " + describe(address));
  }
  std::memcpy(to.data(), found->bytes().data() + (address - found->address), to.size());
}

void GlobalMemory::copy_in(std::uint64_t address, std::span<const std::byte> from) {
  std::vector<std::byte> checked(from.size());
  copy_out(address, checked);
  if (from.empty()) return;
  std::memcpy(find_range(address, from.size()), from.data(), from.size());
}

void GlobalMemory::watch(std::uint64_t address, std::size_t bytes, Hook hook) {
  watches_.push_back({address, bytes, 0, std::move(hook)});
}

void GlobalMemory::tell_hooks(Access access) {
  // By index: a hook may add another one.
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    const bool touches =
        access.address < watches_[i].address + watches_[i].bytes && watches_[i].address < access.address + access.bytes;
    if (!touches) continue;
    access.count = ++watches_[i].count;
    watches_[i].hook(*this, access);
  }
}

std::string GlobalMemory::describe(std::uint64_t address) const {
  if (const Allocation* inside = containing(address)) {
    return hexadecimal(address) + ", byte " + std::to_string(address - inside->address) + " of " +
           std::to_string(inside->bytes().size()) + " of " + inside->name;
  }
  const Allocation* below = nullptr;
  for (const auto* group : {&module_variables_, &allocations_}) {
    for (const Allocation& each : *group) {
      if (each.address <= address && address - each.address < each.bytes().size() + gap_bytes) below = &each;
    }
  }
  if (below == nullptr) return hexadecimal(address) + ", near no allocation";
  return hexadecimal(address) + ", byte " + std::to_string(address - below->address) + " of " + below->name +
         ", which has " + std::to_string(below->bytes().size());
}

std::string GlobalMemory::difference(const GlobalMemory& left, const GlobalMemory& right) {
  const auto compare = [](const Allocation& a, const Allocation& b) -> std::string {
    if (a.own.size() != b.own.size()) return a.name + ": sizes differ";
    const auto [at, other] = std::ranges::mismatch(a.own, b.own);
    if (at == a.own.end()) return {};
    return a.name + " differs at byte " + std::to_string(at - a.own.begin()) + ": " +
           std::to_string(std::to_integer<int>(*at)) + " and " + std::to_string(std::to_integer<int>(*other));
  };
  if (left.allocations_.size() != right.allocations_.size()) return "the number of allocations differs";
  for (std::size_t i = 0; i < left.allocations_.size(); ++i) {
    if (std::string what = compare(left.allocations_[i], right.allocations_[i]); !what.empty()) return what;
  }
  for (const Allocation& each : left.module_variables_) {
    const auto other = std::ranges::find(right.module_variables_, each.name, &Allocation::name);
    if (other == right.module_variables_.end()) continue;
    if (std::string what = compare(each, *other); !what.empty()) return what;
  }
  return {};
}

}  // namespace gpushare::interpreter
