// Prices of European options by Black and Scholes: an ordinary OpenCL 1.2 program.
#define PROGRAM "options"
#include "opencl.h"

static const char* const source =
    "float below(float x) { return 0.5f * erfc(-0.70710678f * x); }\n"  // the normal distribution
    "kernel void price(global const float* spots, global const float* strikes, global const float* times,\n"
    "                  global float* calls, global float* puts, float rate, float volatility) {\n"
    "  int i = get_global_id(0);\n"
    "  float spot = spots[i], strike = strikes[i], time = times[i];\n"
    "  float spread = volatility * sqrt(time);\n"
    "  float d1 = (log(spot / strike) + (rate + 0.5f * volatility * volatility) * time) / spread;\n"
    "  float got = below(d1), given = below(d1 - spread), paid = strike * exp(-rate * time);\n"
    "  calls[i] = spot * got - paid * given;\n"
    "  puts[i] = paid * (1.0f - given) - spot * (1.0f - got);\n"
    "}\n";

static double below(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

// How far a call and a put are from the host's own prices, relative to the spot price.
static double difference_of(double spot, double strike, double time, double rate, double volatility, double call,
                            double put) {
  const double spread = volatility * sqrt(time);
  const double d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread;
  const double d2 = d1 - spread, paid = strike * exp(-rate * time);
  const double of_call = fabs(call - (spot * below(d1) - paid * below(d2))) / spot;
  const double of_put = fabs(put - (paid * below(-d2) - spot * below(-d1))) / spot;
  return of_call <= of_put ? of_put : of_call;
}

int main(int argc, char** argv) {
  if (argc > 3 || asks_for_help(argc, argv)) {
    printf(
        "Usage: options [COUNT [ROUNDS]]\n"
        "Prices COUNT options (default 4194304) for ROUNDS rounds of spot prices (default 10) on the first OpenCL\n"
        "device, and compares some prices of each round with the host's own.\n");
    return argc > 3 ? 2 : 0;
  }
  const int count = argc > 1 ? number(argv[1], "count", 1, 1 << 27) : 1 << 22;
  const int rounds = argc > 2 ? number(argv[2], "rounds", 1, 100000) : 10;
  const float rate = 0.02f, volatility = 0.3f;
  const size_t options = (size_t)count, bytes = options * sizeof(float);

  float* spots = calloc(options, sizeof(float));
  float* strikes = calloc(options, sizeof(float));
  float* times = calloc(options, sizeof(float));
  float* calls = calloc(options, sizeof(float));
  float* puts = calloc(options, sizeof(float));
  if (!spots || !strikes || !times || !calls || !puts) {
    fprintf(stderr, "options: not enough memory for %d options\n", count);
    return 1;
  }
  uint32_t state = 2463534242u;
  for (size_t i = 0; i < options; ++i) {
    strikes[i] = random_between(&state, 1.0f, 100.0f);
    times[i] = random_between(&state, 0.25f, 10.0f);
  }

  cl_int code = CL_SUCCESS;
  cl_device_id device = find_device();
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
  cl_program program = build(context, device, source);
  cl_kernel price = kernel_of(program, "price");
  cl_mem buffers[5];  // spots, strikes, times, calls, puts
  for (cl_uint i = 0; i < 5; ++i) {
    buffers[i] = buffer_of(context, i < 3 ? CL_MEM_READ_ONLY : CL_MEM_WRITE_ONLY, bytes, NULL);
    set(price, i, sizeof(cl_mem), &buffers[i]);
  }
  set(price, 5, sizeof rate, &rate);
  set(price, 6, sizeof volatility, &volatility);

  double ms[2] = {0.0, 0.0}, difference = 0.0;  // the times of the first round and of the others
  for (int i = 0; i < rounds; ++i) {
    for (size_t k = 0; k < options; ++k) spots[k] = random_between(&state, 5.0f, 50.0f);
    const double start = now_ms();
    write_to(queue, buffers[0], CL_FALSE, bytes, spots);
    write_to(queue, buffers[1], CL_FALSE, bytes, strikes);
    write_to(queue, buffers[2], CL_FALSE, bytes, times);
    launch(queue, price, 1, &options, NULL);
    read_from(queue, buffers[3], CL_FALSE, bytes, calls);
    read_from(queue, buffers[4], CL_TRUE, bytes, puts);
    ms[i > 0] += now_ms() - start;
    for (int k = 0; k < 1000; ++k) {
      const size_t at = next_random(&state) % (uint32_t)count;
      const double d = difference_of(spots[at], strikes[at], times[at], rate, volatility, calls[at], puts[at]);
      if (!(d <= difference)) difference = d;  // also when it is not a number
    }
  }

  const int right = difference < 1e-3;  // the device has less precision than the host
  printf("%d options, %d rounds\n", count, rounds);
  print_times("round", ms, rounds);
  if (right) printf("the device agrees with the host\n");
  if (!right) printf("WRONG: the device differs from the host by up to %.3g of the spot price\n", difference);

  for (int i = 0; i < 5; ++i) clReleaseMemObject(buffers[i]);
  clReleaseKernel(price);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  free(spots);
  free(strikes);
  free(times);
  free(calls);
  free(puts);
  return right ? 0 : 1;
}
