// Which configuration of a parameter space to try next, by what was tried.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/parameters.hpp"

namespace heddle::decide {

// Configurations by their numbers in the space, and what they cost: time, or whatever is to be small.
class Tried {
 public:
  static constexpr double failed = std::numeric_limits<double>::infinity();

  void add(std::uint64_t number, double cost);
  bool contains(std::uint64_t number) const { return costs_.contains(number); }
  double cost(std::uint64_t number) const { return costs_.at(number); }
  const std::vector<std::uint64_t>& order() const { return order_; }
  std::optional<std::uint64_t> best() const { return best_; }  // none where all failed

 private:
  std::unordered_map<std::uint64_t, double> costs_;
  std::vector<std::uint64_t> order_;  // as they came
  std::optional<std::uint64_t> best_;
};

// A strategy at work: a coroutine that yields configurations to try, and goes on when it is known what they cost. It
// may yield some that were tried before: they are not tried again.
class Proposals {
 public:
  struct promise_type {
    std::vector<std::uint64_t> batch;
    std::exception_ptr failure;
    Proposals get_return_object() { return Proposals(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(std::vector<std::uint64_t> numbers) {
      batch = std::move(numbers);
      return {};
    }
    void return_void() {}
    void unhandled_exception() { failure = std::current_exception(); }
  };
  Proposals(Proposals&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Proposals& operator=(Proposals&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Proposals() {
    if (handle_) handle_.destroy();
  }

  // The next ones; nothing where the strategy has come to its end.
  std::optional<std::vector<std::uint64_t>> next();

 private:
  using Handle = std::coroutine_handle<promise_type>;
  explicit Proposals(Handle handle) : handle_(handle) {}
  Handle handle_;
};

// What a strategy is given; all of it outlives the strategy.
struct Searching {
  const core::ParameterSpace& space;
  const Tried& tried;
  std::mt19937_64& random;
  int width;  // how many it should propose at once, where it can choose
};

struct Strategy {
  std::string name;
  std::string what;  // in a line
  Proposals (*begin)(Searching);
};
// The default one first.
const std::vector<Strategy>& strategies();
const Strategy& find_strategy(std::string_view name);  // UsageError that lists the names there are; empty: the default

// One search. The same seed and costs give the same proposals on every machine with the same floating-point arithmetic.
class Search {
 public:
  // `first` are tried before the strategy begins: what was good elsewhere. The space must outlive it.
  Search(const core::ParameterSpace& space, const Strategy& strategy, std::uint64_t seed,
         std::vector<std::uint64_t> first = {}, int width = 1);
  Search(const Search&) = delete;  // strategies refer to what is in it
  Search& operator=(const Search&) = delete;

  // One that was never asked for or told before. Nothing: the search is over, or goes on only after what is on its way
  // was told.
  std::optional<std::uint64_t> next();
  void tell(std::uint64_t number, double cost);  // Tried::failed where it failed. Also one that nobody asked for
  bool over() const { return over_ && waiting_.empty() && on_the_way_.empty(); }
  const Tried& tried() const { return tried_; }

 private:
  void refill();

  const core::ParameterSpace& space_;
  Tried tried_;
  std::mt19937_64 random_;
  Proposals proposals_;
  std::deque<std::uint64_t> waiting_;
  std::unordered_set<std::uint64_t> on_the_way_;
  bool over_ = false;
};

// One that is neither tried nor among `but`, by chance; nothing where there is none.
std::optional<std::uint64_t> untried(const core::ParameterSpace& space, const Tried& tried, std::mt19937_64& random,
                                     const std::unordered_set<std::uint64_t>* but = nullptr);

// Model-guided (search_model.cpp).
Proposals propose_by_model(Searching s);

}  // namespace heddle::decide
