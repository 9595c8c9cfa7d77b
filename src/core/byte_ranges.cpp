// Ranges as spans of bytes.
#include "core/byte_ranges.hpp"

#include <algorithm>

namespace heddle::core {

const char* to_string(Certainty certainty) {
  switch (certainty) {
    case Certainty::exact:
      return "exact";
    case Certainty::may:
      return "may";
    case Certainty::unknown:
      return "unknown";
  }
  return "?";
}

std::int64_t Run::pieces() const {
  std::int64_t out = 1;
  for (const Stride& stride : strides) {
    if (__builtin_mul_overflow(out, stride.count, &out)) return std::numeric_limits<std::int64_t>::max();
  }
  return out;
}

namespace {

// Repetitions without a gap are one piece.
void close_gaps(Run& run) {
  const auto dense = [&](const Stride& stride) { return stride.step > 0 && stride.step <= run.length; };
  for (auto at = std::find_if(run.strides.begin(), run.strides.end(), dense); at != run.strides.end();
       at = std::find_if(run.strides.begin(), run.strides.end(), dense)) {
    std::int64_t more = 0;
    if (__builtin_mul_overflow(at->step, at->count - 1, &more) || __builtin_add_overflow(run.length, more, &more))
      return;
    run.length = more;
    run.strides.erase(at);
  }
}

}  // namespace

void join_neighbours(std::vector<Run>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].strides.empty()) continue;
    bool joined = false;
    for (std::size_t j = 0; j < runs.size(); ++j) {
      Run &one = runs[i], &other = runs[j];
      std::int64_t apart = 0;
      if (i == j || other.begin < one.begin || __builtin_sub_overflow(other.begin, one.begin, &apart) ||
          apart > one.length || other.strides != one.strides || other.clip_begin != one.clip_begin ||
          other.clip_end != one.clip_end)
        continue;
      one.length = std::max(one.length, apart + other.length);
      runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(j));
      joined = true;
      i -= j < i;
      j = static_cast<std::size_t>(-1);  // what lay beside the other lies beside this one now
    }
    if (joined) close_gaps(runs[i]);
  }
}

std::int64_t ByteRanges::pieces() const {
  std::int64_t out = 0;
  for (const Run& run : runs) {
    if (__builtin_add_overflow(out, run.pieces(), &out)) return std::numeric_limits<std::int64_t>::max();
  }
  return out;
}

namespace {

void add_pieces(const Run& run, std::size_t stride, std::int64_t begin, Span limit, std::vector<Span>& out) {
  if (stride < run.strides.size()) {
    for (std::int64_t i = 0; i < run.strides[stride].count; ++i)
      add_pieces(run, stride + 1, begin + i * run.strides[stride].step, limit, out);
    return;
  }
  const Span piece{std::max(begin, limit.begin), std::min(begin + run.length, limit.end)};
  if (piece.begin < piece.end) out.push_back(piece);
}

}  // namespace

std::vector<Span> spans(const ByteRanges& ranges, Bytes size, std::int64_t most) {
  const Span whole{0, static_cast<std::int64_t>(size)};
  if (ranges.certainty == Certainty::unknown || ranges.pieces() > most) return {whole};
  std::vector<Span> all;
  for (const Run& run : ranges.runs)
    add_pieces(run, 0, run.begin, {std::max(run.clip_begin, whole.begin), std::min(run.clip_end, whole.end)}, all);
  std::sort(all.begin(), all.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> out;
  for (const Span& span : all) {
    if (!out.empty() && span.begin <= out.back().end)
      out.back().end = std::max(out.back().end, span.end);
    else
      out.push_back(span);
  }
  return out;
}

}  // namespace heddle::core
