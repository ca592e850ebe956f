// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/partitions.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "cuda/driver/driver.hpp"
#include "cuda/driver/green_contexts.hpp"
#include "cuda/launch/sm_groups.hpp"

namespace gpushare::cuda {
namespace {

/// A limit, as each occupies some memory of the GPU.
constexpr std::size_t most_partitions = 8;
/// Streams per level: one for a launch and the one behind it.
constexpr int streams_per_partition_level = 1;
constexpr std::size_t tenths_of_sms = 9;
/// The patience for measuring SM groups: other kernels may keep the GPU busy.
constexpr int most_tries_to_learn = 10;
/// The cost of making a partition, relative to loading a kernel there.
constexpr int partition_in_kernels = 3;

bool can_be_had(const SmGroups::Within& within, const std::vector<SmId>& sms) {
  return within.sms.size() * 10 >= sms.size() * tenths_of_sms;
}

bool are_apart(const std::vector<SmId>& one, const std::vector<SmId>& other) {
  return std::ranges::none_of(one, [&](SmId sm) { return std::ranges::find(other, sm) != other.end(); });
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

/// The orders of the run, which the thread makes.
class Partitions::Workshop {
 public:
  /// On an H100 finding the groups takes 12 to 31 ms. It happens before the first run, as neither a run nor the time
  /// between two has room for it.
  Workshop(SharedContext context, Duration worth) : context_(std::move(context)), worth_(worth) { try_to_learn(); }

  std::optional<OriginalSetup> find(const std::shared_ptr<const KernelCode>& kernel, const std::vector<SmId>& sms,
                                    Duration expected) {
    const std::scoped_lock lock(mutex_);
    PartitionEntry& entry = entry_of(sms);
    Loaded& loaded = entry.functions[kernel];
    entry.wanted += expected;
    loaded.wanted += expected;
    const Duration enough = entry.is_ordered ? worth_ : joins_from();
    if (!loaded.is_ordered && loaded.wanted >= enough && is_worth(entry, worth_)) order_what_joins();
    if (loaded.function == nullptr) return std::nullopt;
    return OriginalSetup{loaded.function, entry.partition->sms(), sms, {entry.partition, &entry.partition->streams()}};
  }

  void set_worth(Duration worth) {
    const std::scoped_lock lock(mutex_);
    worth_ = worth;
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
    while (true) {
      std::vector<Order> orders = take_orders();
      if (orders.empty()) return;
      make(orders);
      deliver(orders);
    }  // the last user destroys a partition here, during a drain: not under the lock
  }

 private:
  struct Loaded {
    Duration wanted{};  // the time of the launches that it was wanted for
    bool is_ordered = false;
    CUfunction function = nullptr;
  };
  struct PartitionEntry {
    Duration wanted{};
    bool is_ordered = false;
    std::shared_ptr<Partition> partition{};
    std::map<std::weak_ptr<const KernelCode>, Loaded, std::owner_less<>> functions{};
    std::uint64_t used = 0;
  };
  struct Order {
    std::vector<SmId> sms;
    std::weak_ptr<const KernelCode> kernel;
    std::shared_ptr<Partition> partition{};
    CUfunction function = nullptr;
  };

  Duration joins_from() const { return worth_ / 4; }
  static bool is_worth(const PartitionEntry& entry, Duration worth) {
    return entry.is_ordered || entry.wanted >= partition_in_kernels * worth;
  }

  /// A drain is expensive, one more kernel in it is not; and equal sharing needs several partitions. Among overlapping
  /// ones the last one ordered belongs to the allocation in force: the others were trials, and would make a drain
  /// longer.
  void order_what_joins() {
    std::vector<SmId> taken;
    for (const auto& [sms, entry] : latest_first()) {
      if (!is_worth(*entry, worth_ / 2) || !are_apart(*sms, taken)) continue;
      taken.insert(taken.end(), sms->begin(), sms->end());
      order_what_joins(*sms, *entry);
    }
    changed_.notify_all();
  }

  void order_what_joins(const std::vector<SmId>& sms, PartitionEntry& entry) {
    for (auto& [kernel, loaded] : entry.functions) {
      if (loaded.is_ordered || loaded.wanted < joins_from()) continue;
      entry.is_ordered = loaded.is_ordered = true;
      orders_.push_back({sms, kernel});
    }
  }

  std::vector<std::pair<const std::vector<SmId>*, PartitionEntry*>> latest_first() {
    std::vector<std::pair<const std::vector<SmId>*, PartitionEntry*>> found;
    for (auto& [sms, entry] : entries_) found.emplace_back(&sms, &entry);
    std::ranges::sort(found, std::ranges::greater{}, [](const auto& each) { return each.second->used; });
    return found;
  }

  void try_to_learn() {
    ++tries_to_learn_;
    try {
      groups_.emplace(context_);
    } catch (const CudaError&) {  // an order tries again
    }
  }

  /// None: stop.
  std::vector<Order> take_orders() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stops_ || !orders_.empty(); });
    if (stops_) return {};
    is_working_ = true;
    for (Order& order : orders_) order.partition = partition_of(order.sms);
    return std::exchange(orders_, {});
  }

  void deliver(std::span<const Order> orders) {
    const std::scoped_lock lock(mutex_);
    is_working_ = false;
    for (const Order& order : orders) deliver(order);
    changed_.notify_all();
  }

  PartitionEntry& entry_of(const std::vector<SmId>& sms) {
    const auto found = entries_.find(sms);
    if (found == entries_.end() && entries_.size() >= most_partitions)
      entries_.erase(std::ranges::min_element(entries_, {}, [](const auto& each) { return each.second.used; }));
    PartitionEntry& entry = entries_[sms];
    entry.used = ++now_;
    return entry;
  }

  std::shared_ptr<Partition> partition_of(const std::vector<SmId>& sms) const {
    const auto found = entries_.find(sms);
    return found != entries_.end() ? found->second.partition : nullptr;
  }

  void deliver(const Order& order) {
    const auto found = entries_.find(order.sms);
    if (found == entries_.end()) return;  // others have been used more since
    PartitionEntry& entry = found->second;
    std::erase_if(entry.functions, [](const auto& each) { return each.first.expired(); });
    const auto loaded = entry.functions.find(order.kernel);
    if (loaded == entry.functions.end()) return;
    if (!entry.partition) entry.partition = order.partition;
    if (entry.partition == order.partition) loaded->second.function = order.function;
    if (!groups_ && tries_to_learn_ < most_tries_to_learn) loaded->second = {};
  }

  /// Makes all orders in one drain, if there are any.
  void make(std::vector<Order>& orders) {
    if (std::ranges::none_of(orders, [this](const Order& order) { return takes_work(order); }))
      return make_each(orders);
    const Drain drain = context_->drain_requests().ask();
    make_each(orders);
  }

  bool takes_work(const Order& order) const {
    const std::shared_ptr<const KernelCode> kernel = order.kernel.lock();
    if (!kernel) return false;
    if (order.partition) return !order.partition->has(kernel);
    return groups_ ? can_be_had(groups_->within(order.sms), order.sms) : tries_to_learn_ < most_tries_to_learn;
  }

  /// Two kernels may want the same part.
  void make_each(std::vector<Order>& orders) {
    std::map<std::vector<SmId>, std::shared_ptr<Partition>> made;
    for (Order& order : orders) {
      if (!order.partition) order.partition = made[order.sms];
      order.function = function_in(order);
      made[order.sms] = order.partition;
    }
  }

  /// The kernel in its partition, which is made if there is none. None where that is impossible: then the kernel runs
  /// as workers there, as it does until it is ready.
  CUfunction function_in(Order& order) {
    const std::shared_ptr<const KernelCode> kernel = order.kernel.lock();
    if (!kernel) return nullptr;
    try {
      if (!order.partition) order.partition = make_partition(order.sms);
      return order.partition ? order.partition->function(kernel) : nullptr;
    } catch (const CudaError&) {
      return nullptr;
    }
  }

  /// Nothing where the hardware cannot separate these SMs.
  std::shared_ptr<Partition> make_partition(const std::vector<SmId>& sms) {
    if (!groups_ && tries_to_learn_ < most_tries_to_learn) try_to_learn();
    if (!groups_) return nullptr;
    SmGroups::Within within = groups_->within(sms);
    if (!can_be_had(within, sms)) return nullptr;
    return std::make_shared<Partition>(context_, std::move(within));
  }

  SharedContext context_;
  Duration worth_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::vector<SmId>, PartitionEntry> entries_;
  std::vector<Order> orders_;
  std::uint64_t now_ = 0;
  bool is_working_ = false;
  bool stops_ = false;
  // Used by the thread alone:
  std::optional<SmGroups> groups_;
  int tries_to_learn_ = 0;
};

Partitions::Partitions(SharedContext context, Duration worth)
    : context_(std::move(context)), workshop_(std::make_shared<Workshop>(context_, worth)) {}

// Where a kernel does not end, the driver may block the thread as well.
Partitions::~Partitions() {
  workshop_->stop();
  if (!thread_.joinable()) return;
  context_->is_lost() ? thread_.detach() : thread_.join();
}

std::optional<OriginalSetup> Partitions::find(const std::shared_ptr<const KernelCode>& kernel,
                                              const std::vector<SmId>& sms, Duration expected) {
  if (!thread_.joinable()) thread_ = std::thread([workshop = workshop_] { workshop->work(); });
  return workshop_->find(kernel, sms, expected);
}

void Partitions::set_worth(Duration worth) { workshop_->set_worth(worth); }

void Partitions::wait_ready() { workshop_->wait_ready(); }

}  // namespace gpushare::cuda
