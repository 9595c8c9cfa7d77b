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
