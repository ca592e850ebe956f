// SPDX-License-Identifier: Apache-2.0
// Which launches go together by Table I, remembering their classes.
#pragma once

#include "core/model/lru_cache.hpp"
#include "core/partitioning/launch_key.hpp"
#include "core/partitioning/slate_table.hpp"

namespace gpushare {

class SlateClasses {
 public:
  /// Nobody can say of a kernel without a profile: then it does not.
  bool go_together(const Device& device, const Launch& running, const Launch& candidate) {
    return running.kernel.is_profiled && candidate.kernel.is_profiled &&
           is_complementary(of(device, running), of(device, candidate));
  }

 private:
  SlateClass of(const Device& device, const Launch& launch) {
    return known_.find_or(key_of(launch), [&] { return slate_class(device, launch); });
  }

  LruCache<LaunchKey, SlateClass> known_{1024};
};

}  // namespace gpushare
