// The library in a page: one kernel on all devices, and what became of it.
#include <cstdio>

#include <heddle/heddle.hpp>

int main() {
  const std::size_t n = 1 << 22;
  const char* source = R"(
kernel void saxpy(global const float* x, global float* y, float a) {
  size_t i = get_global_id(0);
  y[i] = a * x[i] + y[i];
})";

  heddle::Runtime rt;
  auto x = rt.buffer<float>(n), y = rt.buffer<float>(n);
  for (auto& v : x.host()) v = 2;
  for (auto& v : y.host()) v = 1;
  auto saxpy = rt.kernel("saxpy", source);
  auto launch = rt.launch(saxpy, heddle::grid(n), x, y, 2.5f);

  bool right = true;
  for (float v : y.read()) right &= v == 6;
  for (const auto& slice : launch.report().slices)
    std::printf("items %lld to %lld on %s\n", static_cast<long long>(slice.begin[0]),
                static_cast<long long>(slice.end[0]), slice.device.c_str());
  std::printf("%s\n", right ? "right" : "wrong");
  return right ? 0 : 1;
}
