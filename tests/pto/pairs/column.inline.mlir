// One float of every row stored as a column: rows of 4 bytes, pitches of 32 in UB and 4 in GM, a block of rows per core.
// dmaverify: expect proved
func.func @column(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c4 = arith.constant 4 : i64
  %c6 = arith.constant 6 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c3 = arith.constant 3 : i64
  %c1 = arith.constant 1 : i64
  %c2048 = arith.constant 2048 : i64
  %core = pto.get_block_idx : i64
  %row = arith.shli %core, %c6 : i64
  %first = arith.shli %row, %c3 : i64
  %from = pto.addptr %x, %first : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  %to = pto.addptr %y, %row : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  %ub = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %from, %ub, %c0, %c2048 nburst(%c1, %c0, %c0)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID3"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID3"]
  pto.mte_ub_gm %ub, %to, %c4 nburst(%c64, %c32, %c4)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
