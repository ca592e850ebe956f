// SPDX-License-Identifier: Apache-2.0
// Converts CUPTI's activity records to those of the trace.
#pragma once

#include <cupti_activity.h>

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "record/trace_file.hpp"

namespace gpushare::recording {

/// The names of kernels that the file has, or will have with a batch that another thread is about to write.
class KernelNames {
 public:
  /// The number of this name (mangled); adds its record where it is new. May be called by several threads.
  std::uint32_t number_of(const char* name, RecordBatch& batch);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// The name as in the source, cut where it is extremely long; unchanged where it is not mangled.
std::string readable(const char* name);

/// Adds the activity to the trace's records. Kinds that were not enabled are left out.
void add_activity(const CUpti_Activity& activity, KernelNames& names, RecordBatch& batch);

}  // namespace gpushare::recording
