// Sets of bytes by merging sorted lists.
#include "core/spans.hpp"

#include <algorithm>
#include <utility>

namespace heddle::core {

Span intersect(const Span& a, const Span& b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

SpanSet SpanSet::of_sorted(std::vector<Span> spans) {
  SpanSet out;
  out.spans_ = std::move(spans);
  return out;
}

void SpanSet::add(const Span& span) {
  if (span.empty()) return;
  // All that touch the new one become part of it.
  auto first = std::lower_bound(spans_.begin(), spans_.end(), span.begin,
                                [](const Span& s, std::int64_t begin) { return s.end < begin; });
  auto last =
      std::upper_bound(first, spans_.end(), span.end, [](std::int64_t end, const Span& s) { return end < s.begin; });
  Span joined = span;
  if (first != last) joined = {std::min(span.begin, first->begin), std::max(span.end, (last - 1)->end)};
  if (first == last) {
    spans_.insert(first, joined);
  } else {
    *first = joined;
    spans_.erase(first + 1, last);
  }
}

void SpanSet::remove(const Span& span) {
  if (span.empty()) return;
  auto first = std::upper_bound(spans_.begin(), spans_.end(), span.begin,
                                [](std::int64_t begin, const Span& s) { return begin < s.end; });
  auto last =
      std::lower_bound(first, spans_.end(), span.end, [](const Span& s, std::int64_t end) { return s.begin < end; });
  if (first == last) return;
  const Span before{first->begin, span.begin}, after{span.end, (last - 1)->end};
  first = spans_.erase(first, last);
  if (!after.empty()) first = spans_.insert(first, after);
  if (!before.empty()) spans_.insert(first, before);
}

void SpanSet::add(const SpanSet& other) {
  if (spans_.empty()) {
    spans_ = other.spans_;
    return;
  }
  for (const Span& span : other.spans_) add(span);
}

void SpanSet::add(SpanSet&& other) {
  if (spans_.empty())
    spans_ = std::move(other.spans_);
  else
    add(std::as_const(other));
}

void SpanSet::remove(const SpanSet& other) {
  for (const Span& span : other.spans_) remove(span);
}

bool SpanSet::covers(const Span& span) const {
  if (span.empty()) return true;
  const auto at = std::upper_bound(spans_.begin(), spans_.end(), span.begin,
                                   [](std::int64_t begin, const Span& s) { return begin < s.end; });
  return at != spans_.end() && at->begin <= span.begin && at->end >= span.end;
}

bool SpanSet::covers(const SpanSet& other) const {
  return std::all_of(other.spans_.begin(), other.spans_.end(), [&](const Span& span) { return covers(span); });
}

bool SpanSet::meets(const SpanSet& other) const {
  auto a = spans_.begin(), b = other.spans_.begin();
  while (a != spans_.end() && b != other.spans_.end()) {
    if (!intersect(*a, *b).empty()) return true;
    a->end < b->end ? ++a : ++b;
  }
  return false;
}

std::int64_t SpanSet::size() const {
  std::int64_t out = 0;
  for (const Span& span : spans_) out += span.size();
  return out;
}

SpanSet intersect(const SpanSet& a, const SpanSet& b) {
  std::vector<Span> out;
  auto i = a.spans().begin();
  auto j = b.spans().begin();
  while (i != a.spans().end() && j != b.spans().end()) {
    if (const Span both = intersect(*i, *j); !both.empty()) out.push_back(both);
    i->end < j->end ? ++i : ++j;
  }
  return SpanSet::of_sorted(std::move(out));
}

SpanSet intersect(const SpanSet& a, const Span& b) { return intersect(a, SpanSet(b)); }

SpanSet subtract(SpanSet a, const SpanSet& b) {
  a.remove(b);
  return a;
}

SpanSet shifted(const SpanSet& set, std::int64_t by) {
  std::vector<Span> out = set.spans();
  for (Span& span : out) span.begin += by, span.end += by;
  return SpanSet::of_sorted(std::move(out));
}

}  // namespace heddle::core
