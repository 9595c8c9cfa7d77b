// The three kinds of errors. Expected failures are values, because tuning lives on failures; a caller's mistake and a
// bug of ours are two exception types, so that a front end can answer each in its own way.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace heddle::core {

// The caller's mistake: a bad setting, argument or file. The message names what was given and what was expected.
struct UsageError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Our bug: an invariant of Heddle does not hold.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

enum class FailureKind { build, allocation, launch, transfer, lost, hang, unsupported };

const char* to_string(FailureKind);

// An expected failure: a variant that does not build, memory that is too small, a device that is gone.
struct Failure {
  FailureKind kind;
  std::string what;  // one line: which call failed, and how
  std::string log;   // the driver's own words where it gave any, such as a build log
};

// Either a value or the expected failure that stands in its place. Asking for what is not there is our bug.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return require(), std::get<0>(state_); }
  const T& value() const& { return require(), std::get<0>(state_); }
  T&& value() && { return require(), std::get<0>(std::move(state_)); }
  T* operator->() { return &value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

  const Failure& failure() const {
    if (ok()) throw InternalError("failure() of a result that holds a value");
    return std::get<1>(state_);
  }

 private:
  void require() const {
    if (!ok()) throw InternalError("value() of a failed result: " + std::get<1>(state_).what);
  }
  std::variant<T, Failure> state_;
};

struct Done {};
using Status = Result<Done>;

}  // namespace heddle::core
