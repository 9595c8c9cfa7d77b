// Ranges of bytes, and sets of bytes kept as ranges: which part of a buffer is meant, read, written, fresh.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::core {

// Half-open.
struct Span {
  std::int64_t begin = 0, end = 0;

  bool operator==(const Span&) const = default;
  bool empty() const { return begin >= end; }
  std::int64_t size() const { return empty() ? 0 : end - begin; }
};

Span intersect(const Span& a, const Span& b);  // may be empty

// A set of bytes as sorted, disjoint spans that do not touch.
class SpanSet {
 public:
  SpanSet() = default;
  explicit SpanSet(const Span& span) { add(span); }
  // Sorted, disjoint spans that do not touch, as spans() of byte_ranges.hpp gives them.
  static SpanSet of_sorted(std::vector<Span> spans);

  bool operator==(const SpanSet&) const = default;
  void add(const Span& span);     // bytes that are already there stay there once
  void remove(const Span& span);  // bytes that are not there are no error
  void add(const SpanSet& other);
  void add(SpanSet&& other);
  void remove(const SpanSet& other);

  bool empty() const { return spans_.empty(); }
  bool covers(const Span& span) const;  // an empty span is covered by anything
  bool covers(const SpanSet& other) const;
  bool meets(const SpanSet& other) const;  // they share a byte
  std::int64_t size() const;               // bytes
  const std::vector<Span>& spans() const { return spans_; }

 private:
  std::vector<Span> spans_;
};

SpanSet intersect(const SpanSet& a, const SpanSet& b);
SpanSet intersect(const SpanSet& a, const Span& b);
SpanSet subtract(SpanSet a, const SpanSet& b);
SpanSet shifted(const SpanSet& set, std::int64_t by);

}  // namespace heddle::core
