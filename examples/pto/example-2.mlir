// "DMA Copy" of the vector instruction set, Example 2: a 64 x 128 tile of f16 out of 1024 x 512.
func.func @load(%src: !pto.ptr<f16, gm>) {
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c64_i64 = arith.constant 64 : i64
  %c256_i64 = arith.constant 256 : i64
  %c1024_i64 = arith.constant 1024 : i64
  %false = arith.constant false
  %true = arith.constant true
  %tile = pto.castptr %c0_i64 : i64 -> !pto.ptr<f16, ub>
  pto.set_loop_size_outtoub %c1_i64, %c1_i64 : i64, i64
  pto.set_loop1_stride_outtoub %c0_i64, %c0_i64 : i64, i64
  pto.set_loop2_stride_outtoub %c0_i64, %c0_i64 : i64, i64
  pto.copy_gm_to_ubuf %src, %tile,
      %c0_i64,       // stream
      %c64_i64,       // rows
      %c256_i64,      // bytes of a row
      %c0_i64, %c0_i64, // padding counts
      %false,        // padding
      %c0_i64,       // cache
      %c1024_i64,     // GM, row to row
      %c256_i64      // UB, row to row
      : !pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64, i64,
        i64, i64, i1, i64, i64, i64
  return
}
