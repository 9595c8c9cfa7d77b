// Chunks, and threads that fill and empty them.
#include "engine/staging.hpp"

#include <algorithm>
#include <cstring>

#include "engine/thread.hpp"

namespace heddle::engine {

Copier::Copier(int threads) {
  for (int t = 0; t < threads; ++t)
    threads_.emplace_back([this] {
      be_prompt();
      work();
    });
}

Copier::~Copier() {
  {
    std::lock_guard hold(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Copier::run(std::function<void()> job) {
  {
    std::lock_guard hold(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void Copier::copy(std::span<std::byte> to, std::span<const std::byte> from, std::function<void()> done) {
  run([to, from, done = std::move(done)] {
    std::memcpy(to.data(), from.data(), from.size());
    done();
  });
}

void Copier::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !jobs_.empty() || closing_; });
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // what it holds may be the last of its kind
    lock.lock();
  }
}

Ring::Chunk* Ring::take() {
  for (Chunk& chunk : chunks_) {
    if (chunk.taken || (chunk.event && !chunk.event->done())) continue;
    chunk.taken = true;
    chunk.event = nullptr;
    return &chunk;
  }
  broken_ |= blocks_.empty() && block_size > limit_;
  if (broken_ || size() + block_size > limit_) return nullptr;
  auto block = device_->lock(block_size);
  if (!block) {
    broken_ = blocks_.empty();
    limit_ = size();
    return nullptr;
  }
  for (core::Bytes at = 0; at < block_size; at += chunk_size)
    chunks_.push_back({(*block)->bytes().subspan(at, chunk_size)});
  blocks_.push_back(std::move(*block));
  return take();
}

void HostEvent::complete(core::Status status) {
  std::vector<std::function<void()>> callbacks;
  {
    std::lock_guard hold(mutex_);
    status_ = std::move(status);
    callbacks.swap(callbacks_);
  }
  changed_.notify_all();
  for (const auto& callback : callbacks) callback();
}

core::Status HostEvent::wait(core::Nanoseconds limit) {
  std::unique_lock lock(mutex_);
  const auto over = [&] { return status_.has_value(); };
  if (limit == core::Nanoseconds::max())
    changed_.wait(lock, over);
  else if (!changed_.wait_for(lock, limit, over))
    return core::Failure{core::FailureKind::hang, "a copy to the host did not end", ""};
  return *status_;
}

bool HostEvent::done() {
  std::lock_guard hold(mutex_);
  return status_.has_value();
}

void HostEvent::notify(std::function<void()> callback) {
  {
    std::lock_guard hold(mutex_);
    if (!status_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

}  // namespace heddle::engine
