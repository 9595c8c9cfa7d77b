//! kernel lattice
//! local 8 4 1
//! groups 5 6 1
//! buffer 36000 float 1 9
//! buffer 36000 bytes
//! buffer 4096 bytes
//! float 1 1
//! float 1 1
//! int 1 40
//! int 1 24
//! expect lattice: written out exact
//! expect lattice: not uniform
//! expect lattice: merge out: copy ranges
kernel void lattice(global const float* in, global float* out, global const uchar* wall, float rate, float force, int nx,
                    int ny) {
  const int x = get_global_id(0);
  const int y = get_global_id(1);
  if (x >= nx || y >= ny) {
    return;
  }
  const int cells = nx * ny;
  const int here = y * nx + x;
  const int west = x > 0 ? x - 1 : nx - 1;
  const int east = x < nx - 1 ? x + 1 : 0;
  const int south = y > 0 ? y - 1 : ny - 1;
  const int north = y < ny - 1 ? y + 1 : 0;
  // Each direction comes from the neighbour it left.
  float f0 = in[0 * cells + y * nx + x];
  float f1 = in[1 * cells + y * nx + west];
  float f2 = in[2 * cells + south * nx + x];
  float f3 = in[3 * cells + y * nx + east];
  float f4 = in[4 * cells + north * nx + x];
  float f5 = in[5 * cells + south * nx + west];
  float f6 = in[6 * cells + south * nx + east];
  float f7 = in[7 * cells + north * nx + east];
  float f8 = in[8 * cells + north * nx + west];
  if (wall[here]) {
    // Bounce back.
    out[0 * cells + here] = f0;
    out[1 * cells + here] = f3;
    out[2 * cells + here] = f4;
    out[3 * cells + here] = f1;
    out[4 * cells + here] = f2;
    out[5 * cells + here] = f7;
    out[6 * cells + here] = f8;
    out[7 * cells + here] = f5;
    out[8 * cells + here] = f6;
    return;
  }
  float density = f0;
  density += f1;
  density += f2;
  density += f3;
  density += f4;
  density += f5;
  density += f6;
  density += f7;
  density += f8;
  float ux = 0.0f;
  ux += f1;
  ux -= f3;
  ux += f5;
  ux -= f6;
  ux -= f7;
  ux += f8;
  float uy = 0.0f;
  uy += f2;
  uy -= f4;
  uy += f5;
  uy += f6;
  uy -= f7;
  uy -= f8;
  ux = ux / density + force / rate;
  uy = uy / density;
  const float square = 1.5f * (ux * ux + uy * uy);
  const float c0 = 0.0f;
  const float c1 = ux;
  const float c2 = uy;
  const float c3 = -ux;
  const float c4 = -uy;
  const float c5 = ux + uy;
  const float c6 = -ux + uy;
  const float c7 = -ux - uy;
  const float c8 = ux - uy;
  const float e0 = density * 4.0f / 9.0f * (1.0f + 3.0f * c0 + 4.5f * c0 * c0 - square);
  const float e1 = density * 1.0f / 9.0f * (1.0f + 3.0f * c1 + 4.5f * c1 * c1 - square);
  const float e2 = density * 1.0f / 9.0f * (1.0f + 3.0f * c2 + 4.5f * c2 * c2 - square);
  const float e3 = density * 1.0f / 9.0f * (1.0f + 3.0f * c3 + 4.5f * c3 * c3 - square);
  const float e4 = density * 1.0f / 9.0f * (1.0f + 3.0f * c4 + 4.5f * c4 * c4 - square);
  const float e5 = density * 1.0f / 36.0f * (1.0f + 3.0f * c5 + 4.5f * c5 * c5 - square);
  const float e6 = density * 1.0f / 36.0f * (1.0f + 3.0f * c6 + 4.5f * c6 * c6 - square);
  const float e7 = density * 1.0f / 36.0f * (1.0f + 3.0f * c7 + 4.5f * c7 * c7 - square);
  const float e8 = density * 1.0f / 36.0f * (1.0f + 3.0f * c8 + 4.5f * c8 * c8 - square);
  f0 += rate * (e0 - f0);
  f1 += rate * (e1 - f1);
  f2 += rate * (e2 - f2);
  f3 += rate * (e3 - f3);
  f4 += rate * (e4 - f4);
  f5 += rate * (e5 - f5);
  f6 += rate * (e6 - f6);
  f7 += rate * (e7 - f7);
  f8 += rate * (e8 - f8);
  out[0 * cells + here] = f0;
  out[1 * cells + here] = f1;
  out[2 * cells + here] = f2;
  out[3 * cells + here] = f3;
  out[4 * cells + here] = f4;
  out[5 * cells + here] = f5;
  out[6 * cells + here] = f6;
  out[7 * cells + here] = f7;
  out[8 * cells + here] = f8;
}
