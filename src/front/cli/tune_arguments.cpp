// Reads the words, and makes the arrays.
#include "front/cli/tune_arguments.hpp"

#include <cstring>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/expression.hpp"

namespace heddle::front::cli {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 40;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<std::byte> array_of(std::int64_t count, const std::string& how, std::uint64_t seed) {
  constexpr bool real = std::is_floating_point_v<T>;
  std::vector<T> out(static_cast<std::size_t>(count));
  std::mt19937_64 random(seed);
  const std::string filled = how.empty() ? (real ? "random" : "zero") : how;
  for (std::size_t i = 0; i < out.size() && filled != "zero"; ++i) {
    if (filled == "ramp")
      out[i] = static_cast<T>(i);
    else
      out[i] = real ? static_cast<T>(static_cast<double>(random() >> 40) * 0x1p-24) : static_cast<T>(random() % 256);
  }
  return bytes_of(out);
}

// Nothing where the type does not hold it.
template <class T>
std::vector<std::byte> value_of(const core::Value& value) {
  if (const auto* d = std::get_if<double>(&value)) {
    if constexpr (!std::is_floating_point_v<T>) return {};
    return bytes_of(std::vector<T>{static_cast<T>(*d)});
  }
  const bool* truth = std::get_if<bool>(&value);
  const std::int64_t whole = truth ? *truth : std::get<std::int64_t>(value);
  if constexpr (!std::is_floating_point_v<T>) {
    if (!std::in_range<T>(whole)) return {};
  }
  return bytes_of(std::vector<T>{static_cast<T>(whole)});
}

struct Type {
  const char* name;
  std::size_t size;
  bool real;
  std::vector<std::byte> (*array)(std::int64_t, const std::string&, std::uint64_t);
  std::vector<std::byte> (*value)(const core::Value&);
};
template <class T>
constexpr Type type(const char* name) {
  return {name, sizeof(T), std::is_floating_point_v<T>, array_of<T>, value_of<T>};
}
const Type types[] = {type<float>("float"),        type<double>("double"),      type<std::int8_t>("char"),
                      type<std::uint8_t>("uchar"), type<std::int16_t>("short"), type<std::uint16_t>("ushort"),
                      type<std::int32_t>("int"),   type<std::uint32_t>("uint"), type<std::int64_t>("long"),
                      type<std::uint64_t>("ulong")};

const Type& find_type(const std::string& word, std::string_view name) {
  std::string known;
  for (const Type& one : types) {
    if (one.name == name) return one;
    known += std::string(known.empty() ? "" : ", ") + one.name;
  }
  throw core::UsageError(fmt::format("argument '{}': no type '{}'; there are: {}, local", word, name, known));
}

core::Value evaluate(const std::string& text) { return core::Expression(text).evaluate(core::Configuration{}); }

std::int64_t count_of(const std::string& what, const std::string& text) {
  const core::Value value = evaluate(text);
  const auto* count = std::get_if<std::int64_t>(&value);
  if (!count || *count <= 0) throw core::UsageError(fmt::format("{}: '{}' is no positive whole number", what, text));
  return *count;
}

}  // namespace

ArgumentWord parse_argument(const std::string& word, std::uint64_t seed) {
  const std::size_t open = word.find('['), close = word.rfind(']'),
                    equals = word.find('=', close == word.npos ? 0 : close);
  const std::string what = "argument '" + word + "'";
  if (open == word.npos) {
    if (equals == word.npos)
      throw core::UsageError(what + ": TYPE[COUNT], TYPE[COUNT]=zero|random|ramp, TYPE=VALUE or local[BYTES] expected");
    const Type& of = find_type(word, std::string_view(word).substr(0, equals));
    const core::Value value = evaluate(word.substr(equals + 1));
    if (std::holds_alternative<std::string>(value)) throw core::UsageError(what + ": a number expected");
    ArgumentWord out{ArgumentWord::Kind::value, of.value(value), 0, of.real};
    if (out.bytes.empty()) throw core::UsageError(what + ": no value of that type");
    return out;
  }
  if (close == word.npos || close < open || (equals == word.npos ? close + 1 != word.size() : equals != close + 1))
    throw core::UsageError(what + ": TYPE[COUNT] or TYPE[COUNT]=zero|random|ramp expected");
  const std::int64_t count = count_of(what, word.substr(open + 1, close - open - 1));
  const std::string name = word.substr(0, open), how = equals == word.npos ? "" : word.substr(equals + 1);
  if (name == "local") {
    if (!how.empty()) throw core::UsageError(what + ": local memory holds nothing yet");
    return {ArgumentWord::Kind::local, {}, static_cast<std::size_t>(count)};
  }
  const Type& of = find_type(word, name);
  if (!how.empty() && how != "zero" && how != "random" && how != "ramp")
    throw core::UsageError(what + ": filled with zero, random or ramp, not '" + how + "'");
  if (count > most_bytes / static_cast<std::int64_t>(of.size)) throw core::UsageError(what + ": more than a terabyte");
  return {ArgumentWord::Kind::array, of.array(count, how, seed)};
}

std::vector<engine::TuningArgument> tuning_arguments(const std::vector<ArgumentWord>& words) {
  std::vector<engine::TuningArgument> out;
  for (const ArgumentWord& word : words) {
    engine::TuningArgument& to = out.emplace_back();
    if (word.kind == ArgumentWord::Kind::array)
      to.given = std::span<const std::byte>(word.bytes);
    else if (word.kind == ArgumentWord::Kind::value)
      to.given = word.bytes;
    else
      to.given = device::LocalMemory{word.local};
  }
  return out;
}

core::Index parse_extents(const std::string& what, const std::string& text) {
  core::Index out{1, 1, 1};
  std::size_t begin = 0;
  for (std::size_t d = 0;; ++d) {
    if (d == 3) throw core::UsageError(fmt::format("{} '{}': at most three extents", what, text));
    const std::size_t comma = text.find(',', begin);
    out[d] = count_of(what, text.substr(begin, comma - begin));
    if (comma == text.npos) return out;
    begin = comma + 1;
  }
}

}  // namespace heddle::front::cli
