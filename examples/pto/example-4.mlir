// "DMA Copy" of the vector instruction set, Example 4: a 32 x 32 tile of f32 back.
func.func @store(%in: !pto.ptr<f32, gm>, %dst: !pto.ptr<f32, gm>) {
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c32_i64 = arith.constant 32 : i64
  %c128_i64 = arith.constant 128 : i64
  %tile = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  // something to store: the tile, loaded row by row
  pto.mte_gm_ub %in, %tile, %c0_i64, %c128_i64 nburst(%c32_i64, %c128_i64, %c128_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
  pto.set_loop_size_ubtoout %c1_i64, %c1_i64 : i64, i64
  pto.copy_ubuf_to_gm %tile, %dst,
      %c0_i64, %c32_i64, %c128_i64, %c0_i64,
      %c128_i64,     // GM, row to row: the destination comes first
      %c128_i64      // UB, row to row
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
  return
}
