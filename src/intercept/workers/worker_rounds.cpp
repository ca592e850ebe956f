// SPDX-License-Identifier: Apache-2.0
#include "intercept/workers/worker_rounds.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <mutex>

#include "intercept/forks.hpp"
#include "intercept/pinned_words.hpp"
#include "intercept/progress.hpp"
#include "intercept/waiting.hpp"
#include "intercept/workers/held_work.hpp"
#include "intercept/workers/worker_slots.hpp"
#include "programs/worker_words.hpp"

namespace gpushare::intercept {
namespace {

using programs::LaunchShape;

/// A round for nothing costs a hundredth of this. A launch can be evicted so often.
constexpr std::uint64_t ns_for_a_round = 500'000;
constexpr std::uint64_t most_rounds = 64;
constexpr std::uint32_t most_parameters = 512;
/// Predicted time of a worker between two looks at its order. That lies in host memory, and thousands of workers that
/// look every 16 us make kernels a third slower.
constexpr std::uint64_t ns_for_a_claim = 100'000;
constexpr std::uint64_t most_tasks_of_a_claim = programs::all_workers.chunk;

/// So many launches as workers are timed; they are compared with the one or two before, when times became known. Other
/// programs may make kernels slower, and a kernel that takes little longer is better evicted than not.
constexpr std::uint32_t timed_launches = 4;
constexpr std::uint64_t most_percent_as_workers = 125;

/// The shortest measured times, as workers and not; 0: none.
struct MeasuredTimes {
  std::uint64_t whole_ns = 0;
  std::uint64_t workers_ns = 0;
  std::uint32_t of_workers = 0;

  bool are_slower_as_workers() const {
    return of_workers >= timed_launches && whole_ns > 0 && 100 * workers_ns > most_percent_as_workers * whole_ns;
  }
};

/// What is known of a KnownLaunch, at its index.
struct KnownWorker {
  std::uint32_t generation = 0;  ///< of the code; 0: not looked for
  WorkerCode code;               ///< no worker where the launch has to be made as it is
  std::uint32_t places = 0;      ///< so many workers fill the GPU
  MeasuredTimes times;
};

std::array<KnownWorker, most_launches> known_workers;
Lock known_workers_lock;
PinnedWords worker_words;
std::atomic<std::uint64_t> last_stop = 0;

std::uint64_t count_of(const std::array<std::uint32_t, 3>& size) { return std::uint64_t{size[0]} * size[1] * size[2]; }

int attribute_of(CUfunction function, CUfunction_attribute which) {
  int value = 0;
  return call(real.cuFuncGetAttribute, &value, which, function) == CUDA_SUCCESS ? value : 0;
}

/// What the driver would refuse of the original has to be refused.
bool allows_shared_memory(const WorkerCode& code, std::uint32_t bytes) {
  constexpr auto dynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  if (static_cast<std::int64_t>(bytes) > attribute_of(code.original, dynamic)) return false;
  if (static_cast<std::int64_t>(bytes) <= attribute_of(code.worker, dynamic)) return true;
  return call(real.cuFuncSetAttribute, code.worker, dynamic, static_cast<int>(bytes)) == CUDA_SUCCESS;
}

/// 0 where there is no room for a worker on an SM, or there may be SMs without an order.
std::uint32_t places_for(const WorkerCode& code, const LaunchShape& shape) {
  const auto threads = static_cast<int>(count_of(shape.block));
  CUdevice device = 0;
  int sms = 0;
  int on_an_sm = 0;
  if (call(real.cuCtxGetDevice, &device) != CUDA_SUCCESS) return 0;
  call(real.cuDeviceGetAttribute, &sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  if (threads > attribute_of(code.worker, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)) return 0;
  if (sms <= 0 || sms > static_cast<int>(programs::most_sms)) return 0;
  call(real.cuOccupancyMaxActiveBlocksPerMultiprocessor, &on_an_sm, code.worker, threads,
       std::size_t{shape.shared_bytes});
  return static_cast<std::uint32_t>(std::max(on_an_sm, 0) * sms);
}

/// A kernel whose blocks all run at once would not leave any sooner.
KnownWorker found_worker(const Membership& member, const LaunchedThing& thing) {
  const LaunchShape& shape = thing.shape;
  const auto& [x, y, z] = shape.block;
  const std::uint64_t tasks = count_of(shape.grid);
  KnownWorker found{.generation = code_generation()};
  const bool is_possible = tasks > 0 && tasks < std::uint64_t{1} << 31 && count_of(shape.block) > 0;
  const std::optional<WorkerCode> code = is_possible ? worker_of(thing.handle) : std::nullopt;
  if (!code) return found;
  if (!code->kernel->blocks.suit(x, y, z) || code->kernel->parameters > most_parameters) {
    count_whole(member, "a launch: its worker is not right for blocks of this shape");
    return found;
  }
  const bool has_room = allows_shared_memory(*code, shape.shared_bytes);
  found.places = has_room ? places_for(*code, shape) : 0;
  if (found.places == 0) {
    count_whole(member, "a launch: an SM has no room for its worker");
  } else if (tasks <= found.places) {
    count_whole(member, "a launch: all its blocks run at once");
  } else {
    found.code = *code;
  }
  return found;
}

KnownWorker worker_for(const Membership& member, const KnownLaunch& known) {
  const std::lock_guard lock(known_workers_lock);
  KnownWorker& entry = known_workers[index_of(known)];
  if (entry.generation != code_generation()) {
    const MeasuredTimes times = entry.generation == 0 ? entry.times : MeasuredTimes{};
    entry = found_worker(member, known.thing);
    entry.times = times;
  }
  if (entry.code.worker != nullptr && entry.times.are_slower_as_workers()) {
    count_whole(member, "a launch: it takes longer as workers");
    entry.code = {};
  }
  return entry;
}

bool takes_less(std::uint64_t ns, std::uint64_t than) { return than == 0 || ns < than; }

/// Pointers to a kernel's arguments and one more.
class ArgumentPointers {
 public:
  /// False where the program gives fewer than the kernel has.
  bool take(const KernelArguments& given, const images::WorkerKernel& kernel) {
    count_ = kernel.parameters;
    if (given.extra != nullptr) return given.parameters == nullptr && take_from_buffer(given.extra, kernel);
    if (count_ > 0 && given.parameters == nullptr) return false;
    std::copy_n(given.parameters, count_, pointers_.begin());
    return true;
  }
  void** with(WorkerParameters& last) {
    pointers_[count_] = &last;
    return pointers_.data();
  }

 private:
  bool take_from_buffer(void** extra, const images::WorkerKernel& kernel) {
    char* buffer = nullptr;
    std::size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
      if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<char*>(extra[1]);
      if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<const std::size_t*>(extra[1]);
    }
    if (count_ > 0 && (buffer == nullptr || bytes < kernel.parameter_bytes)) return false;
    for (std::uint32_t index = 0; index < count_; ++index) pointers_[index] = buffer + kernel.parameter_offsets[index];
    return true;
  }

  std::array<void*, most_parameters + 1> pointers_;
  std::uint32_t count_ = 0;
};

/// A claim takes (tasks left >> guide) at most: ns_for_a_claim of work in the beginning, and less towards the end.
std::uint32_t guide_for(std::uint64_t tasks, std::uint64_t workers, std::uint64_t predicted_ns) {
  const std::uint64_t ns_for_a_task = std::max<std::uint64_t>(predicted_ns * workers / tasks, 1);
  const std::uint64_t most = std::clamp<std::uint64_t>(ns_for_a_claim / ns_for_a_task, 1, most_tasks_of_a_claim);
  const auto of_fair_share = static_cast<std::uint32_t>(std::bit_width(4 * workers) - 1);
  if (most == most_tasks_of_a_claim) return of_fair_share;  // which the order limits
  return std::max(of_fair_share, static_cast<std::uint32_t>(std::bit_width(tasks / (most + 1))));
}

/// What a launch as workers puts into the stream.
class Rounds {
 public:
  Rounds(const WorkerSlot& slot, CUstream stream, CUdeviceptr page_words, CUdeviceptr stopped)
      : slot_(slot), stream_(stream), page_words_(page_words), stopped_(stopped) {}

  CUresult prepare() const {
    if (slot_.is_clear) return call(real.cuStreamWriteValue32_v2, stream_, slot_.control, cuuint32_t{0}, 0u);
    const CUresult result =
        call(real.cuMemsetD8Async, slot_.control, static_cast<unsigned char>(0), WorkerSlot::bytes, stream_);
    if (result != CUDA_SUCCESS) return result;
    // The largest quota, and the largest chunk.
    constexpr std::size_t bytes = programs::most_sms * sizeof(WorkerOrder);
    return call(real.cuMemsetD8Async, slot_.orders(), static_cast<unsigned char>(0xff), bytes, stream_);
  }

  /// Nothing where the driver refuses the first round.
  std::optional<CUresult> launch(const KnownWorker& worker, const LaunchShape& shape, std::uint64_t predicted_ns,
                                 ArgumentPointers& arguments) const {
    const auto tasks = static_cast<std::uint32_t>(count_of(shape.grid));
    const std::uint32_t workers = std::min(worker.places, tasks);
    WorkerParameters last{.control = slot_.control,
                          .sm_table = slot_.sms(),
                          .tasks = tasks,
                          .guide = guide_for(tasks, workers, predicted_ns),
                          .grid_x = FastDivisor::of(shape.grid[0]),
                          .grid_y = FastDivisor::of(shape.grid[1]),
                          .grid_z = shape.grid[2],
                          .orders = page_words_ + offsetof(programs::WorkerWords, orders)};
    const auto round = [&] {
      const auto& [x, y, z] = shape.block;
      return call(real.cuLaunchKernel, worker.code.worker, unsigned{workers}, 1u, 1u, unsigned{x}, unsigned{y},
                  unsigned{z}, unsigned{shape.shared_bytes}, stream_, arguments.with(last),
                  static_cast<void**>(nullptr));
    };
    CUresult result = round();
    if (result != CUDA_SUCCESS) return {};
    const std::uint64_t rounds = std::clamp<std::uint64_t>(1 + predicted_ns / ns_for_a_round, 2, most_rounds);
    for (std::uint64_t number = 2; number < rounds && result == CUDA_SUCCESS; ++number) {
      result = stop();
      if (result == CUDA_SUCCESS) result = round();
    }
    if (result == CUDA_SUCCESS) result = stop();
    last.orders = slot_.orders();
    return round();  // in any case: it does what the others have left
  }

 private:
  CUresult stop() const {
    const std::uint64_t number = ++last_stop;
    CUstreamBatchMemOpParams steps[3] = {};
    steps[0].writeValue.operation = steps[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    steps[0].writeValue.address = steps[2].writeValue.address = stopped_;
    steps[0].writeValue.value64 = number;
    steps[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    steps[1].waitValue.address = page_words_ + offsetof(programs::WorkerWords, go);
    steps[1].waitValue.value = 1;
    steps[1].waitValue.flags = CU_STREAM_WAIT_VALUE_AND;
    return call(real.cuStreamBatchMemOp_v2, stream_, 3u, static_cast<CUstreamBatchMemOpParams*>(steps), 0u);
  }

  const WorkerSlot& slot_;
  CUstream stream_;
  CUdeviceptr page_words_;
  CUdeviceptr stopped_;
};

}  // namespace

std::optional<CUresult> launched_as_workers(const Membership& member, const KnownLaunch& known,
                                            const KernelArguments& arguments, const StreamWords& words,
                                            CUstream stream) {
  const AllowedWhileCapturing allowed;
  const KnownWorker worker = worker_for(member, known);
  ArgumentPointers pointers;
  if (worker.code.worker == nullptr || words.is_shared || !pointers.take(arguments, *worker.code.kernel)) return {};
  const CUcontext context = current_context_of(stream);
  const CUdeviceptr page_words = worker_words.on_device(&member.page->workers, sizeof member.page->workers);
  const CUdeviceptr stopped = on_gpu(member, &words.progress->stopped);
  if (!look_after_held_work(member)) return {};
  WorkerSlot* const slot = context != nullptr && page_words != 0 && stopped != 0 ? take_slot(context) : nullptr;
  if (slot == nullptr) return {};
  const Rounds rounds(*slot, stream, page_words, stopped);
  std::optional<CUresult> result;
  if (rounds.prepare() == CUDA_SUCCESS) {
    slot->is_clear = true;
    result = rounds.launch(worker, known.thing.shape, known.predicted_ns(member), pointers);
    call(real.cuEventRecord, slot->ended, stream);
  }
  give_back(*slot, slot->is_clear);
  if (result == CUDA_SUCCESS) member.slot->worker_launches.fetch_add(1, std::memory_order_relaxed);
  return result;
}

bool wants_time_of_workers(const KnownLaunch& known) {
  const std::lock_guard lock(known_workers_lock);
  const KnownWorker& entry = known_workers[index_of(known)];
  return entry.code.worker != nullptr && entry.times.of_workers < timed_launches;
}

void note_time(const KnownLaunch& known, std::uint64_t ns, bool as_workers) {
  const std::lock_guard lock(known_workers_lock);
  MeasuredTimes& times = known_workers[index_of(known)].times;
  times.of_workers += as_workers ? 1 : 0;
  std::uint64_t& shortest = as_workers ? times.workers_ns : times.whole_ns;
  if (takes_less(ns, shortest)) shortest = ns;
}

void drop_workers() {
  drop_slots();
  worker_words.pin_again();
  change_code_generation();
}

void forget_workers() {
  known_workers_lock.unlock();
  worker_words.forget();
  forget_held_work();
  forget_slots();
  forget_code();
  change_code_generation();
}

}  // namespace gpushare::intercept
