// One float of every row stored as a column: rows of 4 bytes, pitches of 32 in UB and 4 in GM, a block of rows per core.
// dmaverify: expect proved
func.func @column(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c4 = arith.constant 4 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c512 = arith.constant 512 : i64
  %c2048 = arith.constant 2048 : i64
  %off = arith.constant false
  %core = pto.get_block_idx : i64
  %first = arith.muli %core, %c512 : i64
  %from = pto.addptr %x, %first : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  %row = arith.muli %core, %c64 : i64
  %to = pto.addptr %y, %row : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
  %ub = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.set_loop_size_outtoub %c1, %c1 : i64, i64
  pto.copy_gm_to_ubuf %from, %ub, %c0, %c64, %c32, %c0, %c0, %off, %c0, %c32, %c32
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64, i1, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID3"]
  pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID3"]
  pto.set_loop_size_ubtoout %c1, %c1 : i64, i64
  pto.copy_ubuf_to_gm %ub, %to, %c0, %c64, %c4, %c0, %c4, %c32
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
  return
}
