// Tiles by core with a step that is the number of cores; the buffer's turn is carried by the loop.
// dmaverify: expect proved
// broken: %skip = arith.muli %turn, %c1024 => %skip = arith.muli %turn, %c0 => core/hazard-war
// dmaverify: gm %src = 999x1024xf32
// dmaverify: gm %dst = 999x1024xf32
func.func @grid_pingpong(%src: !pto.ptr<f32, gm>, %dst: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c999 = arith.constant 999 : index
  %c1024 = arith.constant 1024 : index
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c4096_i64 = arith.constant 4096 : i64
  %b = pto.get_block_idx
  %nb = pto.get_block_num
  %lo = arith.index_cast %b : i64 to index
  %by = arith.index_cast %nb : i64 to index
  %u = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  %end = scf.for %t = %lo to %c999 step %by iter_args(%turn = %c0) -> (index) {
    %skip = arith.muli %turn, %c1024 : index
    %at = arith.muli %t, %c1024 : index
    %b0 = pto.addptr %u, %skip : !pto.ptr<f32, ub> -> !pto.ptr<f32, ub>
    %s = pto.addptr %src, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    %d = pto.addptr %dst, %at : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    pto.wait_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]
    pto.mte_gm_ub %s, %b0, %c0_i64, %c4096_i64 nburst(%c1_i64, %c4096_i64, %c4096_i64)
      : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %turn]
    pto.wait_flag_dyn["PIPE_MTE2", "PIPE_MTE3", %turn]
    pto.mte_ub_gm %b0, %d, %c4096_i64 nburst(%c1_i64, %c4096_i64, %c4096_i64)
      : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
    pto.set_flag_dyn["PIPE_MTE3", "PIPE_MTE2", %turn]
    %next = arith.subi %c1, %turn : index
    scf.yield %next : index
  }
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
  return
}
