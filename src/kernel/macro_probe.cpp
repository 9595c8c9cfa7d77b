// The macros that sources are known to ask for.
#include "kernel/macro_probe.hpp"

#include <limits>
#include <sstream>

#include "core/errors.hpp"

namespace heddle::kernel {

namespace {

// Of the standard, then of vendors. Extensions define macros of their own names and need not be asked for.
constexpr const char* names[] = {"__OPENCL_VERSION__",
                                 "__OPENCL_C_VERSION__",
                                 "CL_VERSION_1_0",
                                 "CL_VERSION_1_1",
                                 "CL_VERSION_1_2",
                                 "CL_VERSION_2_0",
                                 "CL_VERSION_3_0",
                                 "__IMAGE_SUPPORT__",
                                 "__ENDIAN_LITTLE__",
                                 "__FAST_RELAXED_MATH__",
                                 "__EMBEDDED_PROFILE__",
                                 "FP_FAST_FMAF",
                                 "FP_FAST_FMA",
                                 "__opencl_c_3d_image_writes",
                                 "__opencl_c_atomic_order_acq_rel",
                                 "__opencl_c_atomic_order_seq_cst",
                                 "__opencl_c_atomic_scope_device",
                                 "__opencl_c_atomic_scope_all_devices",
                                 "__opencl_c_device_enqueue",
                                 "__opencl_c_fp64",
                                 "__opencl_c_generic_address_space",
                                 "__opencl_c_images",
                                 "__opencl_c_int64",
                                 "__opencl_c_pipes",
                                 "__opencl_c_program_scope_global_variables",
                                 "__opencl_c_read_write_images",
                                 "__opencl_c_subgroups",
                                 "__opencl_c_work_group_collective_functions",
                                 "__NV_CL_C_VERSION",
                                 "__CUDA_ARCH__",
                                 "__NVPTX__",
                                 "__AMD__",
                                 "__AMDGCN__",
                                 "__AMDGPU__",
                                 "__GPU__",
                                 "__CPU__",
                                 "__INTEL__",
                                 "__APPLE__",
                                 "__xilinx__",
                                 "POCL_DEVICE_ADDRESS_BITS",
                                 "__SPIR__",
                                 "__SPIRV__",
                                 "__clang__",
                                 "__clang_major__",
                                 "__GNUC__",
                                 "__x86_64__",
                                 "__SSE2__",
                                 "__SSE4_1__",
                                 "__AVX__",
                                 "__AVX2__",
                                 "__AVX512F__",
                                 "__FMA__",
                                 "__aarch64__",
                                 "__ARM_NEON"};

constexpr std::int64_t not_defined = std::numeric_limits<std::int64_t>::min();

}  // namespace

std::size_t macro_probe_size() { return std::size(names); }

std::string macro_probe_source() {
  std::string out = "kernel void heddle_macro_probe(global long* values) {\n";
  for (std::size_t i = 0; i < std::size(names); ++i) {
    const std::string value = "  values[" + std::to_string(i) + "] = ", name = names[i];
    // "+ 0": a macro may be defined as nothing.
    out += "#ifdef " + name + "\n" + value + "(" + name + " + 0);\n#else\n" + value +
           "(-0x7fffffffffffffffL - 1);\n#endif\n";
  }
  return out + "}\n";
}

Target target_of(const std::vector<std::int64_t>& probed, const std::string& extensions, int address_bits) {
  if (probed.size() != std::size(names))
    throw core::InternalError("macro probe: " + std::to_string(probed.size()) + " values, " +
                              std::to_string(std::size(names)) + " expected");
  Target out;
  out.address_bits = address_bits;
  std::istringstream words(extensions);
  for (std::string word; words >> word;) out.extensions.push_back(word);
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (probed[i] != not_defined)
      out.macros[names[i]] = std::to_string(probed[i]);
    else
      out.absent_macros.push_back(names[i]);
  }
  return out;
}

}  // namespace heddle::kernel
