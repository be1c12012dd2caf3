// "DMA Copy" of the vector instruction set, Example 5: a 64 x 128 tile of f16 into 1024 x 512.
func.func @store(%in: !pto.ptr<f16, gm>, %dst: !pto.ptr<f16, gm>) {
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c64_i64 = arith.constant 64 : i64
  %c256_i64 = arith.constant 256 : i64
  %c1024_i64 = arith.constant 1024 : i64
  %tile = pto.castptr %c0_i64 : i64 -> !pto.ptr<f16, ub>
  // something to store: the tile, loaded row by row
  pto.mte_gm_ub %in, %tile, %c0_i64, %c256_i64 nburst(%c64_i64, %c256_i64, %c256_i64)
      : !pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.set_loop_size_ubtoout %c1_i64, %c1_i64 : i64, i64
  pto.set_loop1_stride_ubtoout %c0_i64, %c0_i64 : i64, i64
  pto.set_loop2_stride_ubtoout %c0_i64, %c0_i64 : i64, i64
  pto.copy_ubuf_to_gm %tile, %dst,
      %c0_i64, %c64_i64, %c256_i64, %c0_i64,
      %c1024_i64,     // GM, row to row: the destination comes first
      %c256_i64      // UB, row to row
      : !pto.ptr<f16, ub>, !pto.ptr<f16, gm>, i64, i64, i64, i64, i64, i64
  return
}
