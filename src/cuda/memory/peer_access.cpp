// SPDX-License-Identifier: Apache-2.0
#include "cuda/memory/peer_access.hpp"

#include "core/model/errors.hpp"
#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {

// All memory comes from the device's pool (make_uncleared_memory), which has its own list of devices with access.
void let_access(Context& home, const Context& peer) {
  const auto name = [](const Context& context) { return "cuda:" + std::to_string(context.device()); };
  int can = 0;
  GPUSHARE_CU(cuDeviceCanAccessPeer(&can, peer.device(), home.device()));
  require(can != 0, name(peer) + " cannot access the memory of " + name(home) + ": they have no peer access");
  int atomics = 0;
  GPUSHARE_CU(
      cuDeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, peer.device(), home.device()));
  require(atomics != 0, "atomics of " + name(peer) + " in the memory of " + name(home) +
                            " are none: their link is not NVLink, which a launch on both needs");
  CUmemoryPool pool = nullptr;
  GPUSHARE_CU(cuDeviceGetDefaultMemPool(&pool, home.device()));
  CUmemAccessDesc access{};
  access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = peer.device()};
  GPUSHARE_CU(cuMemPoolGetAccess(&access.flags, pool, &access.location));
  if (access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const Drain drain = home.drain_requests().ask();  // mapping what is allocated may wait for kernels
  GPUSHARE_CU(cuMemPoolSetAccess(pool, &access, 1));
}

}  // namespace gpushare::cuda
