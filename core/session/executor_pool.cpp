#include "core/session/executor_pool.h"

#include <algorithm>

namespace inlay {

ExecutorPool::ExecutorPool(const Plan& plan, const Weights& weights, PluginHost& host, int limit)
    : limit_(std::max(limit, 1)) {
  slots_.push_back(
      std::make_unique<Slot>(Slot{std::make_unique<Executor>(plan, weights, host), {}, {}}));
  first_ = slots_.front().get();
  slots_.front()->inputs.resize(plan.inputs.size());
  slots_.front()->outputs.resize(plan.outputs.size());
  free_.push_back(slots_.front().get());
}

ExecutorPool::Lease ExecutorPool::acquire() {
  std::unique_lock lock(mutex_);
  const auto may_make = [this] { return static_cast<int>(slots_.size()) + making_ < limit_; };
  is_free_.wait(lock, [&] { return !free_.empty() || may_make(); });
  if (free_.empty()) {
    ++making_;
    lock.unlock();
    auto slot = std::make_unique<Slot>();
    try {
      slot->executor = first_->executor->twin();
      slot->inputs.resize(first_->inputs.size());
      slot->outputs.resize(first_->outputs.size());
    } catch (...) {
      lock.lock();
      --making_;
      is_free_.notify_one();
      throw;
    }
    lock.lock();
    --making_;
    // Room for all, so that giving back cannot fail.
    free_.reserve(slots_.size() + 1);
    slots_.push_back(std::move(slot));
    return {slots_.back().get(), GiveBack{this}};
  }
  Slot* slot = free_.back();
  free_.pop_back();
  return {slot, GiveBack{this}};
}

void ExecutorPool::release(Slot* slot) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }
  is_free_.notify_one();
}

void ExecutorPool::raise_limit(int limit) {
  {
    const std::lock_guard lock(mutex_);
    limit_ = std::max(limit_, limit);
  }
  is_free_.notify_all();
}

int ExecutorPool::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(slots_.size());
}

}  // namespace inlay
