// SPDX-License-Identifier: Apache-2.0
// The memory that all blocks and the host share, at made-up device addresses. Allocations lie apart from each other, so
// that running over the end of one is found out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpushare::interpreter {

class Program;

/// An access that a hook is told about.
struct Access {
  enum class Kind { Load, Store, Atomic };
  Kind kind{};
  std::uint64_t address = 0;
  std::size_t bytes = 0;
  std::uint64_t count = 0;  ///< of accesses this hook was told about, this one included
  std::size_t block = 0;    ///< linear index in the grid
  std::size_t thread = 0;   ///< linear index in the block
};

/// Devices with one address space: a bit for each.
using Devices = std::uint32_t;
inline constexpr Devices all_devices = ~Devices{0};

class GlobalMemory {
 public:
  using Hook = std::function<void(GlobalMemory&, const Access&)>;

  /// The same sequence of calls gives the same addresses, whatever modules are loaded.
  std::uint64_t allocate(std::size_t bytes, std::string name = {});
  template <class T>
  std::uint64_t allocate(const std::vector<T>& values, std::string name = {}) {
    const std::uint64_t address = allocate(values.size() * sizeof(T), std::move(name));
    write(address, values);
    return address;
  }

  /// Shows bytes of the host, which have to stay where they are.
  std::uint64_t map(std::span<std::byte> bytes, std::string name);
  /// Addresses for bytes that are shown later.
  std::uint64_t reserve(std::size_t bytes, std::size_t alignment);
  /// Shows bytes of the host there; they have to stay where they are.
  void show(std::uint64_t address, std::span<std::byte> bytes, std::string name);
  /// Which devices' kernels may access the allocation that begins there: all, before this is called.
  void let_access(std::uint64_t address, Devices devices);
  /// The same for a module's variables.
  void let_access(const Program& program, Devices devices);
  /// Takes an allocation back; false where none begins there.
  bool release(std::uint64_t address);

  /// Places the module's variables and fills them in. run() does this for a program not loaded yet.
  void load(const Program& program);
  /// Takes the module's variables back.
  void unload(const Program& program);
  bool is_loaded(const Program& program) const { return variables_.contains(&program); }
  /// By index into the program's variables.
  std::uint64_t variable(const Program& program, std::size_t index) const { return variables_.at(&program).at(index); }
  std::uint64_t variable(const Program& program, std::string_view name) const;

  template <class T>
  std::vector<T> read(std::uint64_t address, std::size_t count) const {
    std::vector<T> values(count);
    copy_out(address, std::as_writable_bytes(std::span(values)));
    return values;
  }
  template <class T>
  T read(std::uint64_t address) const {
    return read<T>(address, 1).front();
  }
  template <class T>
  void write(std::uint64_t address, const std::vector<T>& values) {
    copy_in(address, std::as_bytes(std::span(values)));
  }
  template <class T>
  void write(std::uint64_t address, T value) {
    copy_in(address, std::as_bytes(std::span(&value, 1)));
  }

  /// Calls the hook before each access of a kernel that touches these bytes.
  void watch(std::uint64_t address, std::size_t bytes, Hook hook);

  /// What kernels on one of these devices use. Null where the bytes are not inside of one allocation that the device
  /// may access, or misaligned.
  std::byte* find(std::uint64_t address, std::size_t bytes, Devices devices = all_devices);
  /// Whether there is an allocation that another device may access, and none of these.
  bool is_of_others(std::uint64_t address, Devices devices) const;
  /// So many bytes of one allocation, wherever they begin; null where they are not inside of one.
  std::byte* find_range(std::uint64_t address, std::size_t bytes);
  bool has_hooks() const { return !watches_.empty(); }
  void tell_hooks(Access access);

  /// Where two memories differ, comparing allocations in order and loaded variables by name; empty if nowhere.
  static std::string difference(const GlobalMemory& left, const GlobalMemory& right);
  /// What lies around an address, for messages.
  std::string describe(std::uint64_t address) const;

 private:
  struct Allocation {
    std::uint64_t address = 0;
    std::vector<std::byte> own;
    std::string name;
    std::span<std::byte> mapped{};  ///< the host's, instead of its own
    Devices accessible_to = all_devices;

    std::span<const std::byte> bytes() const { return mapped.empty() ? std::span<const std::byte>(own) : mapped; }
    std::span<std::byte> bytes() { return mapped.empty() ? std::span<std::byte>(own) : mapped; }
  };
  struct Watch {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    std::uint64_t count = 0;
    Hook hook;
  };

  std::uint64_t place(std::vector<Allocation>& where, std::uint64_t& next, std::size_t bytes, std::string name);
  const Allocation* containing(std::uint64_t address) const;
  Allocation* containing(std::uint64_t address) {
    return const_cast<Allocation*>(std::as_const(*this).containing(address));
  }
  void copy_out(std::uint64_t address, std::span<std::byte> to) const;
  void copy_in(std::uint64_t address, std::span<const std::byte> from);

  // Both sorted by address. Module variables have a range of their own.
  std::vector<Allocation> allocations_, module_variables_;
  std::uint64_t next_allocation_ = 0x7f00'0000'0000, next_variable_ = 0x7e00'0000'0000;
  std::map<const Program*, std::vector<std::uint64_t>> variables_;
  std::deque<Watch> watches_;     ///< a hook may add one while it runs
  Allocation* latest_ = nullptr;  ///< where find() was successful last; never dangles: see place()
};

}  // namespace gpushare::interpreter
