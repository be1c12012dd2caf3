// A tile of 32 x 32 elements of f32: one copy from global memory into the unified buffer.
// dmaverify: gm %src = 32x32xf32
func.func @load(%src: !pto.ptr<f32, gm>) {
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c32_i64 = arith.constant 32 : i64
  %c128_i64 = arith.constant 128 : i64
  %false = arith.constant false
  %true = arith.constant true
  %tile = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  pto.set_loop_size_outtoub %c1_i64, %c1_i64 : i64, i64
  pto.copy_gm_to_ubuf %src, %tile,
      %c0_i64,       // stream
      %c32_i64,       // rows
      %c128_i64,      // bytes of a row
      %c0_i64, %c0_i64, // padding counts
      %false,        // padding
      %c0_i64,       // cache
      %c128_i64,     // GM, row to row
      %c128_i64      // UB, row to row
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64,
        i64, i64, i1, i64, i64, i64
  return
}
