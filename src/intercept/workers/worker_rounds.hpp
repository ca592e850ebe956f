// SPDX-License-Identifier: Apache-2.0
// Launches that are made as workers, all in the program's own stream, so that everything else in it keeps its order:
//
//   [round 1] stopped, wait until the program may go on [round 2] stopped, wait [round 3] ... [last round]
//
// All rounds share a task counter. A round whose workers were told to leave has left tasks to the next one, and one
// behind the last task ends at once. The last round obeys no order, so that every launch ends.
#pragma once

#include <optional>

#include "intercept/calls/known_launches.hpp"
#include "intercept/calls/streams.hpp"
#include "intercept/workers/worker_code.hpp"

namespace gpushare::intercept {

/// What a launch gives: one of both is nullptr, or both where the kernel has no parameters.
struct KernelArguments {
  void** parameters = nullptr;
  void** extra = nullptr;
};

/// Predicted time from which a launch is made as workers. A round for nothing costs some 5 us, and a launch that ends
/// sooner than this holds up others less than the limit of work under way does.
constexpr std::uint64_t least_ns_for_workers = 300'000;

inline bool is_worth_workers(const Membership& member, const KnownLaunch& known) {
  return known.thing.kind == programs::LaunchKind::Kernel && known.predicted_ns(member) >= least_ns_for_workers;
}

/// Has too little been measured of its workers? A kernel that is much slower as workers is launched as it is.
bool wants_time_of_workers(const KnownLaunch& known);
/// A launch was timed, made as workers or not.
void note_time(const KnownLaunch& known, std::uint64_t ns, bool as_workers);

/// Nothing where the launch has to be made as it is; nothing has been launched then. `stream`: as `named` names it, and
/// no other thread launches in it meanwhile.
std::optional<CUresult> launched_as_workers(const Membership& member, const KnownLaunch& known,
                                            const KernelArguments& arguments, const StreamWords& words,
                                            CUstream stream);

/// A context is gone, with all that is known of it.
void drop_workers();

}  // namespace gpushare::intercept
