// A blur of 5 x 5 pixels, with its parameters: `heddle tune examples/blur.cl --grid 2048,2048 --arg 'float[2048*2048]'
// --arg 'float[2048*2048]' --arg int=2048 --arg int=2048`.
#pragma heddle tune BX 4..128 times 2
#pragma heddle tune BY 1..16 times 2
#pragma heddle tune TILE 1, 2, 4, 8
#pragma heddle tune UNROLL 1, 5
#pragma heddle constraint 16 <= BX * BY <= 256
#pragma heddle group BX, BY
#pragma heddle points BX, BY * TILE
#pragma heddle guarded

kernel void blur(global const float* in, global float* out, int width, int height) {
  int x = get_global_id(0);
  int top = (get_global_id(1) - get_local_id(1)) * TILE + get_local_id(1);
  for (int t = 0; t < TILE; ++t) {
    int y = top + t * BY;
    if (x >= width || y >= height) continue;
    float sum = 0;
    for (int j = -2; j <= 2; ++j) {
      int row = clamp(y + j, 0, height - 1) * width;
#pragma unroll UNROLL
      for (int i = -2; i <= 2; ++i) sum += in[row + clamp(x + i, 0, width - 1)];
    }
    out[y * width + x] = sum / 25;
  }
}
