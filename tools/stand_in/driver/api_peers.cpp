// SPDX-License-Identifier: Apache-2.0
// The driver's functions about which device may access what, and about what an address is.
#include <cstring>
#include <optional>
#include <span>

#include "driver/call.hpp"

namespace gpushare::stand_in {
namespace {

using interpreter::Devices;

/// Of another device than the current one.
Gpu& peer(const Gpu& current, CUcontext handle) {
  Gpu& found = current.machine().context(handle)->gpu;
  expect(&found != &current, CUDA_ERROR_INVALID_CONTEXT, "a context of the same device is no peer");
  return found;
}

/// A device's default pool, by the handle of which it is told from all else.
Gpu& pool_behind(CUmemoryPool pool) {
  for (const auto& gpu : machine().gpus()) {
    if (reinterpret_cast<CUmemoryPool>(gpu.get()) == pool) return *gpu;
  }
  throw Refusal(CUDA_ERROR_INVALID_HANDLE, "no such pool");
}

Devices changed(Devices devices, const CUmemAccessDesc& access) {
  expect(access.location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE, "no device");
  const Devices bit = machine().gpu(access.location.id).bit();
  switch (access.flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      return devices | bit;
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
      return devices & ~bit;
    default:
      throw Refusal(CUDA_ERROR_NOT_SUPPORTED, "a device may access all of it or nothing");
  }
}

/// Where an address lies: on a device, or in the host's memory that devices see.
struct Found {
  Gpu* gpu = nullptr;
  void* host = nullptr;
  CUdeviceptr on_device = 0;
};

bool holds(const std::byte* first, std::size_t bytes, const std::byte* address) {
  return address >= first && address < first + bytes;
}

/// Throws Denial where the driver knows nothing of it.
Found found_at(const Machine& machine, CUdeviceptr address) {
  if (Gpu* gpu = machine.owner_of(address)) return {.gpu = gpu, .on_device = address};
  const auto* as_host = reinterpret_cast<const std::byte*>(address);
  const auto at = [&](std::byte* first, std::size_t bytes, std::uint64_t mapped) -> std::optional<Found> {
    if (holds(first, bytes, as_host)) {
      const auto offset = static_cast<std::size_t>(as_host - first);
      return Found{.host = first + offset, .on_device = mapped == 0 ? 0 : mapped + offset};
    }
    if (mapped == 0 || address - mapped >= bytes) return std::nullopt;
    return Found{.host = first + (address - mapped), .on_device = address};
  };
  for (const auto& [first, range] : machine.pinned) {
    if (const auto found = at(range.bytes.get(), range.size, range.device_address)) return *found;
  }
  for (const auto& [first, range] : machine.registered) {
    if (const auto found = at(const_cast<std::byte*>(first), range.size, range.device_address)) return *found;
  }
  throw Denial(CUDA_ERROR_INVALID_VALUE, "the driver knows nothing of this address");
}

template <class Value>
void write(void* to, Value value) {
  std::memcpy(to, &value, sizeof value);
}

void write_attribute(void* to, CUpointer_attribute which, const Found& found) {
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return write(to, found.gpu != nullptr ? handle_of(*found.gpu->primary()) : nullptr);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write(to, static_cast<unsigned>(found.gpu != nullptr ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return write(to, found.on_device);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return write(to, found.host);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return write(to, 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write(to, found.gpu != nullptr ? found.gpu->ordinal() : 0);
    default:
      throw Refusal(CUDA_ERROR_NOT_SUPPORTED, "the stand-in does not know this attribute of an address");
  }
}

}  // namespace
}  // namespace gpushare::stand_in

using namespace gpushare::stand_in;

extern "C" {

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return answer(__func__, [&] {
    const bool are_two = &machine().gpu(device) != &machine().gpu(peer);
    *can = are_two && are_peers() ? 1 : 0;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute which, CUdevice from, CUdevice to) {
  return answer(__func__, [&] {
    expect(&machine().gpu(from) != &machine().gpu(to), CUDA_ERROR_INVALID_DEVICE, "one device");
    const bool is_known =
        which == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED || which == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    expect(is_known, CUDA_ERROR_INVALID_VALUE, "the stand-in does not know this attribute");
    *value = are_peers() ? 1 : 0;
  });
}

/// Lets kernels of the current device access what cuMemAlloc has made, and will make, on the other one.
CUresult cuCtxEnablePeerAccess(CUcontext context, unsigned flags) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock&) {
    expect(flags == 0, CUDA_ERROR_INVALID_VALUE, "no such flags");
    Gpu& other = peer(gpu, context);
    const Devices before = other.accessible_to(MemoryKind::Plain);
    if ((before & gpu.bit()) != 0) throw Denial(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "it has access already");
    other.let_access(MemoryKind::Plain, before | gpu.bit());
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext context) {
  return answer_in_context(__func__, [&](Gpu& gpu, Machine::Lock&) {
    Gpu& other = peer(gpu, context);
    const Devices before = other.accessible_to(MemoryKind::Plain);
    if ((before & gpu.bit()) == 0) throw Denial(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "it has no access");
    other.let_access(MemoryKind::Plain, before & ~gpu.bit());
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return answer(__func__, [&] { *pool = reinterpret_cast<CUmemoryPool>(&machine().gpu(device)); });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) { return cuDeviceGetDefaultMemPool(pool, device); }

/// It keeps nothing.
CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t) {
  return answer(__func__, [&] { static_cast<void>(pool_behind(pool)); });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute, void*) {
  return answer(__func__, [&] { static_cast<void>(pool_behind(pool)); });
}

/// What cuMemAllocAsync makes does not follow peer access, but this.
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, std::size_t count) {
  return answer_locked(__func__, [&](Machine&, Machine::Lock&) {
    Gpu& gpu = pool_behind(pool);
    Devices devices = gpu.accessible_to(MemoryKind::Pooled);
    for (const CUmemAccessDesc& each : std::span(access, count)) devices = changed(devices, each);
    expect((devices & gpu.bit()) != 0, CUDA_ERROR_INVALID_VALUE, "a device always has access to its own pool");
    gpu.let_access(MemoryKind::Pooled, devices);
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* place) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    expect(place->type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE, "only devices have access");
    const bool has_access = (pool_behind(pool).accessible_to(MemoryKind::Pooled) & all.gpu(place->id).bit()) != 0;
    *flags = has_access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  });
}

CUresult cuPointerGetAttribute(void* to, CUpointer_attribute which, CUdeviceptr address) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    const Found found = found_at(all, address);
    const bool has_answer = which != CU_POINTER_ATTRIBUTE_HOST_POINTER || found.host != nullptr;
    if (!has_answer) throw Denial(CUDA_ERROR_INVALID_VALUE, "the host does not see it");
    write_attribute(to, which, found);
  });
}

/// Where the driver knows nothing of the address, the answers are zero.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* which, void** to, CUdeviceptr address) {
  return answer_locked(__func__, [&](Machine& all, Machine::Lock&) {
    for (unsigned index = 0; index < count; ++index) {
      try {
        write_attribute(to[index], which[index], found_at(all, address));
      } catch (const Denial&) {
        if (which[index] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
          write(to[index], static_cast<int>(CU_DEVICE_INVALID));
        } else if (which[index] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
                   which[index] == CU_POINTER_ATTRIBUTE_IS_MANAGED) {
          write(to[index], 0u);
        } else {
          write(to[index], std::uint64_t{0});
        }
      }
    }
  });
}

}  // extern "C"
