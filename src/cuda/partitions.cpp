// SPDX-License-Identifier: Apache-2.0
#include "cuda/partitions.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "cuda/driver.hpp"
#include "cuda/green_contexts.hpp"
#include "cuda/sm_groups.hpp"

namespace gpushare::cuda {
namespace {

/// Each keeps some memory of the GPU.
constexpr std::size_t most_partitions = 8;
/// Of streams, for a launch and the one behind it.
constexpr int streams_per_partition_level = 1;
constexpr std::size_t tenths_of_sms = 9;
/// Other kernels may keep the GPU busy while its groups are learnt.
constexpr int most_tries_to_learn = 10;

bool can_be_had(const SmGroups::Within& within, const std::vector<SmId>& sms) {
  return within.sms.size() * 10 >= sms.size() * tenths_of_sms;
}

}  // namespace

/// One green context, its streams, and the kernels that were loaded there.
class Partition {
 public:
  Partition(const SharedContext& context, SmGroups::Within within)
      : green_(context, within.groups),
        sms_(std::move(within.sms)),
        streams_(context, streams_per_partition_level, [&](int priority) { return green_.make_stream(priority); }) {}

  StreamPool& streams() { return streams_; }
  const std::vector<SmId>& sms() const { return sms_; }
  bool has(const std::shared_ptr<const KernelCode>& kernel) const { return functions_.contains(kernel); }
  CUfunction function(const std::shared_ptr<const KernelCode>& kernel) {
    std::erase_if(functions_, [this](const auto& each) {
      if (each.first.expired()) green_.unload(each.second);
      return each.first.expired();
    });
    const auto found = functions_.find(kernel);
    if (found != functions_.end()) return found->second;
    return functions_.emplace(kernel, green_.load(*kernel)).first->second;
  }

 private:
  GreenContext green_;
  std::vector<SmId> sms_;
  StreamPool streams_;
  std::map<std::weak_ptr<const KernelCode>, CUfunction, std::owner_less<>> functions_;
};

/// What the run asks for and the thread makes.
class Partitions::Workshop {
 public:
  Workshop(SharedContext context, Duration worth) : context_(std::move(context)), worth_(worth) {}

  std::optional<WholeWay> find(const std::shared_ptr<const KernelCode>& kernel, const std::vector<SmId>& sms,
                               Duration expected) {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entry_of(sms);
    Loaded& loaded = entry.functions[kernel];
    loaded.wanted += expected;
    if (!loaded.is_ordered && loaded.wanted >= worth_) {
      loaded.is_ordered = true;
      orders_.push_back({sms, kernel});
      changed_.notify_all();
    }
    if (loaded.function == nullptr) return std::nullopt;
    return WholeWay{loaded.function, entry.partition->sms(), sms, {entry.partition, &entry.partition->streams()}};
  }

  void wait_ready() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return orders_.empty() && !is_working_; });
  }

  void stop() {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stops_ || !orders_.empty(); });
      if (stops_) return;
      const std::deque<Order> orders = std::exchange(orders_, {});
      is_working_ = true;
      std::vector<Made> found;
      for (const Order& order : orders) {
        const auto entry = entries_.find(order.sms);
        found.push_back({.partition = entry != entries_.end() ? entry->second.partition : nullptr});
      }
      lock.unlock();
      make(orders, found);
      lock.lock();
      is_working_ = false;
      for (std::size_t number = 0; number < orders.size(); ++number) deliver(orders[number], found[number]);
      changed_.notify_all();
    }
  }

 private:
  struct Loaded {
    Duration wanted{};  // the time of the launches that it was wanted for
    bool is_ordered = false;
    CUfunction function = nullptr;
  };
  struct Entry {
    std::shared_ptr<Partition> partition{};
    std::map<std::weak_ptr<const KernelCode>, Loaded, std::owner_less<>> functions{};
    std::uint64_t used = 0;
  };
  struct Order {
    std::vector<SmId> sms;
    std::weak_ptr<const KernelCode> kernel;
  };

  struct Made {
    std::shared_ptr<Partition> partition{};
    CUfunction function = nullptr;
  };

  Entry& entry_of(const std::vector<SmId>& sms) {
    const auto found = entries_.find(sms);
    if (found == entries_.end() && entries_.size() >= most_partitions)
      entries_.erase(std::ranges::min_element(entries_, {}, [](const auto& each) { return each.second.used; }));
    Entry& entry = entries_[sms];
    entry.used = ++now_;
    return entry;
  }

  void deliver(const Order& order, const Made& made) {
    const auto found = entries_.find(order.sms);
    if (found == entries_.end()) return;  // others have been used more since
    Entry& entry = found->second;
    std::erase_if(entry.functions, [](const auto& each) { return each.first.expired(); });
    const auto loaded = entry.functions.find(order.kernel);
    if (loaded == entry.functions.end()) return;
    if (!entry.partition) entry.partition = made.partition;
    if (entry.partition == made.partition) loaded->second.function = made.function;
    if (!groups_ && tries_to_learn_ < most_tries_to_learn) loaded->second = {};
  }

  /// All in one quiet moment, if there is anything to do: whoever shares the GPU equally wants several parts at the
  /// same time.
  void make(const std::deque<Order>& orders, std::vector<Made>& found) {
    bool any_work = false;
    for (std::size_t number = 0; number < orders.size(); ++number) {
      any_work |= takes_work(orders[number], found[number].partition.get());
    }
    if (!any_work) return make_all(orders, found);
    const Quiet quiet = context_->quiet_moments().ask();
    make_all(orders, found);
  }

  bool takes_work(const Order& order, const Partition* partition) {
    const std::shared_ptr<const KernelCode> kernel = order.kernel.lock();
    if (!kernel) return false;
    if (partition != nullptr) return !partition->has(kernel);
    return !groups_ || can_be_had(groups_->within(order.sms), order.sms);
  }

  void make_all(const std::deque<Order>& orders, std::vector<Made>& found) {
    std::map<std::vector<SmId>, std::shared_ptr<Partition>> made_now;
    for (std::size_t number = 0; number < orders.size(); ++number) {
      auto& [partition, function] = found[number];
      std::shared_ptr<Partition>& made = made_now[orders[number].sms];
      if (!partition) partition = made;
      function = function_in(partition, orders[number]);
      made = partition;
    }
  }

  /// Of the kernel in the partition, which is made if there is none. None where that cannot be: then the kernel runs as
  /// workers there, as it does until it is ready.
  CUfunction function_in(std::shared_ptr<Partition>& partition, const Order& order) {
    const std::shared_ptr<const KernelCode> kernel = order.kernel.lock();
    if (!kernel) return nullptr;
    try {
      if (!partition) partition = make_partition(order.sms);
      return partition ? partition->function(kernel) : nullptr;
    } catch (const CudaError&) {
      return nullptr;
    }
  }

  /// Nothing where the hardware cannot have these SMs apart.
  std::shared_ptr<Partition> make_partition(const std::vector<SmId>& sms) {
    if (!groups_ && tries_to_learn_++ < most_tries_to_learn) groups_.emplace(context_);
    if (!groups_) return nullptr;
    SmGroups::Within within = groups_->within(sms);
    if (!can_be_had(within, sms)) return nullptr;
    return std::make_shared<Partition>(context_, std::move(within));
  }

  SharedContext context_;
  const Duration worth_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::vector<SmId>, Entry> entries_;
  std::deque<Order> orders_;
  std::uint64_t now_ = 0;
  bool is_working_ = false;
  bool stops_ = false;
  // The thread's own:
  std::optional<SmGroups> groups_;
  int tries_to_learn_ = 0;
};

Partitions::Partitions(SharedContext context, Duration worth)
    : context_(std::move(context)), workshop_(std::make_shared<Workshop>(context_, worth)) {}

// Where a kernel does not end, the driver may not let the thread go on either.
Partitions::~Partitions() {
  workshop_->stop();
  if (!thread_.joinable()) return;
  context_->is_lost() ? thread_.detach() : thread_.join();
}

std::optional<WholeWay> Partitions::find(const std::shared_ptr<const KernelCode>& kernel, const std::vector<SmId>& sms,
                                         Duration expected) {
  if (!thread_.joinable()) thread_ = std::thread([workshop = workshop_] { workshop->work(); });
  return workshop_->find(kernel, sms, expected);
}

void Partitions::wait_ready() { workshop_->wait_ready(); }

}  // namespace gpushare::cuda
